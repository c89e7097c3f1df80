"""Ranking of files that are related to a question's best matches.

Invariant: the first `FIXED_COUNT` files do not move.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter

from tui_agent.context.repomap.graph import unpack_edges
from tui_agent.context.repomap.path_kinds import kind_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.ranking import FileScore
from tui_agent.context.repomap.snapshot import Snapshot

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


def _non_increasing(order: Sequence[FileScore]) -> list[FileScore]:
    scores = accumulate((file.score for file in order), min)
    return [
        file if file.score == score else file._replace(score=score)
        for file, score in zip(order, scores, strict=True)
    ]
