"""L3: which file speaks of what which other file defines, and what that says of each.

Invariant: bounded work: a name that more than `MAX_DEFINERS` files define makes no edge, and only the strongest
`MAX_OUT` edges of a file count. The result does not depend on the order in which files came into the index.
"""

from array import array
from collections.abc import Iterable, Mapping
from math import log
from struct import Struct

from tui_agent.context.repomap.kept import Kept

MAX_DEFINERS = 5
MAX_OUT = 40
MAX_NEIGHBOURS = 12
ROUNDS, DAMPING = 12, 0.85
_PAIR = Struct("<If")
Edges = dict[int, dict[int, float]]


def definers(defs: Iterable[tuple[int, bytes]]) -> dict[int, tuple[int, ...]]:
    """The files that define each name, as hashes; only names that tell files apart."""
    found: dict[int, list[int]] = {}
    for at, packed in defs:
        for name in _hashes(packed):
            found.setdefault(name, []).append(at)
    return {name: tuple(ats) for name, ats in found.items() if len(ats) <= MAX_DEFINERS}


def edges_of(at: int, refs: bytes, known: Mapping[int, tuple[int, ...]]) -> dict[int, float]:
    """The files that a file speaks of, with how much."""
    found: dict[int, float] = {}
    for name in _hashes(refs):
        for other in known.get(name, ()):
            if other != at:
                found[other] = found.get(other, 0.0) + 1.0 / len(known[name])
    strongest = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_OUT]
    return dict(strongest)


def all_edges(kept: Kept) -> Edges:
    """The whole graph."""
    names = list(kept.all_names())
    known = definers((at, defs) for at, _, defs in names)
    return {at: edges_of(at, refs, known) for at, refs, _ in names}


def _hashes(packed: bytes) -> "array[int]":
    found = array("I")
    found.frombytes(packed)
    return found


def page_rank(edges: Edges) -> dict[int, float]:
    """The share of attention that each file gets, times the number of files."""
    nodes = sorted(edges)
    if not nodes:
        return {}
    outs = []
    for at in nodes:
        total = sum(edges[at].values())
        outs.append((at, [(to, weight / total) for to, weight in edges[at].items() if to in edges]))
    rank = dict.fromkeys(nodes, 1.0)
    for _ in range(ROUNDS):
        lost = sum(rank[at] for at, out in outs if not out)
        new = dict.fromkeys(nodes, 1 - DAMPING + DAMPING * lost / len(nodes))
        for at, out in outs:
            share = DAMPING * rank[at]
            for to, weight in out:
                new[to] += share * weight
        rank = new
    return rank


def write(kept: Kept) -> None:
    """Compute every file's rank and neighbours and keep them."""
    edges = all_edges(kept)
    ranks = page_rank(edges)
    ins: Edges = {at: {} for at in edges}
    for at, outs in edges.items():
        for to, weight in outs.items():
            if to in ins:
                ins[to][at] = weight
    rows = [(at, _packed(edges[at]), _packed(ins[at])) for at in sorted(edges)]
    with kept.writing():
        kept.put_graph(((round(log(1 + rank), 6), at) for at, rank in sorted(ranks.items())), rows)
        kept.set_meta("graph", "ready")


def _packed(found: dict[int, float]) -> bytes:
    strongest = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_NEIGHBOURS]
    return b"".join(_PAIR.pack(*pair) for pair in strongest)


def unpacked(data: bytes) -> list[tuple[int, float]]:
    """Files with weights, strongest first."""
    return list(_PAIR.iter_unpack(data))
