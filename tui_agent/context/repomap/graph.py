"""Which file speaks of what which other file defines, and what that says of each.

Invariant: bounded work: a name that more than `MAX_DEFINERS` files define makes no edge, and only the strongest
`MAX_OUT` edges of a file count. The result does not depend on the order in which files came into the index.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import log
from struct import Struct

from tui_agent.context.repomap.index_db import Kept

MAX_DEFINERS = 5
MAX_OUT = 40
MAX_NEIGHBOURS = 12
ROUNDS, DAMPING = 12, 0.85
_PAIR = Struct("<If")
Edges = list[dict[int, float]]
"""Of each file, by its place in the order of paths, those that it speaks of."""


def definers(defs: Iterable[bytes]) -> dict[int, tuple[int, ...]]:
    """The files that define each name, as hashes; only names that tell files apart."""
    found: dict[int, list[int]] = {}
    for at, packed in enumerate(defs):
        for name in _hashes(packed):
            found.setdefault(name, []).append(at)
    return {name: tuple(ats) for name, ats in found.items() if len(ats) <= MAX_DEFINERS}


def edges_of(at: int, refs: bytes, known: Mapping[int, tuple[int, ...]]) -> dict[int, float]:
    """The files that a file speaks of, with how much, strongest first."""
    found: dict[int, float] = {}
    get = found.get
    for others in filter(None, map(known.get, _hashes(refs))):
        share = 1.0 / len(others)
        for other in others:
            found[other] = get(other, 0.0) + share
    found.pop(at, None)
    return {other: found[other] for other in _strongest(found)[:MAX_OUT]}


def _strongest(found: Mapping[int, float]) -> list[int]:
    """Equal ones in the order of their paths."""
    return sorted(sorted(found), key=found.__getitem__, reverse=True)


def all_edges(rows: Sequence[tuple[int, bytes, bytes]]) -> Edges:
    """The whole graph."""
    known = definers(defs for _, _, defs in rows)
    return [edges_of(at, refs, known) for at, (_, refs, _) in enumerate(rows)]


def _hashes(packed: bytes) -> "array[int]":
    found = array("I")
    found.frombytes(packed)
    return found


def page_rank(edges: Edges) -> list[float]:
    """The share of attention that each file gets, times the number of files."""
    outs = []
    for found in edges:
        total = sum(found.values())
        outs.append([(to, weight / total) for to, weight in found.items()])
    rank = [1.0] * len(edges)
    for _ in range(ROUNDS):
        lost = sum([value for value, out in zip(rank, outs, strict=True) if not out])
        new = [1 - DAMPING + DAMPING * lost / max(1, len(edges))] * len(edges)
        for value, out in zip(rank, outs, strict=True):
            share = DAMPING * value
            for to, weight in out:
                new[to] += share * weight
        rank = new
    return rank


def write(kept: Kept) -> None:
    """Compute every file's rank and neighbours and keep them."""
    rows = list(kept.all_names())
    ids = [row for row, _, _ in rows]
    edges = all_edges(rows)
    ins: Edges = [{} for _ in edges]
    for at, outs in enumerate(edges):
        for to, weight in outs.items():
            ins[to][at] = weight
    ranks = [(round(log(1 + rank), 6), row) for rank, row in zip(page_rank(edges), ids, strict=True)]
    packed = [
        (row, _packed(out, list(out), ids), _packed(into, _strongest(into), ids))
        for row, out, into in zip(ids, edges, ins, strict=True)
    ]
    with kept.writing():
        kept.put_graph(ranks, packed)
        kept.set_meta("graph", "ready")


def _packed(found: Mapping[int, float], order: Sequence[int], ids: Sequence[int]) -> bytes:
    return b"".join([_PAIR.pack(ids[other], found[other]) for other in order[:MAX_NEIGHBOURS]])


def unpacked(data: bytes) -> list[tuple[int, float]]:
    """Files with weights, strongest first."""
    return list(_PAIR.iter_unpack(data))
