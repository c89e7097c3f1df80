"""Searching the notes of a folder: paragraphs ranked by a query's words, in time that is bounded whatever lies there.

Invariant: what was not searched is counted, so that whoever asked can be told.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tui_agent.plugin_api import (
    NOTE_BYTES,
    note_places,
    plain_letters,
    text_of_note,
    title_of_note,
    word_forms,
)

MAX_NOTES = 10_000
MAX_BYTES = 16_000_000
"""Notes, and bytes of them, that one search reads; the newest come first."""
SNIPPET_LINES = 8
SNIPPET_CHARS = 600
LEAST_BEGINNING = 4
"""Letters from which on one word counts as the beginning of another: config of configuration."""
NEAR = 0.4
"""What such a word counts beside the word itself."""
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Snippet:
    """Some lines of a note that fit a query: where they begin, and how well they fit."""

    file: str
    line: int
    title: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first, in how many notes it looked, and what it could not look at."""

    snippets: tuple[Snippet, ...]
    words: tuple[str, ...]
    """The query's words in the form in which they were compared."""
    notes: int
    left_out: int = 0
    cut: tuple[str, ...] = ()
    """Longer notes, of which only the beginning was searched."""
    no_text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A paragraph that holds one of the words, or stands below a heading that does."""

    file: str
    line: int
    about: str
    text: str
    counts: dict[str, float]


@dataclass(slots=True)
class _Reading:
    """What is gathered while notes are read."""

    fitting: list[_Piece] = field(default_factory=list)
    pieces: int = 0
    chars: int = 0
    cut: list[str] = field(default_factory=list)
    no_text: list[str] = field(default_factory=list)


class _Wanted:
    """The query's words, and which words of a note answer them."""

    def __init__(self, query: str) -> None:
        self.words = tuple(dict.fromkeys(word_forms(plain_letters(query))))
        self._typed = {word: {word, _without_e(word)} for word in self.words}
        self._seeds = tuple(
            {one[:LEAST_BEGINNING].rstrip("y") for some in self._typed.values() for one in some}
        )
        self._answers: dict[str, tuple[tuple[str, float], ...]] = {}

    def counts(self, text: str) -> dict[str, float]:
        """How often each of the words is in a text; a word that only begins like it counts less."""
        small = text.lower()
        if not any(seed in small for seed in self._seeds):
            return {}
        counts: dict[str, float] = {}
        for term in word_forms(text):
            for word, weight in self._answered(term):
                counts[word] = counts.get(word, 0.0) + weight
        return counts

    def excerpt(self, text: str) -> str:
        """A text, where it is long only what stands around the first of the words."""
        if len(text) <= SNIPPET_CHARS:
            return text
        small = plain_letters(text).lower()
        at = min((place for seed in self._seeds if (place := small.find(seed)) >= 0), default=0)
        start = max(0, min(at - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS))
        end = start + SNIPPET_CHARS
        return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"

    def _answered(self, term: str) -> tuple[tuple[str, float], ...]:
        known = self._answers.get(term)
        if known is None:
            shares = ((word, self._share(word, term)) for word in self.words)
            known = self._answers[term] = tuple((word, share) for word, share in shares if share)
        return known

    def _share(self, word: str, term: str) -> float:
        if term == word:
            return 1.0
        return NEAR if any(_near(one, term) for one in self._typed[word]) else 0.0


def search(folder: Path, query: str, most: int, *, most_notes: int = MAX_NOTES) -> Found:
    """The best pieces of notes for the query's words (BM25 over paragraphs; the title and the name count with each)."""
    places, wanted, reading = note_places(folder), _Wanted(query), _Reading()
    searched = 0
    for place in places[:most_notes] if wanted.words else ():
        if reading.chars > MAX_BYTES:
            break
        searched += 1
        _read(place.path, place.path.relative_to(folder).as_posix(), place.size, wanted, reading)
    best = sorted(_scored(reading, wanted.words), key=lambda one: (-one[0], one[1].file, one[1].line))
    return Found(
        tuple(
            Snippet(one.file, one.line, one.about, wanted.excerpt(one.text), round(score, 3))
            for score, one in best[:most]
        ),
        wanted.words,
        len(places),
        left_out=len(places) - searched if wanted.words else 0,
        cut=tuple(reading.cut),
        no_text=tuple(reading.no_text),
    )


def _read(path: Path, name: str, size: int, wanted: _Wanted, reading: _Reading) -> None:
    text = text_of_note(path)
    if text is None:
        reading.no_text.append(name)
        return
    if size > NOTE_BYTES:
        reading.cut.append(name)
    reading.chars += len(text)
    lines = text.splitlines()
    title = title_of_note(lines)
    above: dict[str, dict[str, float]] = {}
    for first, heading, piece in _paragraphs(lines):
        shown = "\n".join(piece)
        about = title if heading in ("", title) else f"{title} › {heading}"
        if about not in above:
            above[about] = wanted.counts(plain_letters(f"{about} {path.stem}"))
        counts = wanted.counts(plain_letters(shown))
        reading.pieces += 1
        if counts or above[about]:
            for word, count in above[about].items():
                counts[word] = counts.get(word, 0.0) + count
            reading.fitting.append(_Piece(name, first, about, shown, counts))


def _scored(reading: _Reading, words: Sequence[str]) -> Iterator[tuple[float, _Piece]]:
    mean = reading.chars / reading.pieces if reading.chars else 1.0
    holding = Counter(word for piece in reading.fitting for word in piece.counts)
    rare = {
        word: math.log(1 + (reading.pieces - holding[word] + 0.5) / (holding[word] + 0.5)) for word in words
    }
    for piece in reading.fitting:
        length = _K1 * (1 - _B + _B * len(piece.text) / mean)
        yield (
            sum(rare[word] * count * (_K1 + 1) / (count + length) for word, count in piece.counts.items()),
            piece,
        )


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Paragraphs with their first lines and the headings that they stand below, each at most `SNIPPET_LINES` long. A
    heading is none, but where the note has nothing else."""
    held: list[str] = []
    heading, above, named, alone = "", "", 1, True
    for number, line in enumerate([*lines, ""], start=1):
        begins = line.startswith("#")
        if line.strip() and not begins and len(held) < SNIPPET_LINES:
            above = above if held else heading
            held.append(line)
            continue
        if held:
            alone = False
            yield number - len(held), above, held
        held, above = ([line], heading) if line.strip() and not begins else ([], "")
        heading, named = (line.lstrip("# ").strip(), number) if begins else (heading, named)
    if alone and heading:
        yield named, heading, [heading]


def _near(word: str, term: str) -> bool:
    """Whether one of them is the other's beginning."""
    short, long = sorted((word, term), key=len)
    return len(short) >= LEAST_BEGINNING and long.startswith(short)


def _without_e(word: str) -> str:
    """A word as it is formed with its marks away, where it was typed with an e for them: groesse of Größe."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
