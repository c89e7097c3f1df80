"""The order of files for a question: words of the whole file, its best window, words that stand
together, and what past commits say.

Invariant: pure of the order in which files came into the index: ties are broken by the names that a file defines, then by
path. The weights were chosen by benchmarks/localization.py.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from math import log, sqrt
from typing import NamedTuple

from tui_agent.context.repomap.evidence import Lines, Values
from tui_agent.context.repomap.history import BEST
from tui_agent.context.repomap.named_files import Mention
from tui_agent.context.repomap.path_kinds import is_entry, kind_of, weight_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.snapshot import Snapshot
from tui_agent.context.repomap.texts import Text
from tui_agent.context.repomap.views import Symbol

MATCHES = 1_000
LOOKED_INTO = 50
WINDOW_SHARE, PHRASE_SHARE, HISTORY_SHARE = 0.5, 0.2, 0.3
NAME_TIMES = 3
FULL_TRUST = 0.25
"""The share of a question's words in a past message from which the past counts fully."""
Reader = Callable[[str], Text]
Definer = Callable[[str], tuple[Symbol, ...]]
Looker = Callable[[str], Lines | None]
Weight = Callable[[str], float]
"""What a match in a file counts."""


class Ranked(NamedTuple):
    """A file with its score, why, where the question's words stand in it, if it was looked into, and the line that the
    question names."""

    path: str
    score: float
    reasons: tuple[str, ...]
    lines: Lines | None = None
    line: int = 0


def values_of(query: Query, counts: Mapping[str, int], total: int) -> dict[str, float]:
    """Weight times rarity of each word of the question."""
    return {
        word: weight * log(1 + (total - min(counts.get(word, 0), total) + 0.5) / (counts.get(word, 0) + 0.5))
        for word, weight in query.weights.items()
    }


def expression(query: Query) -> str:
    """The question for the index of messages: any of its words, those of names of code several times."""
    return " OR ".join(
        f'"{word}"' for word in query.weights for _ in range(NAME_TIMES if word in query.strong else 1)
    )


def weight_in(index: Snapshot, query: Query) -> Weight:
    """What a match in a file of the index counts, for this question: by its place, and how it stands among the others."""
    return lambda path: weight_of(path, query) * index.footing(path)


def by_index(index: Snapshot, values: Values, hidden: Collection[str], weight: Weight) -> dict[str, float]:
    """What the words of each file, its path and its names are worth, from the index."""
    found = index.matches(values, MATCHES)
    return {path: score * weight(path) for path, score in found.items() if path not in hidden}


def by_history(index: Snapshot, query: Query, present: Collection[str], weight: Weight) -> dict[str, float]:
    """What commits with a similar message say of each file; the more the better the best of them fits."""
    found = index.like(expression(query), BEST)
    if not found or found[0][0] <= 0:
        return {}
    said = set(found[0][1].split())
    trust = min(
        1.0,
        sum(query.weights[word] for word in said & query.weights.keys())
        / sum(query.weights.values())
        / FULL_TRUST,
    )
    worth: dict[str, float] = {}
    for score, _, files in found:
        share = (score / found[0][0]) ** 2 / sqrt(len(files))
        for path in files:
            if path in present:
                worth[path] = worth.get(path, 0.0) + share * weight(path)
    top = max(worth.values(), default=1.0)
    return {path: trust * value / top for path, value in worth.items()}


def ranked(
    words: Mapping[str, float],
    past: Mapping[str, float],
    query: Query,
    values: Values,
    read: Reader,
    weight: Weight,
) -> list[Ranked]:
    """All files that match, best first. The `LOOKED_INTO` best by words are read for their best window."""
    top = max(words.values(), default=1.0)
    base = {path: score / top for path, score in words.items()}
    for path, value in past.items():
        base[path] = base.get(path, 0.0) + HISTORY_SHARE * value
    order = _best_first(base)
    lines = {path: Lines(read(path), values) for path in order[:LOOKED_INTO]}
    windows = {path: found.best_window() * weight(path) for path, found in lines.items()}
    best = max(windows.values(), default=0.0) or 1.0
    for path, window in windows.items():
        base[path] += WINDOW_SHARE * window / best
    for path, phrase in _phrases(lines, query, values, weight).items():
        base[path] += PHRASE_SHARE * phrase
    return [
        Ranked(
            path,
            round(base[path], 4),
            _reasons(path, words, windows, past) if path in windows or path in past else _worded(path),
            lines.get(path),
        )
        for path in _best_first(base)
    ]


