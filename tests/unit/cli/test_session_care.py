"""Forking, checking and removing sessions from the command line."""

import sqlite3
import subprocess
from pathlib import Path

import anyio
import pytest

from tests.unit.cli.conftest import Call, json_lines
from tui_agent.config.paths import find_paths
from tui_agent.export.formats import FORMATS, TEXT_FORMATS
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.clock import SystemClock
from tui_agent.session.fork_workspace import load_state
from tui_agent.store.log_line import seal_line
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

SETTINGS = SessionSettings(model=ModelInfo(profile="demo", provider="scripted", model="demo"))


def sessions(root: Path) -> SessionStore:
    return SessionStore(root / "sessions", SystemClock(), Redactor())


def talked(root: Path, work: Path, name: str = "ses_a") -> SessionStore:
    store = sessions(root)
    log = store.create(name)
    log.append(SessionStarted(workspace=str(work), product="p", settings=SETTINGS))
    for text in ("one", "two " + "x" * 9_000, "three"):
        log.append(UserMessageReceived(text=text))
    log.close()
    return store


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@localhost")
    subprocess.run(("git", *who, *words), cwd=folder, check=True, capture_output=True)


def test_a_fork_is_made_and_how_to_open_it_is_said(call: Call, tmp_path: Path, work: Path) -> None:
    store = talked(tmp_path, work)
    status, out, _ = call("sessions", "fork", "latest", "--at", "2", "--here", "--json")
    (made,) = json_lines(out)
    assert (status, made["parent"], made["seq"], made["workspace"]) == (0, "ses_a", 2, str(work))
    assert [record.seq for record in store.read(made["id"])] == [0, 1, 2, 3]
    _, out, _ = call("sessions", "fork", "ses_a", "--at", "1")
    assert "tui-agent --session ses_" in out
    status, _, err = call("sessions", "fork", "ses_a", "--at", "77")
    assert status != 0
    assert "no event 77" in err


def test_the_list_names_a_fork_by_where_it_started(call: Call, tmp_path: Path, work: Path) -> None:
    store = talked(tmp_path, work)
    log = store.open("ses_a")
    log.append(SessionTitled(title="add --notes", titled_by="user"))
    log.close()
    call("sessions", "fork", "ses_a", "--at", "4", "--here", "--json")
    _, out, _ = call("sessions", "list")
    titles = {row.split()[0] == "ses_a": row for row in out.splitlines() if row.startswith("ses_")}
    assert titles[True].endswith("add --notes")
    assert titles[False].endswith("add --notes, fork at 4")


