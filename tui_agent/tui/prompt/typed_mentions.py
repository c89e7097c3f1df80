"""Finds the mentions in a message, except in pasted text.

Invariant: this module is imported only when a message can contain a mention.
"""

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from tui_agent.folds.text.mention_parser import (
    MAX_ALL_MENTIONS_CHARS,
    MAX_FOLDER_ENTRIES,
    MAX_MENTION_CHARS,
    MentionCandidate,
    find_candidates,
)
from tui_agent.protocol.mentions import REFUSED_MENTIONS
from tui_agent.protocol.parts import image_type
from tui_agent.tui.prompt.attachments import Span

_STARTS: Final = re.compile(r"@|(?<![^\s(\"'`])/")
"""Matches the first character of any possible mention: `@`, or the slash of an absolute path."""
CHARS_PER_LINE: Final = 40
"""Assumed length of a line in a mentioned file."""
NUMBER_CHARS: Final = 5
"""Assumed length of a line's number and the tab after it."""
IMAGE_HEAD_BYTES: Final = 16
"""Number of bytes to read from a file's start to recognise an image."""
_BORDER: Final = "|"
"""A character that is never part of a mention."""


def find_typed_mentions(text: str, root: Path, pasted: Iterable[Span]) -> list[MentionCandidate]:
    """Return the possible mentions in a message, except those in its pasted parts."""
    pieces, end = list[str](), 0
    for first, last in sorted(pasted):
        start = max(first, end)
        if last <= start:
            continue  # This part lies inside the previous one, as a chip does in a pasted text.
        # Only the characters that begin a mention are replaced: the length and all other characters stay the same.
        hidden = _STARTS.sub(_BORDER, text[start - 1 : last] if start else text[:last])
        # The search also sees the character before the part, which decides if a slash begins a path.
        pieces += [text[end:start], hidden[1:] if start else hidden]
        end = last
    return find_candidates("".join([*pieces, text[end:]]), str(root))


def find_files(candidates: Iterable[MentionCandidate], root: Path) -> tuple[dict[str, str], int]:
    """Find the mentioned files and folders that exist. This function blocks: call it in a thread.

    Return a mapping from mention to path, and the estimated number of characters that the mentions add to the
    message.
    """
    files: dict[str, str] = {}
    chars = 0
    for candidate in candidates:
        reading = next((each for each in candidate.readings if _exists(root / each.path)), None)
        if reading is not None:
            files[candidate.text] = reading.path
            lines = reading.last_line - reading.first_line + 1 if reading.first_line else 0
            chars += min(
                _text_size(root / reading.path), lines * (CHARS_PER_LINE + NUMBER_CHARS) or MAX_MENTION_CHARS
            )
    return files, min(chars, MAX_ALL_MENTIONS_CHARS)


async def find_refused(
    paths: Iterable[str], ask_session: Callable[[str, str], Awaitable[Sequence[str]]]
) -> frozenset[str]:
    """Ask the session which of these paths the policy does not allow to be sent with a message, and return them.

    `ask_session`: function that asks the session for completions of (name, text); called with (`REFUSED_MENTIONS`, the
    paths).
    """
    return frozenset(await ask_session(REFUSED_MENTIONS, "\n".join(paths)))


def find_images(paths: Iterable[str], root: Path) -> frozenset[str]:
    """Return the image files that a model can accept. This function blocks: call it in a thread."""
    return frozenset(path for path in paths if _is_image(root / path))


def _is_image(path: Path) -> bool:
    try:
        if not path.is_file():  # opening a named pipe would wait
            return False
        with path.open("rb") as file:
            return bool(image_type(file.read(IMAGE_HEAD_BYTES)))
    except (OSError, ValueError):
        return False


def _text_size(path: Path) -> int:
    """Return the estimated length of a file, or of a folder's list of names; 0 for anything else."""
    try:
        if path.is_dir():
            with os.scandir(path) as entries:
                return sum(len(entry.name) + 1 for entry in islice(entries, MAX_FOLDER_ENTRIES))
        size = path.stat().st_size if path.is_file() else 0
        return size + -(-size // CHARS_PER_LINE) * NUMBER_CHARS
    except (OSError, ValueError):
        return 0


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
