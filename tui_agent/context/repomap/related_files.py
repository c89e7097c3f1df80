"""Behind the first files, which the question's own words chose, come those that hang together with them.

Invariant: the first `FIRM` files stay as they are; ties keep the order before, then that of paths; scores never rise
from one file to the next.
"""

from collections.abc import Collection, Mapping, Sequence
from math import sqrt
from operator import attrgetter

from tui_agent.context.repomap.graph import unpacked
from tui_agent.context.repomap.path_kinds import first_name, kind_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.ranking import Ranked
from tui_agent.context.repomap.snapshot import Snapshot

FIRM, FIRST, SEEDS = 4, 10, 8
"""Files that nothing moves; files that are chosen without regard to what else is a test; files whose kin count."""
LINK_SHARE, NAME_SHARE, PAST_SHARE, LATER_SHARE = 0.2, 0.3, 0.3, 0.3
UNEQUAL = 0.5
"""What being kin counts for a test, a document, foreign code or settings."""
MOST_NAMESAKES, MOST_ALIKE = 20, 100
_SHORT = 2
_SCORE = attrgetter("score")


def completed(
    order: Sequence[Ranked], index: Snapshot, past: Mapping[str, float], hidden: Collection[str], query: Query
) -> list[Ranked]:
    """The same files and kin of the first ones. `past` is what commits of similar messages touched."""
    kin = _kin(order[:SEEDS], index, hidden)
    firm = list(order[:FIRM])
    taken = {one.path for one in order}
    rest = [*order[FIRM:], *(Ranked(path, 0.0, ()) for path in sorted(kin) if path not in taken)]
    moved = [
        _moved(one, kin.get(one.path, 0.0), past.get(one.path, 0.0))
        if one.path in kin or one.path in past
        else one
        for one in rest
    ]
    moved.sort(key=_SCORE, reverse=True)
    near = FIRST - FIRM
    later = sorted([_later(one, query) for one in moved[near:]], key=_SCORE, reverse=True)
    return _falling(firm + moved[:near] + later)


def _kin(seeds: Sequence[Ranked], index: Snapshot, hidden: Collection[str]) -> dict[str, float]:
    """How much each file hangs together with the seeds: it speaks of them, they of it, or they bear one name."""
    worth: dict[str, float] = {}
    for seed in seeds:
        for path, share in (*_linked(seed.path, index), *_namesakes(seed.path, index)):
            if path != seed.path and path not in hidden:
                factor = UNEQUAL if kind_of(path) else 1.0
                worth[path] = worth.get(path, 0.0) + seed.score * share * factor
    return worth


def _linked(path: str, index: Snapshot) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for packed in index.neighbours(path):
        pairs = unpacked(packed)
        total = sum(weight for _, weight in pairs) or 1.0
        found += [(index.paths[at], LINK_SHARE * weight / total) for at, weight in pairs if at in index.paths]
    return found


def _namesakes(path: str, index: Snapshot) -> list[tuple[str, float]]:
    """Files named alike, but for tests and documents; a name that very many bear says nothing."""
    alike = index.namesakes(path)
    if len(first_name(path)) <= _SHORT or len(alike) > MOST_ALIKE:
        return []
    found = [other for other in alike if other != path and not kind_of(other)]
    return [(other, NAME_SHARE / sqrt(len(found))) for other in found] if len(found) <= MOST_NAMESAKES else []


def _moved(one: Ranked, kin: float, past: float) -> Ranked:
    score = round(one.score + kin + PAST_SHARE * past, 4)
    return one._replace(score=score, reasons=(*one.reasons, "neighbour") if kin > 0 else one.reasons)


def _later(one: Ranked, query: Query) -> Ranked:
    """Behind the first files, what the repository is about comes before tests, documents and settings."""
    kind = kind_of(one.path)
    if not kind or kind in query.about:
        return one
    path, score, reasons, lines, line = one
    return Ranked(path, round(score * LATER_SHARE, 4), reasons, lines, line)


def _falling(order: Sequence[Ranked]) -> list[Ranked]:
    found: list[Ranked] = []
    least = float("inf")
    for one in order:
        if one.score <= least:
            least = one.score
        else:
            one = one._replace(score=least)
        found.append(one)
    return found
