"""The index is the same however it came about: in which order, and by how many processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tui_agent.context.repomap import graph, index_worker, indexer
from tui_agent.context.repomap.file_list import Entry, list_files
from tui_agent.context.repomap.index_db import open_index
from tui_agent.context.repomap.index_snapshot import Snapshot
from tui_agent.context.repomap.repository_map import show_all
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
        (root / f"part{n}.txt").write_text(line.format(n=n) * (index_worker.SPLIT_BYTES // 11 // len(line)))
    (root / USER).write_text("def used(): ...\n")
    entries = list(list_files(root, show_all).entries)
    child = index_worker.start(index_worker.Build(index, "key", root), entries, [], detached=False)
    child.wait(60)
    index_worker.end(child, detached=False)
    assert not list(tmp_path.glob("index.now*"))
    kept = open_index(index, "key")
    assert sorted(kept.files()) == [entry.path for entry in entries]
    assert len(kept.scores("pros", (1.0, 1.0, 1.0))[0]) == 12
    assert kept.meta("graph") == "ready"
    kept.close()


def test_the_index_counts_as_being_built_as_soon_as_its_process_starts(tmp_path: Path) -> None:
    root, index = tmp_path / "repo", tmp_path / "index"
    root.mkdir()
    build = index_worker.Build(index, "key", root)
    child = index_worker.start(build, [], [], detached=False)
    os.kill(child.pid, signal.SIGSTOP)  # as slow as on a busy machine
    assert index_worker.is_building(index)
    with pytest.raises(BlockingIOError):
        index_worker.start(build, [], [], detached=False)
    os.kill(child.pid, signal.SIGCONT)
    child.wait(60)
    assert not index_worker.is_building(index)
    index_worker.end(child, detached=False)


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
from tui_agent.context.repomap import indexer, index_worker
find, index_worker.FILE_S = indexer.index_entry, 0.4
def slow(*given, **named):
    {slow}
    return find(*given, **named)
indexer.index_entry = slow
index_worker.main()
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
from tui_agent.context.repomap import indexer, index_worker
index_worker.SPLIT_BYTES = index_worker.MAX_CHUNK_BYTES = 1
find, first = indexer.index_entry, os.getpid()
def fatal(*given, **named):
    if os.getpid() != first:
        os.kill(os.getpid(), signal.SIGKILL)
    while not Path("{index}.now1").exists():
        time.sleep(0.01)
    return find(*given, **named)
indexer.index_entry = fatal
index_worker.main()
"""
    job = {"index": str(index), "key": "key", "root": str(tmp_path / "repo"), "languages": [], "gone": []}
    given = json.dumps(
        {**job, "redaction": RedactionOptions().to_json(), "detached": True, "entries": entries}
    ).encode()
    subprocess.run([sys.executable, "-c", program], input=given, check=True, timeout=60)
    (begun,) = index_worker.crashed_files(index)
    kept = open_index(index, "key")
    assert {*kept.files(), begun} == {entry.path for entry in entries} and begun not in kept.files()
    assert kept.meta("graph") == "ready"
    kept.close()


def test_the_last_pieces_of_work_are_the_smallest_so_that_two_processes_end_together() -> None:
    entries = [Entry(f"f{number}", 50_000, 0, 0) for number in range(400)]
    chunks = index_worker._split_chunks(entries)
    assert [entry for chunk in chunks for entry in chunk] == entries
    sizes = [sum(entry.size for entry in chunk) for chunk in chunks]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= sizes[0] // 4
    assert len(index_worker._split_chunks(entries[:50])) == 2


def test_a_graph_computed_while_a_file_changed_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, index = tmp_path / "repo", tmp_path / "index"
    root.mkdir()
    (root / USER).write_text("def used(): ...\n")
    entries = list(list_files(root, show_all).entries)
    ours, theirs = open_index(index, "key"), open_index(index, "key")
    indexer.update(ours, str(root), entries)
    page_rank = graph.page_rank

    def change_meanwhile(edges: graph.Edges) -> list[float]:
        indexer.update(theirs, str(root), entries)
        return page_rank(edges)

    with monkeypatch.context() as patch:
        patch.setattr(graph, "page_rank", change_meanwhile)
        graph.write_graph(ours)
    assert ours.meta("graph") == ""
    graph.write_graph(ours)
    assert ours.meta("graph") == "ready"
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("\n\ndef load_basket(): ...\n", "ready"),
        ("def load_basket(): return ship_of_no_file()\ndef load_of_no_other_file(): ...\n", "ready"),
        ("def load_basket(): send_receipt()\n", ""),
        ("def load_baskets(): ...\n", ""),
        ("\0", ""),
        (None, ""),
    ],
)
def test_an_edit_outdates_the_graph_only_if_it_concerns_names_of_other_files(
    tmp_path: Path, text: str | None, state: str
) -> None:
    (tmp_path / "basket.py").write_text("def load_basket(): ...\n")
    (tmp_path / "receipt.py").write_text("def send_receipt(): load_basket()\n")
    index = open_index(tmp_path / "index", "key")
    indexer.update(index, str(tmp_path), [Entry("basket.py", 0, 0, 0), Entry("receipt.py", 0, 0, 0)])
    graph.write_graph(index)
    if text is None:
        indexer.update(index, str(tmp_path), [], ["basket.py"])
    else:
        (tmp_path / "basket.py").write_text(text)
        indexer.update(index, str(tmp_path), [Entry("basket.py", 1, 1, 1)])
    assert index.meta("graph") == state
    index.close()


def test_a_worker_that_ends_before_it_writes_the_graph_leaves_it_outdated(tmp_path: Path) -> None:
    index = tmp_path / "index"
    (tmp_path / "gone.py").write_text("def load_basket(): ...\n")
    kept = open_index(index, "key")
    indexer.update(kept, str(tmp_path), [Entry("gone.py", 0, 0, 0)])
    graph.write_graph(kept)
    child = index_worker.start(index_worker.Build(index, "key", tmp_path), [], ["gone.py"], detached=False)
    child.communicate(timeout=60)  # the worker finds its input closed
    assert not kept.files()
    assert kept.meta("graph") == ""
    kept.close()
