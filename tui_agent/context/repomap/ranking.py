"""Ranking of files for a question, and of the files related to its best matches.

A file's score combines the question's words in the file, their concentration in a few lines, pairs of them on one line,
and past commits that changed the file.

Invariant: the result does not depend on the order of indexing.
"""

# The weights were chosen with benchmarks/localization.py.

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import log, sqrt
from operator import attrgetter
from typing import NamedTuple

from tui_agent.context.repomap.graph import unpack_edges
from tui_agent.context.repomap.index_db import SimilarCommit
from tui_agent.context.repomap.index_snapshot import Snapshot
from tui_agent.context.repomap.line_scores import Values, WordLines
from tui_agent.context.repomap.named_files import NamedFile
from tui_agent.context.repomap.path_kinds import is_entry, is_unnamed_vendored, kind_of, weight_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.text_cache import Text

MATCHES = 1_000
LOOKED_INTO = 50
WINDOW_SHARE, PHRASE_SHARE, HISTORY_SHARE = 0.5, 0.2, 0.3
NAME_TIMES = 3
Reader = Callable[[str], Text]
LineFinder = Callable[[str], WordLines | None]


class FileScore(NamedTuple):
    """A file with its score for a question and the reasons for its rank.

    `lines`: positions of the question's words if the file was read.
    `line`: line that the question names.
    """

    path: str
    score: float
    reasons: tuple[str, ...]
    lines: WordLines | None = None
    line: int = 0


def values_of(query: Query, counts: Mapping[str, int], total: int) -> dict[str, float]:
    """Return the value (weight times rarity) of each word of the question."""
    return {
        word: weight * log(1 + (total - min(counts.get(word, 0), total) + 0.5) / (counts.get(word, 0) + 0.5))
        for word, weight in query.weights.items()
    }


def expression(query: Query) -> str:
    """Return the FTS5 expression that searches commit messages for any word of the question."""
    return " OR ".join(
        f'"{word}"' for word in query.weights for _ in range(NAME_TIMES if word in query.strong else 1)
    )


def score_indexed_files(
    index: Snapshot, values: Values, hidden: Collection[str], query: Query
) -> dict[str, float]:
    """Return the score of each indexed file that matches the question."""
    scores = index.matches(values, MATCHES)
    return {path: score * weight_of(path, query) for path, score in scores.items() if path not in hidden}


def score_by_commits(
    commits: Sequence[SimilarCommit], query: Query, present: Collection[str]
) -> dict[str, float]:
    """Score files by past commits with messages similar to the question.

    `commits`: sorted, best match first.
    """
    if not commits or commits[0][0] <= 0:
        return {}
    scores: dict[str, float] = {}
    for score, files in commits:
        share = (score / commits[0][0]) ** 2 / sqrt(len(files))
        for path in files:
            if path in present:
                scores[path] = scores.get(path, 0.0) + share * weight_of(path, query)
    top = max(scores.values(), default=1.0)
    return {path: value / top for path, value in scores.items()}


def rank_files(
    words: Mapping[str, float],
    past: Mapping[str, float],
    query: Query,
    values: Values,
    read: Reader,
) -> list[FileScore]:
    """Return all files that match the question, best first.

    Only the best `LOOKED_INTO` files are read, to improve their scores.
    """
    top = max(words.values(), default=1.0)
    base = {path: score / top for path, score in words.items()}
    for path, value in past.items():
        base[path] = base.get(path, 0.0) + HISTORY_SHARE * value
    order = _best_first(base)
    lines = {path: WordLines(read(path), values) for path in order[:LOOKED_INTO]}
    windows = {path: file_lines.best_window() * weight_of(path, query) for path, file_lines in lines.items()}
    best = max(windows.values(), default=0.0) or 1.0
    for path, window in windows.items():
        base[path] += WINDOW_SHARE * window / best
    for path, phrase in _phrase_scores(lines, query, values).items():
        base[path] += PHRASE_SHARE * phrase
    return [
        FileScore(
            path,
            round(base[path], 4),
            _reasons(path, words, windows, past) if path in windows or path in past else _word_reasons(path),
            lines.get(path),
        )
        for path in _best_first(base)
    ]


def _phrase_scores(lines: Mapping[str, WordLines], query: Query, values: Values) -> dict[str, float]:
    pairs = {pair: min(values[pair[0]], values[pair[1]]) for pair in query.pairs}
    scores = {
        path: file_lines.pair_score(pairs) * weight_of(path, query) for path, file_lines in lines.items()
    }
    best = max(scores.values(), default=0.0) or 1.0
    return {path: score / best for path, score in scores.items()}


def _best_first(scores: Mapping[str, float]) -> list[str]:
    # Files with equal scores are in path order, because the second sort is stable.
    order = sorted(scores)
    order.sort(key=scores.__getitem__, reverse=True)
    return order


def named_first(
    order: Sequence[FileScore], mentions: Sequence[NamedFile], find_lines: LineFinder
) -> list[FileScore]:
    """Move the files that the question names to the front."""
    if not mentions:
        return list(order)
    places = {file.path: index for index, file in enumerate(order)}
    top = order[0].score if order else 1.0
    last = len(order)
    first: list[FileScore] = []
    for mention in sorted(
        mentions, key=lambda entry: (entry.number, places.get(entry.path, last), entry.path)
    ):
        ranked_file = (
            order[places[mention.path]] if mention.path in places else FileScore(mention.path, top, ())
        )
        first.append(
            ranked_file._replace(
                score=max(top, ranked_file.score),
                reasons=("named", *ranked_file.reasons),
                lines=ranked_file.lines or find_lines(mention.path),
                line=mention.line,
            )
        )
    names = {entry.path for entry in first}
    return [*first, *(entry for entry in order if entry.path not in names)]


