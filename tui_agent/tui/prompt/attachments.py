"""What a paste stands in the text as: a long one and a picture as a chip, `[pasted 312 lines]`, whose meaning is held
beside it; paths of the workspace as mentions.

Invariant: expanding gives back every pasted character; a chip that was deleted from the text means nothing any more. Only a
paste that is nothing but paths of the workspace becomes mentions, each of the same file.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from tui_agent.tui.prompt.completion import quoted

FOLD_LINES: Final = 20
FOLD_BYTES: Final = 2048
CHIP: Final = re.compile(r"\[(?:pasted \d+ (?:lines?|characters)|image [^\[\]\n]+?)(?: #\d+)?\]")
MOST_CHARS: Final = 4_096
MOST_PATHS: Final = 20
"""Of a paste that becomes mentions."""
MEDIA: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


class Picture(NamedTuple):
    """An image file that goes with the message."""

    path: str
    media_type: str


class Chips:
    """Labels and what they stand for."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.pictures: dict[str, Picture] = {}

    def clear(self) -> None:
        """Forget all."""
        self.texts.clear()
        self.pictures.clear()

    def fold(self, text: str) -> str:
        """What to insert for a paste: itself when it is short, else a new chip."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= FOLD_LINES and len(text.encode("utf-8", "replace")) <= FOLD_BYTES:
            return text
        what = f"pasted {lines} lines" if lines > 1 else f"pasted {len(text)} characters"
        label = self._unused(what)
        self.texts[label] = text
        return label

    def picture(self, text: str, root: Path) -> str | None:
        """A chip where the paste is the path of an image file, else None."""
        plain = text.strip().strip("'\"")
        plain = (
            unquote(plain.removeprefix("file://"))
            if plain.startswith("file://")
            else plain.replace("\\ ", " ")
        )
        path = Path(plain).expanduser()
        media = MEDIA.get(path.suffix.lower())
        if media is None or "\n" in plain or len(plain) > 1024:
            return None
        whole = path if path.is_absolute() else root / path
        if not whole.is_file():
            return None
        name = re.sub(r"[\[\]\x00-\x1f]", "_", whole.name)[:60]
        label = self._unused(f"image {name}")
        self.pictures[label] = Picture(str(whole), media)
        return label

    def expand(self, text: str) -> str:
        """The text with every pasted chip replaced by what it stands for; pictures keep their label."""
        return CHIP.sub(lambda found: self.texts.get(found.group(), found.group()), text)

    def attached(self, text: str) -> tuple[Picture, ...]:
        """The pictures whose chips still stand in the text, in order."""
        return tuple(
            self.pictures[found.group()] for found in CHIP.finditer(text) if found.group() in self.pictures
        )

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where known chips stand in a line."""
        return [
            found.span()
            for found in CHIP.finditer(line)
            if found.group() in self.texts or found.group() in self.pictures
        ]

    def to_json(self, text: str) -> str:
        """Text and chips, for the draft."""
        pictures = {label: [one.path, one.media_type] for label, one in self.pictures.items()}
        return json.dumps({"text": text, "chips": self.texts, "pictures": pictures})

    def from_json(self, raw: str) -> str:
        """The text of a stored draft, its chips taken in; a plain text is its own draft."""
        try:
            held = json.loads(raw)
        except ValueError:
            return raw
        if not isinstance(held, dict) or not isinstance(held.get("text"), str):
            return raw
        chips, pictures = held.get("chips"), held.get("pictures")
        if isinstance(chips, dict):
            self.texts.update({str(label): str(text) for label, text in chips.items()})
        if isinstance(pictures, dict):
            for label, pair in pictures.items():
                if isinstance(pair, list) and len(pair) == 2:
                    self.pictures[str(label)] = Picture(str(pair[0]), str(pair[1]))
        return str(held["text"])

    def _unused(self, what: str) -> str:
        label, number = f"[{what}]", 1
        while label in self.texts or label in self.pictures:
            number += 1
            label = f"[{what} #{number}]"
        return label


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