def _phrases(lines: Mapping[str, Lines], query: Query, values: Values, weight: Weight) -> dict[str, float]:
    """How much of what the question says in one breath each file has on one line, as a share of the most."""
    pairs = {pair: min(values[pair[0]], values[pair[1]]) for pair in query.pairs}
    found = {path: one.beside(pairs) * weight(path) for path, one in lines.items()}
    most = max(found.values(), default=0.0) or 1.0
    return {path: worth / most for path, worth in found.items()}


def _best_first(scores: Mapping[str, float]) -> list[str]:
    """Ties in the order of paths."""
    order = sorted(scores)
    order.sort(key=scores.__getitem__, reverse=True)
    return order


def defined_first(order: Sequence[Ranked], query: Query, symbols: Definer) -> list[Ranked]:
    """The same files, and of those that are worth the same, those first that define a name of the question; of files that
    were looked into."""
    found: list[Ranked] = []
    for _, group in groupby(order[:LOOKED_INTO] if query.names else (), key=lambda one: one.score):
        alike = list(group)
        if len(alike) > 1:
            alike.sort(key=lambda one: query.names.isdisjoint(symbol.name for symbol in symbols(one.path)))
        found += alike
    return [*found, *order[len(found) :]]


def named_first(order: Sequence[Ranked], mentions: Sequence[Mention], look: Looker) -> list[Ranked]:
    """The same files, and before all others those that the question names, whatever their words are worth."""
    if not mentions:
        return list(order)
    places = {one.path: at for at, one in enumerate(order)}
    top = order[0].score if order else 1.0
    last = len(order)
    first: list[Ranked] = []
    for said in sorted(mentions, key=lambda one: (one.name, places.get(one.path, last), one.path)):
        known = order[places[said.path]] if said.path in places else Ranked(said.path, top, ())
        first.append(
            known._replace(
                score=max(top, known.score),
                reasons=("named", *known.reasons),
                lines=known.lines or look(said.path),
                line=said.line,
            )
        )
    names = {one.path for one in first}
    return [*first, *(one for one in order if one.path not in names)]


@lru_cache(maxsize=65_536)
def _worded(path: str) -> tuple[str, ...]:
    """Why a file is there of which only the words are known."""
    return ("words", kind) if (kind := kind_of(path)) else ("words",)


def _reasons(
    path: str, words: Mapping[str, float], windows: Mapping[str, float], past: Mapping[str, float]
) -> tuple[str, ...]:
    found: tuple[str, ...] = ("words",) if path in words else ()
    if path in windows and windows[path] > 0:
        found += ("window",)
    if not found or (path in past and past[path] > 0.1):
        found += ("history",)
    kind = kind_of(path)
    return (*found, kind) if kind else found


NOT_CODE = frozenset(
    {"", "markdown", "rst", "yaml", "toml", "ini", "html", "css", "sql", "make", "docker", "cmake"}
)


def unasked(
    ranks: Mapping[str, float], languages: Mapping[str, str], recent: Collection[str]
) -> list[Ranked]:
    """The order where there is no question: what others lean on, where programs begin, what was touched lately."""
    order: list[Ranked] = []
    for path, rank in ranks.items():
        score, reasons = rank + 0.2, ["graph"] if rank > 1 else ["place"]
        if is_entry(path):
            score, reasons = score + 0.8 / (1 + path.count("/")) + 0.4, [*reasons, "entry"]
        kind = kind_of(path)
        if kind or languages.get(path, "") in NOT_CODE:
            score, reasons = score * 0.3, [*reasons, *([kind] if kind else [])]
        if path in recent:
            score, reasons = score + 2.0, [*reasons, "recent"]
        order.append(Ranked(path, round(score, 4), tuple(reasons)))
    return sorted(order, key=lambda one: (-one.score, one.path))
