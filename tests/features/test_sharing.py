"""What leaves a session from the command line: exports, a bundle of its files, and the files after any part."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.checkpoints import git, snapshot
from tests.stubs.golden import golden_session
from tests.stubs.kept_folder import KeptFolder
from tui_agent.cli.main import main
from tui_agent.export.trajectory.parquet import read_rows, read_trace
from tui_agent.export.trajectory.trajectory_file import read_session_trace
from tui_agent.store.redaction.redactor import Redactor

Call = Callable[..., tuple[int, str, str]]
SCRIPT = """\
answers:
  - calls: [{list_directory: {}}]
  - calls: [{write_file: {path: b.txt, content: "one\\n"}}]
  - calls: [{bash: {command: "echo two >> b.txt"}}]
  - text: Done.
"""


def run_in(place: Path, *words: str) -> int:
    return main([*words, "--data-dir", str(place / "data")])


def at_home(place: Path, patch: pytest.MonkeyPatch) -> None:
    """In the folder's workspace, with the folder's home and nothing of whoever runs the tests."""
    patch.setenv("HOME", str(place / "home"))
    patch.chdir(place / "work")


@pytest.fixture(scope="module")
def three_calls(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    """A workspace with one file, after a session in which three calls were made."""
    place = tmp_path_factory.mktemp("three-calls")
    (place / "work").mkdir()
    (place / "work" / "a.txt").write_text("hello\n")
    (place / "s.yaml").write_text(SCRIPT)
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        at_home(place, patch)
        words = ("--model", f"scripted:{place / 's.yaml'}", "--policy", "bypass")
        assert run_in(place, "run", "go", *words) == 0, said.getvalue()
    return KeptFolder(place, tmp_path_factory.mktemp("kept") / "three-calls")


@pytest.fixture
def tmp_path(three_calls: KeptFolder) -> Path:
    return three_calls.again()


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run the program in that workspace."""
    at_home(tmp_path, monkeypatch)

    def run(*words: str) -> tuple[int, str, str]:
        status = run_in(tmp_path, *words)
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.mark.slow
def test_the_workspace_after_any_part(call: Call, tmp_path: Path) -> None:
    found = []
    for part in range(-1, 7):
        dest = tmp_path / f"after{part}"
        status, _, err = call("checkout-part", "latest", str(part), str(dest))
        assert status == 0, err
        b = dest / "b.txt"
        found.append(b.read_text() if b.exists() else None)
        assert (dest / "a.txt").read_text() == "hello\n"
    # call, result, call, result of the write, call, result of the command, words
    assert found == [None, None, None, None, "one\n", "one\n", "one\ntwo\n", "one\ntwo\n"]
    status, _, err = call("checkout-part", "latest", "7", str(tmp_path / "none"))
    assert (status, (tmp_path / "none").exists()) == (2, False)
    assert "has no part 7. Its parts are 0 to 6." in err
    assert "Part -1 means the files as they were before the first part." in err


