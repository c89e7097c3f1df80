"""The notes' folder: searching its Markdown, and what a note is called.

Invariant: only plain files directly in the folder or one folder below are read; nothing outside it is.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_NOTES = 2_000
MAX_BYTES = 200_000
MAX_TITLE = 100
SNIPPET_LINES = 8
_WORD = re.compile(r"\w+")
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Snippet:
    """Some lines of a note that fit a query: where they begin, and how well they fit."""

    file: str
    line: int
    text: str
    score: float


def notes_in(folder: Path) -> Iterator[Path]:
    """The notes, sorted."""
    found = []
    for pattern in ("*.md", "*/*.md"):
        try:
            found += [one for one in folder.glob(pattern) if one.is_file() and not one.is_symlink()]
        except OSError:
            continue  # a folder that cannot be read holds nothing for us
    yield from sorted(found)[:MAX_NOTES]


def search(folder: Path, query: str, most: int) -> list[Snippet]:
    """The best pieces of notes for the query's words (BM25 over paragraphs; the title and the name count with each)."""
    wanted = list(dict.fromkeys(_words(query)))
    pieces = [piece for note in notes_in(folder) for piece in _pieces(note, folder)]
    if not wanted or not pieces:
        return []
    lengths = [sum(words.values()) for *_, words in pieces]
    mean = sum(lengths) / len(lengths) or 1.0
    holding = Counter(word for *_, words in pieces for word in words)
    found = []
    for (file, line, text, words), length in zip(pieces, lengths, strict=True):
        score = 0.0
        for word in wanted:
            count = words.get(word, 0)
            if count:
                rare = math.log(1 + (len(pieces) - holding[word] + 0.5) / (holding[word] + 0.5))
                score += rare * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / mean))
        if score > 0:
            found.append(Snippet(file, line, text, round(score, 3)))
    found.sort(key=lambda one: (-one.score, one.file, one.line))
    return found[:most]


def path_of(folder: Path, title: str) -> Path:
    """The file of a note with this title."""
    slug = re.sub(r"[^\w]+", "-", title.lower(), flags=re.ASCII).strip("-")[:60]
    if not slug:
        slug = f"note-{abs(hash_of(title)):x}"
    return folder / f"{slug}.md"


def hash_of(text: str) -> int:
    """A number for a title without a letter that a file's name may have; the same in every run."""
    number = 0
    for char in text:
        number = (number * 131 + ord(char)) % (1 << 32)
    return number


def body_of(title: str, text: str) -> str:
    """The note as it is written."""
    return f"# {' '.join(title.split())}\n\n{text.strip()}\n"


def read(path: Path) -> str | None:
    """A note's text; None where it is none that can be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _pieces(note: Path, folder: Path) -> Iterator[tuple[str, int, str, Counter[str]]]:
    """A note's paragraphs with their first lines, each at most `SNIPPET_LINES` long."""
    text = read(note)
    if text is None:
        return
    name = note.relative_to(folder).as_posix()
    lines = text.splitlines()
    title = next((line.lstrip("# ") for line in lines if line.startswith("#")), "")
    about = _words(f"{title} {note.stem}")
    for first, piece in _paragraphs(lines):
        shown = "\n".join(piece)
        yield name, first, shown, Counter([*_words(shown), *about])


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    held: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip() and len(held) < SNIPPET_LINES:
            held.append(line)
            continue
        if held and not (len(held) == 1 and held[0].startswith("#")):
            yield number - len(held), held
        held = [line] if line.strip() else []


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