@lru_cache(maxsize=65_536)
def _word_reasons(path: str) -> tuple[str, ...]:
    return ("words", kind) if (kind := kind_of(path)) else ("words",)


def _reasons(
    path: str, words: Mapping[str, float], windows: Mapping[str, float], past: Mapping[str, float]
) -> tuple[str, ...]:
    reasons: tuple[str, ...] = ("words",) if path in words else ()
    if path in windows and windows[path] > 0:
        reasons += ("window",)
    if not reasons or (path in past and past[path] > 0.1):
        reasons += ("history",)
    kind = kind_of(path)
    return (*reasons, kind) if kind else reasons


NOT_CODE = frozenset(
    {"", "markdown", "rst", "yaml", "toml", "ini", "html", "css", "sql", "make", "docker", "cmake"}
)


def rank_without_question(
    ranks: Mapping[str, float], languages: Mapping[str, str], recent: Collection[str]
) -> list[FileScore]:
    """Rank files when there is no question: important files, entry points and recently used files first."""
    order: list[FileScore] = []
    for path, rank in ranks.items():
        score, reasons = rank + 0.2, ["graph"] if rank > 1 else ["place"]
        if is_entry(path):
            score, reasons = score + 0.8 / (1 + path.count("/")) + 0.4, [*reasons, "entry"]
        kind = kind_of(path)
        if kind or languages.get(path, "") in NOT_CODE:
            score, reasons = score * 0.3, [*reasons, *([kind] if kind else [])]
        if path in recent:
            score, reasons = score + 2.0, [*reasons, "recent"]
        order.append(FileScore(path, round(score, 4), tuple(reasons)))
    return sorted(order, key=lambda file: (-file.score, file.path))


FIXED_COUNT, TOP_COUNT, SEED_COUNT = 4, 10, 8
"""Numbers of files, counted from the start of the order.

`FIXED_COUNT`: files that keep their place.
`TOP_COUNT`: after this many files, tests, documents and settings files get a lower score.
`SEED_COUNT`: files whose related files are searched.
"""
LINK_SHARE, PAST_SHARE, LATER_SHARE = 0.2, 0.3, 0.3
UNEQUAL = 0.5
"""Factor for the score of a related file that is a test, a document, vendored code or a settings file."""
_SCORE = attrgetter("score")


def add_related(
    order: Sequence[FileScore], relatives: Mapping[str, float], past: Mapping[str, float], query: Query
) -> list[FileScore]:
    """Add files related to the best matches, and return the new order.

    `relatives`: scores of the related files.
    `past`: scores from commits with similar messages.
    """
    fixed = list(order[:FIXED_COUNT])
    listed = {file.path for file in order}
    rest = [
        *order[FIXED_COUNT:],
        *(FileScore(path, 0.0, ()) for path in sorted(relatives) if path not in listed),
    ]
    rescored = [
        _raise_score(file, relatives.get(file.path, 0.0), past.get(file.path, 0.0))
        if file.path in relatives or file.path in past
        else file
        for file in rest
    ]
    rescored.sort(key=_SCORE, reverse=True)
    near_count = TOP_COUNT - FIXED_COUNT
    lowered = sorted(
        [_lower_side_files(file, query) for file in rescored[near_count:]], key=_SCORE, reverse=True
    )
    return _non_increasing(fixed + rescored[:near_count] + lowered)


def find_related(order: Sequence[FileScore], index: Snapshot, hidden: Collection[str]) -> dict[str, float]:
    """Return the files that are related to the best matches, each with a score."""
    scores: dict[str, float] = {}
    for seed in order[:SEED_COUNT]:
        for path, share in _linked_files(seed.path, index):
            if path != seed.path and path not in hidden:
                factor = UNEQUAL if kind_of(path) else 1.0
                scores[path] = scores.get(path, 0.0) + seed.score * share * factor
    return scores


def _linked_files(path: str, index: Snapshot) -> list[tuple[str, float]]:
    links: list[tuple[str, float]] = []
    for packed in index.neighbours(path):
        pairs = unpack_edges(packed)
        total = sum(weight for _, weight in pairs) or 1.0
        links += [
            (index.paths[row_id], LINK_SHARE * weight / total)
            for row_id, weight in pairs
            if row_id in index.paths
        ]
    return links


def _raise_score(file: FileScore, kin: float, past: float) -> FileScore:
    score = round(file.score + kin + PAST_SHARE * past, 4)
    return file._replace(score=score, reasons=(*file.reasons, "neighbour") if kin > 0 else file.reasons)


def _lower_side_files(file: FileScore, query: Query) -> FileScore:
    """Lower the score of a test, document or settings file. If the question is about this kind of file, do nothing."""
    kind = kind_of(file.path)
    if not kind or kind in query.about:
        return file
    path, score, reasons, lines, line = file
    return FileScore(path, round(score * LATER_SHARE, 4), reasons, lines, line)


def vendored_last(order: Sequence[FileScore], query: Query) -> list[FileScore]:
    """Move vendored code behind the repository's own files, unless the question names it."""
    last = [is_unnamed_vendored(file.path, query) and file.reasons[:1] != ("named",) for file in order]
    own = [file for file, is_last in zip(order, last, strict=True) if not is_last]
    return _non_increasing([*own, *(file for file, is_last in zip(order, last, strict=True) if is_last)])


def _non_increasing(order: Sequence[FileScore]) -> list[FileScore]:
    scores = accumulate((file.score for file in order), min)
    return [
        file if file.score == score else file._replace(score=score)
        for file, score in zip(order, scores, strict=True)
    ]