def test_removing_asks_and_where_nobody_can_be_asked_says_so(
    call: Call, tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = talked(tmp_path, work)
    _, out, _ = call("sessions", "fork", "ses_a", "--at", "2", "--json")
    fork = json_lines(out)[0]["id"]
    status, _, err = call("sessions", "rm", "ses_a")
    assert status == 2
    assert "--yes" in err
    assert len(store.list()) == 2
    status, out, _ = call("sessions", "rm", "ses_a", "--yes")
    assert (status, [summary.id for summary in store.list()]) == (0, [fork])
    assert "Deleted ses_" in out
    assert [record.seq for record in store.read(fork)] == [0, 1, 2, 3]
    assert call("sessions", "verify", fork)[0] == 0


def test_what_was_said_is_found_in_this_workspace_or_in_all(call: Call, tmp_path: Path, work: Path) -> None:
    talked(tmp_path, work)
    talked(tmp_path, tmp_path, "ses_b")
    status, out, _ = call("sessions", "search", "thre", "--json")
    (found,) = json_lines(out)
    assert (status, found["session"], found["seq"], found["kind"]) == (0, "ses_a", 3, "user.message")
    assert found["snippet"] == "three"
    _, out, _ = call("sessions", "search", "three", "--all")
    assert [line.split()[0] for line in out.splitlines()] == ["ses_b", "ses_a"]
    status, out, _ = call("sessions", "search", "nowhere")
    assert (status, "--all" in out) == (1, True)
    status, out, _ = call("sessions", "reindex", "--json")
    assert (status, json_lines(out)[0]["sessions"]) == (0, 2)


def test_a_search_that_another_process_keeps_from_the_newest_says_so(
    call: Call, tmp_path: Path, work: Path
) -> None:
    store = talked(tmp_path, work)
    _, out, err = call("sessions", "search", "three", "--json")
    assert (json_lines(out)[0]["behind"], err) == (False, "")
    writer = sqlite3.connect(store.index.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        talked(tmp_path, work, "ses_b")
        status, out, err = call("sessions", "search", "three", "--json")
    finally:
        writer.close()
    assert (status, [(one["session"], one["behind"]) for one in json_lines(out)]) == (0, [("ses_a", True)])
    assert err.startswith("tui-agent: Another process is using the session index") and err.count("\n") == 1


def test_verify_says_what_is_wrong(call: Call, tmp_path: Path, work: Path) -> None:
    store = talked(tmp_path, work)
    talked(tmp_path, work, "ses_b")
    store.fork("ses_a", 2, "ses_c")
    status, out, _ = call("sessions", "verify", "--all")
    assert (status, out) == (0, "No problems in 3 sessions.\n")
    path = store.folder("ses_a") / "events.jsonl"
    content = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(content[0] + content[1].replace(b"one", b"eno") + b"".join(content[2:]) + b'{"v":2')
    (blob,) = (store.folder("ses_b") / "blobs").iterdir()
    blob.unlink()
    status, out, _ = call("sessions", "verify", "--all", "--json")
    problems = {line["id"]: line["problems"] for line in json_lines(out)}
    assert status == 1
    assert problems["ses_a"] == [
        "Line 2 of the log is damaged.",
        "The log ends in an incomplete line of 6 B.",
        "Event 1 is missing.",
    ]
    assert problems["ses_b"] == [f"A text of event 2 is missing or damaged ({blob.name[:12]})."]
    assert problems["ses_c"] == ["Event 1 is missing."]
    path.write_bytes(content[0])
    _, out, _ = call("sessions", "verify", "ses_c")
    assert "forked from ses_a, whose event 2 is missing" in out


def test_prune_shows_first_and_removes_only_when_told(call: Call, tmp_path: Path, work: Path) -> None:
    store = talked(tmp_path, work)
    empty = store.create("ses_empty")
    empty.append(SessionStarted(workspace=str(work), product="p", settings=SETTINGS))
    empty.close()
    store.fork("ses_a", 2, "ses_fork")
    held = store.create("ses_held")
    orphan = store.folder("ses_a") / "blobs" / ("0" * 64)
    orphan.write_bytes(b"nobody names it")
    (store.root / ".removed-ses_x").mkdir()
    status, out, _ = call("sessions", "prune", "--json")
    found = {(line["session"], line["kind"]) for line in json_lines(out)}
    assert status == 0
    assert found == {("ses_empty", "empty"), ("ses_a", "texts"), ("ses_x", "rest")}
    assert orphan.exists()
    _, out, _ = call("sessions", "prune")
    assert "To remove it, add --yes" in out
    status, out, _ = call("sessions", "prune", "--yes")
    assert status == 0
    assert not orphan.exists()
    assert sorted(path.name for path in store.root.iterdir()) == ["ses_a", "ses_fork", "ses_held"]
    held.close()
    assert call("sessions", "verify", "ses_fork")[0] == 0
    _, out, _ = call("sessions", "prune", "--older-than", "0.0000001", "--json")
    assert {line["session"] for line in json_lines(out) if line["kind"] == "old"} == {"ses_a", "ses_fork"}


def test_prune_names_the_configured_limit_of_checkpoints(call: Call, tmp_path: Path, work: Path) -> None:
    config = find_paths(work, {"HOME": str(tmp_path / "home")}).user_config
    config.parent.mkdir(parents=True)
    config.write_text("[checkpoints]\ntotal_mb = 50\n")
    _, out, _ = call("sessions", "prune")
    assert out.endswith("The checkpoints of each session can grow by up to 50 MB.\n")


@pytest.mark.slow
def test_a_fork_has_its_parents_checkpoints_also_when_that_is_gone(
    call: Call, tmp_path: Path, work: Path
) -> None:
    git(work, "init", "-q")
    for name, text in (("kept.txt", "old"), ("gone.txt", "to be removed")):
        (work / name).write_text(text)
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    store = talked(tmp_path, work)
    folder = store.folder("ses_a")

    async def change() -> str:
        shadow = GitCheckpoints(work, folder / "checkpoints.git")
        await shadow.begin("")
        (work / "kept.txt").write_text("new")
        (work / "gone.txt").unlink()
        (work / "more.txt").write_text("more")
        return await shadow.commit(await shadow.find_changes(), part=1, author="agent", message="m")

    commit = anyio.run(change)
    log = store.open("ses_a")
    at = log.append(CheckpointTaken(part=1, commit=commit)).seq
    log.close()
    (work / "kept.txt").write_text("newer")
    _, out, _ = call("sessions", "fork", "ses_a", "--at", str(at), "--worktree", "../tree", "--json")
    (made,) = json_lines(out)
    tree = tmp_path / "tree"
    assert made["workspace"] == str(tree)
    files = {path.name: path.read_text() for path in tree.iterdir() if path.name != ".git"}
    assert files == {"kept.txt": "new", "more.txt": "more"}
    assert load_state(store.folder(made["id"])).workspace == str(tree)
    assert (work / "kept.txt").read_text() == "newer"
    second = store.fork(made["id"], at + 1, "ses_second")
    assert second == "ses_second"
    assert call("sessions", "verify", "--all")[0] == 0
    assert call("sessions", "rm", "ses_a", "--yes")[0] == 0
    _, out, _ = call("sessions", "fork", made["id"], "--at", "2", "--worktree", "../other")
    assert "newest commit" in out
    assert (tmp_path / "other" / "gone.txt").exists()
    child = GitCheckpoints(tree, Path(made["path"]) / "checkpoints.git")

    async def read() -> bytes:
        await child.begin(commit)
        assert await child.verify() == []
        return await child.read_file(commit, "kept.txt")

    assert anyio.run(read) == b"new"


READERS = (
    *(("sessions", "export", "ses_a", "--format", form, "-o", "written") for form in FORMATS),
    *(("sessions", "export", "ses_a", "--format", form, "-o", "-") for form in TEXT_FORMATS),
    *(("sessions", verb, "ses_a") for verb in ("preview", "tree", "show")),
    ("sessions", "fork", "ses_a", "--at", "1"),
    ("sessions", "what-if", "ses_a", "--at", "1", "--message", "hi"),
    ("sessions", "revert", "ses_a", "--to", "1"),
    ("replay", "ses_a", "--headless"),
    ("replay", "ses_a", "--rerun"),
    ("trace", "ses_a"),
    ("trace", "ses_a", "--parts"),
    ("compare", "ses_a", "ses_b"),
    ("policy", "try", "rules.toml", "--session", "ses_a"),
    ("eval", "freeze", "ses_a"),
    ("run", "hi", "-m", "demo", "--session", "ses_a"),
)


@pytest.mark.slow_variants
@pytest.mark.parametrize(("version", "age"), [(1, "an older"), (99, "a newer")])
def test_every_command_that_reads_one_session_refuses_another_version_in_one_sentence(
    call: Call, tmp_path: Path, work: Path, version: int, age: str
) -> None:
    talked(tmp_path, work, "ses_b")
    path = talked(tmp_path, work).folder("ses_a") / "events.jsonl"
    unsealed = [
        line[:-18].replace(b'{"v":2', b'{"v":%d' % version) for line in path.read_bytes().splitlines()
    ]
    path.write_bytes(b"".join(map(seal_line, unsealed)))
    before = path.read_bytes()
    (work / "rules.toml").write_text("")
    refusal = (
        f"The session ses_a was written by {age} version of tui-agent (log version {version}, this one reads 2). "
        "Open it with that version, or delete it: tui-agent sessions rm ses_a\n"
    )
    for words in READERS:
        status, out, err = call(*words)
        warned = err.count("This export contains the workspace's files")
        assert (status, out, err.count("\n") - warned) == (2, "", 1) and err.endswith(
            f"tui-agent: {refusal}"
        ), words
    assert sorted(each.name for each in work.iterdir()) == ["rules.toml"]
    assert path.read_bytes() == before
    status, out, _ = call("sessions", "list")
    assert status == 0 and "(another version)" in out and "(damaged)" not in out
    _, out, err = call("query", "SELECT DISTINCT session FROM events", "--format", "csv")
    assert (out, err) == ("session\nses_b\n", f"tui-agent: Left out: {refusal}")
    status, out, _ = call("sessions", "verify", "ses_a")
    assert (status, out) == (1, f"ses_a  {refusal}")


def test_the_index_of_many_sessions_keeps_what_is_wrong_with_each(
    call: Call, tmp_path: Path, work: Path
) -> None:
    store = talked(tmp_path, work)
    path = store.folder("ses_a") / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"session.started", b"session.damaged", 1))
    store.index.rebuild(store.log_states())
    assert [summary.is_damaged for summary in store.list()] == [True]


