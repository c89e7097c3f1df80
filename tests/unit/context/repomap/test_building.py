"""The index is the same however it came about: in which order, and by how many processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tui_agent.context.repomap import graph, indexer, worker
from tui_agent.context.repomap.file_list import Entry, list_files
from tui_agent.context.repomap.index_db import open_index
from tui_agent.context.repomap.repository_map import show_all
from tui_agent.context.repomap.snapshot import Snapshot
from tui_agent.ports.redaction import RedactionOptions

USER = "use.py"


def neighbours(index: Path, root: Path, entries: list[Entry]) -> list[list[tuple[str, float]]]:
    """What `USER` speaks of and what speaks of it, and every rank, in an index that is built in this order."""
    kept = open_index(index, "key")
    indexer.update(kept, str(root), entries)
    graph.write_graph(kept)
    known = Snapshot(kept, kept.files())
    found = [
        [(known.paths[at], weight) for at, weight in graph.unpack_edges(packed)]
        for packed in known.neighbours(USER)
    ]
    found.append(sorted((path, one.rank) for path, one in known.known.items()))
    kept.close()
    return found


def test_neighbours_that_are_worth_the_same_are_chosen_by_their_paths(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    names = [f"thing_of_part{chr(97 + n)}" for n in range(20)]
    for name in names:
        (root / f"{name}.py").write_text(f"def {name}(): ...\n")
    (root / USER).write_text("\n".join(f"{name}()" for name in reversed(names)))
    entries = list(list_files(root, show_all).entries)
    once = neighbours(tmp_path / "once", root, entries)
    assert [path for path, _ in once[0]] == [f"{name}.py" for name in names[: graph.MAX_NEIGHBOURS]]
    assert neighbours(tmp_path / "again", root, entries[::-1]) == once


def test_two_processes_make_of_many_files_the_index_that_one_makes(tmp_path: Path) -> None:
    root, index = tmp_path / "repo", tmp_path / "index"
    root.mkdir()
    line = "a line of prose about one thing and another, number {n}\n"
    for n in range(12):
        (root / f"part{n}.txt").write_text(line.format(n=n) * (worker.SPLIT_BYTES // 11 // len(line)))
    (root / USER).write_text("def used(): ...\n")
    entries = list(list_files(root, show_all).entries)
    child = worker.start(worker.Build(index, "key", root), entries, [], detached=False)
    child.wait(60)
    worker.end(child, detached=False)
    assert not list(tmp_path.glob("index.now*"))
    kept = open_index(index, "key")
    assert sorted(kept.files()) == [entry.path for entry in entries]
    assert len(kept.scores("pros", (1.0, 1.0, 1.0))[0]) == 12
    assert kept.meta("graph") == "ready"
    kept.close()


@pytest.mark.slow_variants
@pytest.mark.parametrize(("slow", "kept_files"), [("time.sleep(0.6)", 1), ("while True: pass", 0)])
def test_a_file_may_wait_for_the_processor_but_not_keep_it(
    tmp_path: Path, slow: str, kept_files: int
) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / USER).write_text("def used(): ...\n")
    (entry,) = list_files(tmp_path / "repo", show_all).entries
    index = tmp_path / "index"
    open_index(index, "key").close()
    program = f"""
import time
from tui_agent.context.repomap import indexer, worker
find, worker.FILE_S = indexer.index_entry, 0.4
def slow(*given, **named):
    {slow}
    return find(*given, **named)
indexer.index_entry = slow
worker.main()
"""
    job: dict[str, object] = {
        "index": str(index),
        "key": "key",
        "root": str(tmp_path / "repo"),
        "languages": [],
        "gone": [],
    }
    job["redaction"] = RedactionOptions().to_json()
    given = json.dumps({**job, "detached": True, "entries": [entry]}).encode()
    subprocess.run([sys.executable, "-c", program], input=given, check=False, timeout=60)
    kept = open_index(index, "key")
    assert len(kept.files()) == kept_files
    kept.close()


def test_a_second_process_that_dies_costs_no_more_than_what_it_had_begun(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    for n in range(4):
        (tmp_path / "repo" / f"part{n}.py").write_text(f"def part{n}(): ...\n")
    entries = list(list_files(tmp_path / "repo", show_all).entries)
    index = tmp_path / "index"
    program = f"""
import os, signal, time
from pathlib import Path
from tui_agent.context.repomap import indexer, worker
worker.SPLIT_BYTES = worker.CHUNK_BYTES = 1
find, first = indexer.index_entry, os.getpid()
def fatal(*given, **named):
    if os.getpid() != first:
        os.kill(os.getpid(), signal.SIGKILL)
    while not Path("{index}.now1").exists():
        time.sleep(0.01)
    return find(*given, **named)
indexer.index_entry = fatal
worker.main()
"""
    job = {"index": str(index), "key": "key", "root": str(tmp_path / "repo"), "languages": [], "gone": []}
    given = json.dumps(
        {**job, "redaction": RedactionOptions().to_json(), "detached": True, "entries": entries}
    ).encode()
    subprocess.run([sys.executable, "-c", program], input=given, check=True, timeout=60)
    (begun,) = worker.crashed_files(index)
    kept = open_index(index, "key")
    assert {*kept.files(), begun} == {entry.path for entry in entries} and begun not in kept.files()
    assert kept.meta("graph") == "ready"
    kept.close()


def test_the_last_pieces_of_work_are_the_smallest_so_that_two_processes_end_together() -> None:
    entries = [Entry(f"f{number}", 50_000, 0, 0) for number in range(400)]
    chunks = worker._split_chunks(entries)
    assert [entry for chunk in chunks for entry in chunk] == entries
    sizes = [sum(entry.size for entry in chunk) for chunk in chunks]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= sizes[0] // 4
    assert len(worker._split_chunks(entries[:50])) == 2
