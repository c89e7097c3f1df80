"""Search of a notes folder: ranks the notes' paragraphs by the words of a query.

Invariant: a search reads a limited number of notes and bytes.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tui_agent.plugin_api as api

MAX_NOTES = 10_000
MAX_BYTES = 16_000_000
"""Maximum total size of the notes for one search, in bytes."""
SNIPPET_LINES = 8
SNIPPET_CHARS = 600
MIN_PREFIX_CHARS = 4
"""Minimum length of a word that also matches longer words, as `config` matches `configuration`."""
PREFIX_WEIGHT = 0.4
"""Weight of a match with only the beginning of a word. An exact match has the weight 1."""
_K1, _B = 1.2, 0.75
"""The usual parameters of BM25, for repeated words and for the length of a text."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A matching piece of a note.

    - `line`: number of the piece's first line
    - `title`: the note's title, and the heading above the piece
    """

    file: str
    line: int
    title: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Snippets from the notes, the best first.

    - `notes`: number of all notes
    - `skipped`: number of notes not searched
    """

    snippets: tuple[Snippet, ...]
    words: tuple[str, ...]
    """The words of the query, normalised like the words of the notes."""
    notes: int
    skipped: int = 0
    truncated: tuple[str, ...] = ()
    """Names of long notes of which only the beginning was searched."""
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A paragraph of a note. A word of the query occurs in its text or heading.

    `counts`: maps each word of the query to its weighted number of matches.
    """

    file: str
    line: int
    about: str
    text: str
    counts: dict[str, float]


@dataclass(slots=True)
class _Scan:
    matching: list[_Paragraph] = field(default_factory=list)
    paragraphs: int = 0
    chars: int = 0
    cut: list[str] = field(default_factory=list)
    no_text: list[str] = field(default_factory=list)


class _QueryWords:
    def __init__(self, query: str) -> None:
        self.words = tuple(dict.fromkeys(api.word_forms(api.strip_accents(query))))
        self._typed = {word: {word, _without_e(word)} for word in self.words}
        self._seeds = tuple(
            # `city` and `cities` share only `cit`.
            {form[:MIN_PREFIX_CHARS].rstrip("y") for forms in self._typed.values() for form in forms}
        )
        self._weights: dict[str, tuple[tuple[str, float], ...]] = {}

    def counts(self, text: str) -> dict[str, float]:
        """Return a mapping from each query word in `text` to its weighted number of matches."""
        lowered = text.lower()
        # Most paragraphs contain no query word, and a substring check is much faster than splitting the text.
        if not any(seed in lowered for seed in self._seeds):
            return {}
        counts: dict[str, float] = {}
        for term in api.word_forms(text):
            for word, weight in self._match_weights(term):
                counts[word] = counts.get(word, 0.0) + weight
        return counts

    def excerpt(self, text: str) -> str:
        """Cut a long text to `SNIPPET_CHARS` characters around its first query word."""
        if len(text) <= SNIPPET_CHARS:
            return text
        lowered = api.strip_accents(text).lower()
        first_hit = min((place for seed in self._seeds if (place := lowered.find(seed)) >= 0), default=0)
        start = max(0, min(first_hit - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS))
        end = start + SNIPPET_CHARS
        return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"

    def _match_weights(self, term: str) -> tuple[tuple[str, float], ...]:
        known = self._weights.get(term)
        if known is None:
            weights = ((word, self._match_weight(word, term)) for word in self.words)
            known = self._weights[term] = tuple((word, weight) for word, weight in weights if weight)
        return known

    def _match_weight(self, word: str, term: str) -> float:
        if term == word:
            return 1.0
        return PREFIX_WEIGHT if any(_shares_prefix(form, term) for form in self._typed[word]) else 0.0


def search(folder: Path, query: str, max_results: int, *, max_notes: int = MAX_NOTES) -> SearchResult:
    """Return the best matching paragraphs of the notes (by BM25 score), at most `max_results`.

    The words of the note's title, heading and file name count as words of each paragraph.
    """
    places, query_words, scan = api.list_note_locations(folder), _QueryWords(query), _Scan()
    searched = 0
    for place in places[:max_notes] if query_words.words else ():
        if scan.chars > MAX_BYTES:
            break
        searched += 1
        _scan_note(place.path, place.path.relative_to(folder).as_posix(), place.size, query_words, scan)
    best = sorted(_score(scan, query_words.words), key=lambda pair: (-pair[0], pair[1].file, pair[1].line))
    return SearchResult(
        tuple(
            Snippet(match.file, match.line, match.about, query_words.excerpt(match.text), round(score, 3))
            for score, match in best[:max_results]
        ),
        query_words.words,
        len(places),
        skipped=len(places) - searched if query_words.words else 0,
        truncated=tuple(scan.cut),
        unreadable=tuple(scan.no_text),
    )


def _scan_note(path: Path, name: str, size: int, query_words: _QueryWords, scan: _Scan) -> None:
    text = api.read_note(path)
    if text is None:
        scan.no_text.append(name)
        return
    if size > api.NOTE_BYTES:
        scan.cut.append(name)
    scan.chars += len(text)
    lines = text.splitlines()
    title = api.title_of_note(lines)
    heading_counts: dict[str, dict[str, float]] = {}
    for first, heading, paragraph in _paragraphs(lines):
        shown = "\n".join(paragraph)
        about = title if heading in ("", title) else f"{title} › {heading}"
        if about not in heading_counts:
            heading_counts[about] = query_words.counts(api.strip_accents(f"{about} {path.stem}"))
        counts = query_words.counts(api.strip_accents(shown))
        scan.paragraphs += 1
        if counts or heading_counts[about]:
            for word, count in heading_counts[about].items():
                counts[word] = counts.get(word, 0.0) + count
            scan.matching.append(_Paragraph(name, first, about, shown, counts))


def _score(scan: _Scan, words: Sequence[str]) -> Iterator[tuple[float, _Paragraph]]:
    mean = scan.chars / scan.paragraphs if scan.chars else 1.0
    containing = Counter(word for paragraph in scan.matching for word in paragraph.counts)
    inverse_frequency = {
        word: math.log(1 + (scan.paragraphs - containing[word] + 0.5) / (containing[word] + 0.5))
        for word in words
    }
    for paragraph in scan.matching:
        length = _K1 * (1 - _B + _B * len(paragraph.text) / mean)
        yield (
            sum(
                inverse_frequency[word] * count * (_K1 + 1) / (count + length)
                for word, count in paragraph.counts.items()
            ),
            paragraph,
        )


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (number of the first line, heading, lines) for each paragraph of a note.

    A paragraph with more than `SNIPPET_LINES` lines is split.
    """
    paragraph: list[str] = []
    heading, paragraph_heading, heading_line, only_headings = "", "", 1, True
    for number, line in enumerate([*lines, ""], start=1):
        is_heading = line.startswith("#")
        if line.strip() and not is_heading and len(paragraph) < SNIPPET_LINES:
            paragraph_heading = paragraph_heading if paragraph else heading
            paragraph.append(line)
            continue
        if paragraph:
            only_headings = False
            yield number - len(paragraph), paragraph_heading, paragraph
        paragraph, paragraph_heading = ([line], heading) if line.strip() and not is_heading else ([], "")
        heading, heading_line = (line.lstrip("# ").strip(), number) if is_heading else (heading, heading_line)
    if only_headings and heading:
        yield heading_line, heading, [heading]


def _shares_prefix(word: str, term: str) -> bool:
    """Return True if the longer word begins with the shorter one. The shorter one needs at least `MIN_PREFIX_CHARS`
    letters."""
    short, long = sorted((word, term), key=len)
    return len(short) >= MIN_PREFIX_CHARS and long.startswith(short)


def _without_e(word: str) -> str:
    """Replace ae, oe and ue by a, o and u, so that `groesse` is found as `Größe`: without accents, both are `grosse`."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
