"""Graph of a repository's files, and the rank of each file. An edge from A to B means that A uses names defined in B.

Invariant: a name defined in more than `MAX_DEFINERS` files makes no edge.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import log
from struct import Struct

from tui_agent.context.repomap.index_db import IndexedFile, IndexFile, Names

MAX_DEFINERS = 5
MAX_OUT = 40
MAX_NEIGHBOURS = 12
ROUNDS, DAMPING = 12, 0.85
_PAIR = Struct("<If")
Edges = list[dict[int, float]]
"""Edges of the graph. Item `n` maps each file used by the `n`-th file to the edge's weight."""


def definers(defs: Iterable[bytes]) -> dict[int, tuple[int, ...]]:
    """Return a mapping from a name's hash to the files that define the name.

    Names defined in more than `MAX_DEFINERS` files are left out.
    """
    files_by_name: dict[int, list[int]] = {}
    for index, packed in enumerate(defs):
        for name in _hashes(packed):
            files_by_name.setdefault(name, []).append(index)
    return {name: tuple(indexes) for name, indexes in files_by_name.items() if len(indexes) <= MAX_DEFINERS}


def edges_of(file: int, refs: bytes, known: Mapping[int, tuple[int, ...]]) -> dict[int, float]:
    """Return the files whose definitions `file` uses, with the edges' weights, strongest first."""
    weights: dict[int, float] = {}
    get = weights.get
    for others in filter(None, map(known.get, _hashes(refs))):
        share = 1.0 / len(others)
        for other in others:
            weights[other] = get(other, 0.0) + share
    weights.pop(file, None)
    return {other: weights[other] for other in _sort_by_weight(weights)[:MAX_OUT]}


def _sort_by_weight(weights: Mapping[int, float]) -> list[int]:
    """Return the files, heaviest first."""
    return sorted(sorted(weights), key=weights.__getitem__, reverse=True)


def all_edges(rows: Sequence[Names]) -> Edges:
    """Return the edges of the whole graph."""
    known = definers(defs for _, _, defs in rows)
    return [edges_of(index, refs, known) for index, (_, refs, _) in enumerate(rows)]


def _hashes(packed: bytes) -> "array[int]":
    hashes = array("I")
    hashes.frombytes(packed)
    return hashes


def page_rank(edges: Edges) -> list[float]:
    """Return each file's PageRank, multiplied by the number of files."""
    outs = []
    for weights in edges:
        total = sum(weights.values())
        outs.append([(to, weight / total) for to, weight in weights.items()])
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


def may_change_graph(index_file: IndexFile, path: str, new: IndexedFile | None) -> bool:
    """Return True if the graph could change when `new` replaces the file at `path`.

    `new`: the file's new entry for the index (None: the file was deleted).
    """
    old = index_file.names(path)
    if old is None or new is None or new.reason:
        return old is not None or (new is not None and not new.reason)
    row_id, refs, defs = old
    defined = {*_hashes(defs)} ^ {*_hashes(new.defs)}
    changed = {*_hashes(refs)} ^ {*_hashes(new.refs)} | defined
    return bool(changed) and any(
        not changed.isdisjoint(_hashes(others_defs))
        or (defined and not defined.isdisjoint(_hashes(others_refs)))
        for other, others_refs, others_defs in index_file.all_names()
        if other != row_id
    )


def write_graph(index_file: IndexFile) -> None:
    """Compute and store every file's rank and its edges.

    If another process changes the index meanwhile, nothing is stored.
    """
    version = index_file.data_version
    rows = list(index_file.all_names())
    ids = [row for row, _, _ in rows]
    edges = all_edges(rows)
    ins: Edges = [{} for _ in edges]
    for index, outs in enumerate(edges):
        for to, weight in outs.items():
            ins[to][index] = weight
    ranks = [(round(log(1 + rank), 6), row) for rank, row in zip(page_rank(edges), ids, strict=True)]
    packed = [
        (row, _pack_edges(out, list(out), ids), _pack_edges(into, _sort_by_weight(into), ids))
        for row, out, into in zip(ids, edges, ins, strict=True)
    ]
    with index_file.transaction():
        if index_file.data_version == version:
            index_file.put_graph(ranks, packed)
            index_file.set_meta("graph", "ready")


def _pack_edges(weights: Mapping[int, float], order: Sequence[int], ids: Sequence[int]) -> bytes:
    return b"".join([_PAIR.pack(ids[other], weights[other]) for other in order[:MAX_NEIGHBOURS]])


def unpack_edges(data: bytes) -> list[tuple[int, float]]:
    """Unpack stored edges to pairs (file, weight), strongest first."""
    return list(_PAIR.iter_unpack(data))