def test_damaged_lines_that_were_stepped_over_are_told_beside_the_output(
    call: Call, tmp_path: Path, work: Path
) -> None:
    path = talked(tmp_path, work).folder("ses_a") / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"one"', b'"eno"', 1))
    told = "tui-agent: 1 damaged line was skipped in the log: line 2.\n"
    assert call("sessions", "show", "ses_a")[2] == told
    assert call("trace", "ses_a", "--json")[2] == told
    path.write_bytes(path.read_bytes().replace(b'"three"', b'"eerht"', 1))
    told = "tui-agent: 2 damaged lines were skipped in the log: lines 2, 4.\n"
    assert call("trace", "ses_a")[2] == told


def test_verify_checks_the_checkpoints_of_a_workspace_that_is_gone(
    call: Call, tmp_path: Path, work: Path
) -> None:
    git(work, "init", "-q")
    (work / "noise").write_bytes(bytes(range(256)) * 400)
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    store = talked(tmp_path, work)
    checkpoints = store.folder("ses_a") / "checkpoints.git"

    async def change() -> str:
        shadow = GitCheckpoints(work, checkpoints)
        await shadow.begin("")
        (work / "more.txt").write_text("more")
        return await shadow.commit(await shadow.find_changes(), part=1, author="agent", message="m")

    log = store.open("ses_a")
    log.append(CheckpointTaken(part=1, commit="1" * 40))
    log.append(CheckpointTaken(part=1, commit=anyio.run(change)))
    log.close()
    status, out, _ = call("sessions", "verify", "ses_a")
    assert (status, "1 of the log's checkpoints are lost" in out) == (1, True)
    work.rename(tmp_path / "elsewhere")
    status, out, _ = call("sessions", "verify", "ses_a", "--json")
    (told,) = json_lines(out)
    assert status == 1
    assert f"The checkpoints use objects from {work / '.git'}, which no longer exists" in " ".join(
        told["problems"]
    )
    (tmp_path / "elsewhere").rename(work)
    (checkpoints / "refs" / "heads" / "main").write_text("garbage")
    assert "main" in call("sessions", "verify", "ses_a")[1]
