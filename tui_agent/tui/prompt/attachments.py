"""Pastes in a message: long texts and pictures become chips such as `[pasted 312 lines]`, paths become mentions.

Invariant: expanding a chip restores every pasted character.
"""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from tui_agent.tui.prompt.completion import quote_path
from tui_agent.units import format_number

FOLD_LINES: Final = 20
FOLD_BYTES: Final = 2048
"""A pasted text with more lines or bytes than this becomes a chip."""
CHIP: Final = re.compile(r"\[(?:pasted [\d,]+ (?:lines?|characters)|image [^\[\]\n]+?)(?: #\d+)?\]")
MAX_OWN_WORDS: Final = 500
"""Maximum length of the result of `Chips.own_words`, in characters."""
MAX_PATHS_LENGTH: Final = 4_096
MAX_PATHS: Final = 20
"""Maximum number of paths in a paste that are converted to mentions. If there are more, no path is converted."""
_PATH_STARTS: Final = "/", "'/", '"/', "file:///"
MEDIA: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


Span: TypeAlias = tuple[int, int]
"""The (start, end) offsets of a part of a text."""
MAX_REMEMBERED: Final = 2_000
"""Maximum number of texts whose pasted parts are remembered."""


class Picture(NamedTuple):
    """An image file attached to the message."""

    path: str
    media_type: str


class Chips:
    """The chips in a message. A chip is a label for a pasted text or a picture.

    - `texts`: maps a label to the pasted text
    - `pictures`: maps a label to the picture
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.pictures: dict[str, Picture] = {}

    def clear(self) -> None:
        """Forget the texts and pictures of all chips."""
        self.texts.clear()
        self.pictures.clear()

    def fold(self, text: str) -> str:
        """Return the text to insert for a paste: the paste if it is short, otherwise the label of a new chip."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= FOLD_LINES and len(text.encode("utf-8", "replace")) <= FOLD_BYTES:
            return text
        label = self._unused_label(
            f"pasted {format_number(lines)} lines"
            if lines > 1
            else f"pasted {format_number(len(text))} characters"
        )
        self.texts[label] = text
        return label

    def fold_picture(self, text: str, root: Path) -> str | None:
        """If the paste is the path of an image file, add a chip and return its label; otherwise return None."""
        plain = text.strip().strip("'\"")
        path = _parse_path(plain if plain.startswith("file://") else plain.replace("\\ ", " ")).expanduser()
        media = MEDIA.get(path.suffix.lower())
        if media is None or "\n" in plain or len(plain) > 1024:
            return None
        image = path if path.is_absolute() else root / path
        if not image.is_file():
            return None
        return self.add_picture(image, media)

    def add_picture(self, image: Path, media_type: str) -> str:
        """Add a chip for an image file, and return the chip's label."""
        # A bracket or a line feed in the name would end the label too early, see `CHIP`.
        name = re.sub(r"[\[\]\x00-\x1f]", "_", image.name)[:60]
        label = self._unused_label(f"image {name}")
        self.pictures[label] = Picture(str(image), media_type)
        return label

    def restore_pictures(self, text: str, pictures: Iterable[Picture]) -> None:
        """Assign the pictures of an earlier message to the picture labels in `text`, in this order."""
        labels = [label for label in CHIP.findall(text) if label.startswith("[image ")]
        self.pictures.update(zip(labels, pictures, strict=False))

    def paste_at(self, line: str, column: int) -> tuple[int, int] | None:
        """If the chip at `column` stands for a pasted text, return its (start, end) position; otherwise None."""
        return next(
            (
                (start, end)
                for start, end in self.spans(line)
                if start <= column <= end and line[start:end] in self.texts
            ),
            None,
        )

    def nearest_paste(self, lines: Sequence[str], row: int, column: int) -> tuple[int, int, int] | None:
        """Return the (row, start, end) of the pasted text's chip that is nearest to a cursor; None if there is none."""
        pastes = [
            (number, start, end)
            for number, line in enumerate(lines)
            for start, end in self.spans(line)
            if line[start:end] in self.texts
        ]
        return min(
            pastes,
            key=lambda paste: (abs(paste[0] - row), max(paste[1] - column, column - paste[2])),
            default=None,
        )

    def expand(self, text: str) -> str:
        """Return the text with the chips of pasted texts expanded; the chips of pictures stay labels."""
        return CHIP.sub(lambda chip: self.texts.get(chip.group(), chip.group()), text)

    def expanded_size(self, text: str) -> int:
        """Return the length of the text with expanded chips, without expanding them."""
        labels = (label for label in CHIP.findall(text) if label in self.texts)
        return len(text) + sum(len(self.texts[label]) - len(label) for label in labels)

    def own_words(self, text: str) -> str:
        """Return the text around the pasted parts as one line; empty if `text` has no pasted part."""
        written = CHIP.sub(lambda chip: " " if chip.group() in self.texts else chip.group(), text)
        return " ".join(written.split())[:MAX_OWN_WORDS] if written != text else ""

    def pictures_in(self, text: str) -> tuple[Picture, ...]:
        """Return the pictures with a chip in the text, in the text's order."""
        labels = CHIP.findall(text)
        return tuple(self.pictures[label] for label in labels if label in self.pictures)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return the (start, end) positions of the chips in a line."""
        known = self.texts.keys() | self.pictures.keys()
        return [chip.span() for chip in CHIP.finditer(line) if chip.group() in known]

    def to_json(self, text: str, pasted: Sequence[Span] = ()) -> str:
        """Return the text, its chips and the spans of its pasted parts as JSON for the draft file."""
        return json.dumps({"text": text, "chips": self.texts, "pictures": self.pictures, "pasted": pasted})

    def from_json(self, raw: str) -> tuple[str, list[Span]]:
        """Restore the chips of a draft. Return the draft's text and the spans of its pasted parts.

        `raw`: the result of `to_json`. Any other text is returned unchanged, without spans.
        """
        try:
            draft = json.loads(raw)
        except ValueError:
            return raw, []
        if not isinstance(draft, dict) or not isinstance(draft.get("text"), str):
            return raw, []
        chips, pictures = draft.get("chips"), draft.get("pictures")
        if isinstance(chips, dict):
            self.texts.update({str(label): str(text) for label, text in chips.items()})
        if isinstance(pictures, dict):
            for label, pair in pictures.items():
                if isinstance(pair, list) and len(pair) == 2:
                    self.pictures[str(label)] = Picture(str(pair[0]), str(pair[1]))
        spans = draft.get("pasted")
        pairs = [pair for pair in spans if isinstance(pair, list)] if isinstance(spans, list) else []
        return str(draft["text"]), [(int(start), int(end)) for start, end in pairs]

    def _unused_label(self, words: str) -> str:
        label, number = f"[{words}]", 1
        while label in self.texts or label in self.pictures:
            number += 1
            label = f"[{words} #{number}]"
        return label


class PastedSpans:
    """The pasted parts of the text that is being edited, and of earlier texts."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._remembered: dict[int, tuple[Span, ...]] = {}
        """Maps the hash of a text to its pasted parts."""

    def replace(self, start: int, end: int, length: int, *, pasted: bool) -> None:
        """Adjust the spans to an edit that replaced the text from `start` to `end`.

        `length`: number of characters of the new text. `pasted`: True if the new text was pasted, not typed.
        """
        moved, spans = start + length - end, list[Span]()
        for first, last in self.spans:
            spans += [(first, min(last, start))] if first < start else []
            spans += [(max(first, end) + moved, last + moved)] if last > end else []
        self.spans = sorted([*spans, (start, start + length)] if pasted and length else spans)

    def remember(self, text: str, spans: Sequence[Span] | None = None) -> None:
        """Remember which parts of `text` were pasted.

        `spans`: the pasted parts; by default, those of the text in the editor.
        """
        spans = self.spans if spans is None else spans
        if spans or hash(text) in self._remembered:
            # Insert again at the end, so that the text forgotten first is the one not seen for longest.
            self._remembered.pop(hash(text), None)
            self._remembered[hash(text)] = tuple(spans)
        if len(self._remembered) > MAX_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]

    def recall(self, text: str) -> list[Span] | None:
        """Return the remembered spans of a text; None if the text is not known."""
        spans = self._remembered.get(hash(text))
        return None if spans is None else list(spans)