@pytest.mark.slow
def test_a_checkout_needs_an_empty_folder_and_works_without_the_workspace(call: Call, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("mine")
    status, _, err = call("checkout-part", "latest", "3", str(full))
    assert (status, "not empty" in err) == (1, True)
    assert [path.name for path in full.iterdir()] == ["mine"]
    status, _, err = call("checkout-part", "latest", "3", str(full / "mine"))
    assert (status, f"{full / 'mine'} is a file" in err) == (2, True)
    (tmp_path / "work").rename(tmp_path / "gone")
    status, _, err = call("checkout-part", "latest", "3", str(tmp_path / "out"), "-C", str(tmp_path))
    assert (status, (tmp_path / "out" / "b.txt").read_text()) == (0, "one\n")


def test_a_bundle_is_cloned_with_a_commit_for_each_part_that_changed_files(
    call: Call, tmp_path: Path
) -> None:
    status, _, err = call(
        "sessions", "export", "latest", "--format", "bundle", "-o", str(tmp_path / "r.bundle")
    )
    assert status == 0, err
    git(tmp_path, "clone", "-q", "r.bundle", "clone")
    said = git(tmp_path / "clone", "log", "--reverse", "--format=%s").splitlines()
    assert said[1:] == ["agent: part 3", "command: part 5"]
    assert snapshot(tmp_path / "clone") == snapshot(tmp_path / "work")


def test_a_trajectory_has_a_row_for_each_part_and_the_commits_of_its_bundle(
    call: Call, tmp_path: Path
) -> None:
    status, out, err = call("sessions", "export", "latest", "--format", "trajectory", "--json")
    assert status == 0, err
    folder = Path(json.loads(out)["path"])
    assert folder.parent == tmp_path / "data" / "trajectories"
    assert sorted(path.name for path in folder.iterdir()) == ["repo.bundle", "trace.parquet"]
    trace = read_trace(folder / "trace.parquet")
    assert trace.run.bundle_uri == "repo.bundle"
    assert [part.part_type for part in trace.parts] == [*["tool_use", "tool_result"] * 3, "text"]
    changed = {part.part: part.repo_checkpoint for part in trace.parts if part.repo_checkpoint}
    assert {part: point.changed_files for part, point in changed.items()} == {3: ("b.txt",), 5: ("b.txt",)}
    assert changed[5].patch == "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1,2 @@\n one\n+two\n"
    git(tmp_path, "clone", "-q", str(folder / "repo.bundle"), "clone")
    assert git(tmp_path / "clone", "log", "-2", "--format=%H").split() == [
        changed[5].commit_after,
        changed[3].commit_after,
    ]
    status, _, err = call("sessions", "export", "latest", "--format", "trajectory", "--redact")
    assert (status, "would change the commits" in err) == (2, True)
    assert call("sessions", "export", "latest", "--format", "trajectory", "-o", str(tmp_path))[0] == 0, err
    assert len(list(tmp_path.glob("ses_*/trace.parquet"))) == 1


@pytest.fixture
def trace_file(call: Call, tmp_path: Path) -> Path:
    """The trajectory's file of the session with three calls."""
    status, out, err = call("sessions", "export", "latest", "--format", "trajectory", "--json")
    assert status == 0, err
    return Path(json.loads(out)["path"]) / "trace.parquet"


def test_a_session_with_tests_has_a_graph_on_the_terminal_and_in_files(
    call: Call,
    tmp_path: Path,
) -> None:
    folder = golden_session(tmp_path / "golden", "night_shift")
    status, out, err = call("eval", "graph", str(folder))
    assert status == 0, err
    lines = out.splitlines()
    assert (lines[0][:4], lines[8][:4]) == ("32 │", " 0 └")
    assert [line.split()[:5] for line in lines[-2:]] == [
        ["41", "2", "31", "of", "32"],
        ["46", "2", "32", "of", "32"],
    ]
    points = json.loads(call("eval", "graph", str(folder), "--json")[1])["points"]
    assert [(point["part"], point["passed"]) for point in points] == [(41, 31), (46, 32)]
    for name, start in (("a.svg", "<svg"), ("a.html", "<!doctype html>")):
        assert call("eval", "graph", str(folder), "-o", str(tmp_path / name))[0] == 0
        assert (tmp_path / name).read_text().startswith(start)
    status, _, err = call("eval", "graph", str(folder), "-o", str(tmp_path / "a.png"))
    assert (status, "neither .svg nor .html" in err) == (2, True)


def test_a_file_that_is_behind_or_cut_short_is_brought_up_to_its_session(
    call: Call,
    tmp_path: Path,
    trace_file: Path,
) -> None:
    assert "no tests were run" in call("eval", "graph", str(trace_file))[1]
    trace_file.write_bytes(trace_file.read_bytes()[:-30])
    status, _, err = call("eval", "graph", str(trace_file))
    assert status == 0
    assert f"{trace_file} is not a complete parquet file" in err
    assert "The file was rebuilt from the session's log." in err
    assert len(read_rows(trace_file)) == 7
    trace_file.write_bytes(trace_file.read_bytes()[:-30])
    (tmp_path / "data" / "sessions").rename(tmp_path / "away")
    status, _, err = call("eval", "graph", str(trace_file))
    assert (status, "is not a complete parquet file" in err) == (2, True)


@pytest.mark.slow
def test_the_files_after_a_part_come_from_the_session_or_from_the_bundle(
    call: Call,
    tmp_path: Path,
    trace_file: Path,
) -> None:
    found = []
    for number, place in enumerate(("latest", str(trace_file))):
        for part in ("-1", "3", "5"):
            dest = tmp_path / f"{number}{part}"
            status, _, err = call("eval", "graph", place, "--part", part, "--checkout-dest", str(dest))
            assert status == 0, err
            b = dest / "b.txt"
            found.append(b.read_text() if b.exists() else None)
    assert found == [None, "one\n", "one\ntwo\n"] * 2
    status, _, err = call("eval", "graph", "latest", "--part", "3")
    assert (status, "--part and --checkout-dest must be given together" in err) == (2, True)


@pytest.mark.slow_variants
@pytest.mark.parametrize("form", ["markdown", "html", "jsonl", "bundle", "archive"])
def test_an_export_goes_to_a_new_file_in_the_documents_and_never_into_the_workspace(
    call: Call, tmp_path: Path, form: str
) -> None:
    before = snapshot(tmp_path / "work")
    (tmp_path / "home" / "Documents").mkdir(parents=True)
    paths = []
    for _ in range(2):
        status, out, err = call("sessions", "export", "latest", "--format", form, "--json")
        assert status == 0, err
        paths.append(Path(json.loads(out)["path"]))
    assert paths[0] != paths[1]
    assert all(path.parent == tmp_path / "home" / "Documents" and path.stat().st_size for path in paths)
    assert snapshot(tmp_path / "work") == before
    status, _, err = call("sessions", "export", "latest", "--format", form, "-o", str(paths[0]))
    assert (status, "already" in err) == (2, True)
    status, out, _ = call("sessions", "export", "latest", "--format", form, "-o", str(tmp_path), "--json")
    assert Path(json.loads(out)["path"]).parent == tmp_path, "-o may name a folder"


def test_text_formats_go_to_standard_output_too(call: Call) -> None:
    status, out, _ = call("sessions", "export", "latest", "--format", "markdown", "-o", "-")
    assert status == 0
    assert "**write** `b.txt`" in out
    assert "+two" in out  # what the command did to the file
    status, _, err = call("sessions", "export", "latest", "--format", "archive", "-o", "-")
    assert (status, "no" in err) == (2, True)


def test_an_archive_brings_conversation_and_files_to_another_machine(call: Call, tmp_path: Path) -> None:
    archive = str(tmp_path / "s.tar.gz")
    assert call("sessions", "export", "latest", "--format", "archive", "-o", archive)[0] == 0
    (tmp_path / "data" / "sessions").rename(tmp_path / "away")
    status, out, err = call("sessions", "import", archive, "--json")
    assert status == 0, err
    session = json.loads(out)["session"]
    assert call("checkout-part", session, "3", str(tmp_path / "after"))[0] == 0
    assert (tmp_path / "after" / "b.txt").read_text() == "one\n"
    again = json.loads(call("sessions", "import", archive, "--json")[1])
    assert again["session"] != session == again["exported_as"]
    status, out, _ = call("trace", again["session"])
    assert "Done." in out
    status, out, err = call("run", "more", "--session", again["session"], "--policy", "plan")
    assert "session: " + again["session"] in err


def test_an_archive_without_files_holds_none(call: Call, tmp_path: Path) -> None:
    archive = str(tmp_path / "s.tar.gz")
    assert call("sessions", "export", "latest", "--format", "archive", "--no-files", "-o", archive)[0] == 0
    listed = subprocess.run(["tar", "tzf", archive], capture_output=True, text=True, check=True).stdout
    assert "events.jsonl" in listed
    assert "repo.bundle" not in listed


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_trace_names_every_part_with_its_checkpoint(call: Call) -> None:
    found = rows(call("trace", "latest", "--parts", "--json")[1])
    assert [row["part"] for row in found] == list(range(7))
    assert [row["part"] for row in found if row["changed_files"]] == [3, 5]
    assert all(row["commit"] for row in found)
    assert call("trace", "latest", "--parts")[1].count("\n") == 7


def test_the_trace_measures_output_context_and_distances(call: Call, tmp_path: Path) -> None:
    found = json.loads(call("trace", "latest", "--json")[1])
    assert {
        "raw_output_chars",
        "stored_artifacts",
        "largest_output_chars",
        "compression_ratio",
        "context_estimated_tokens",
        "context_compression_count",
        "hot_observation_count",
        "cold_summary_chars",
        "seconds_to_first_edit",
        "search_to_edit_parts",
        "edit_to_test_parts",
        "first_target_read_part",
        "repomap_uses",
        "repomap_injections",
        "memory_updates",
        "model_retry_count",
        "context_budget_reduced_count",
        "context_budget_dropped_blocks",
        "context_budget_total_chars",
        "context_budget_total_budget",
    } <= set(found)
    assert found["artifact_integrity"] == {"ok": True, "problems": []}
    [folder] = (tmp_path / "data" / "sessions").iterdir()
    blob = next((folder / "blobs").iterdir())
    blob.write_bytes(b"something else")
    found = json.loads(call("trace", "latest", "--json")[1])["artifact_integrity"]
    assert (found["ok"], blob.name[:12] in " ".join(found["problems"])) == (False, True)


@pytest.mark.slow
def test_a_limit_of_parts_counts_over_the_session_and_a_used_up_one_stops_at_once(
    call: Call, tmp_path: Path
) -> None:
    script = ("-m", f"scripted:{tmp_path / 's.yaml'}", "--policy", "bypass")
    found = []
    for more in (("--max-parts", "3"), ("--continue",), ("--continue", "--max-parts", "6")):
        status, out, _ = call("run", "go", *script, "--stream", "--json", *more)
        newest = max((tmp_path / "data" / "sessions").iterdir(), key=lambda folder: folder.name)
        end = read_session_trace(newest, Redactor()).run.session_end
        assert end is not None
        found.append((status, [row["part"] for row in rows(out)], end.reason, end.total_parts))
    assert found == [
        (3, [0, 1, 2], "part_limit", 3),
        (3, [], "part_limit", 3),
        (0, [3, 4, 5], "finished", 6),
    ]


@pytest.mark.slow
def test_parts_are_told_while_the_run_goes_on(tmp_path: Path) -> None:
    """The command waits for the test, and the test for the line of the part before it."""
    os.mkfifo(tmp_path / "gate")
    script = tmp_path / "wait.yaml"
    script.write_text(
        "answers:\n  - calls: [{list_directory: {}}]\n  - calls: [{bash: {command: 'cat gate'}}]\n  - text: Done.\n"
    )
    words = ["run", "go", "--stream", "-m", f"scripted:{script}", "--policy", "bypass", "-C", str(tmp_path)]
    environ = {**os.environ, "HOME": str(tmp_path), "TUI_AGENT_HOME": str(tmp_path / "data")}
    started = subprocess.Popen(
        [sys.executable, "-m", "tui_agent", *words], stdout=subprocess.PIPE, text=True, env=environ
    )
    assert started.stdout is not None
    seen = [started.stdout.readline() for _ in range(3)]
    assert [line.split()[0] for line in seen] == ["0", "1", "2"]
    assert started.poll() is None
    (tmp_path / "gate").write_text("go on")
    rest = started.stdout.read()
    started.stdout.close()
    assert started.wait(30) == 0
    assert "tool_result" in rest


@pytest.mark.slow
def test_the_same_answers_make_the_same_parts_whichever_adapter_brings_them(
    call: Call, tmp_path: Path
) -> None:
    first = rows(call("trace", "latest", "--parts", "--json")[1])
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "a.txt").write_text("hello\n")
    place = ("--policy", "bypass", "-C", str(fresh), "--stream", "--json")
    [recorded] = (tmp_path / "data" / "sessions").iterdir()
    status, out, err = call("run", "go", "-m", f"replay:{recorded.name}", *place)
    assert status == 0, err
    kinds = ("part", "type", "role", "name", "turn")
    assert [[row[kind] for kind in kinds] for row in rows(out)] == [
        [row[kind] for kind in kinds] for row in first
    ]
