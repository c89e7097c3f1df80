"""L7: paths that are dropped on the terminal, or pasted, as mentions.

Invariant: only a paste that is nothing but paths of the workspace is changed, each to a mention of the same file.
"""

import shlex
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from tui_agent.tui.prompt.completion import quoted

MOST_CHARS: Final = 4_096
MOST_PATHS: Final = 20


def dropped(text: str, root: Path) -> str | None:
    """The mentions that stand for the paste, and a blank behind them, which closes the menu; None where it is something
    else. Looks whether the files are there."""
    plain = text.strip()
    if len(plain) > MOST_CHARS or "\n" in plain or not plain.startswith(("/", "'/", '"/', "file:///")):
        return None
    whole = _mention(plain, root)
    if whole is not None:
        return f"{whole} "
    try:
        words = shlex.split(plain)
    except ValueError:
        return None
    found = [_mention(word, root) for word in words[: MOST_PATHS + 1]]
    if len(found) > MOST_PATHS or None in found:
        return None
    return "".join(f"{one} " for one in found)


def _mention(word: str, root: Path) -> str | None:
    path = Path(unquote(word.removeprefix("file://")) if word.startswith("file://") else word)
    try:
        relative = path.relative_to(root).as_posix()
        folder = path.is_dir()
        there = folder or path.exists()
    except (OSError, ValueError):
        return None
    if not there or relative == "." or ".." in path.parts or '"' in relative or not relative.isprintable():
        return None
    return f"@{quoted(f'{relative}/' if folder else relative)}"