def paths_as_mentions(text: str, root: Path) -> str | None:
    """Convert pasted paths to mentions, e.g. `@src/app.py `. Return None for any other text.

    Only files in the workspace can be mentioned.
    """
    plain = text.strip()
    if len(plain) > MAX_PATHS_LENGTH or "\n" in plain or not plain.startswith(_PATH_STARTS):
        return None
    # One path may contain spaces, so try the whole text before splitting it.
    mention = _mention(plain, root)
    if mention is not None:
        return f"{mention} "
    try:
        words = shlex.split(plain)
    except ValueError:
        return None
    mentions = [_mention(word, root) for word in words[: MAX_PATHS + 1]]
    if len(mentions) > MAX_PATHS or None in mentions:
        return None
    return "".join(f"{mention} " for mention in mentions)


def is_path(text: str) -> bool:
    """Return True if a pasted text looks like the path of a dropped file."""
    plain = text.strip()
    return len(plain) <= MAX_PATHS_LENGTH and plain.startswith(_PATH_STARTS) and not set(plain) & set("\n@")


def _parse_path(text: str) -> Path:
    return Path(unquote(text.removeprefix("file://")) if text.startswith("file://") else text)


def _mention(word: str, root: Path) -> str | None:
    path = _parse_path(word)
    try:
        relative = path.relative_to(root).as_posix()
        is_folder = path.is_dir()
        exists = is_folder or path.exists()
    except (OSError, ValueError):
        return None
    if not exists or relative == "." or ".." in path.parts or '"' in relative or not relative.isprintable():
        return None
    return f"@{quote_path(f'{relative}/' if is_folder else relative)}"
