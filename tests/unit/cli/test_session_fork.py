"""`sessions fork`: where a fork works, with which files, and what is different in it."""

import fcntl
import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.checkpoints import git
from tests.stubs.kept_folder import KeptFolder
from tui_agent.cli.main import main
from tui_agent.session.clock import SystemClock
from tui_agent.session.fork_workspace import load_state
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

Call = Callable[..., tuple[int, str, str]]
SCRIPT = """
answers:
  - text: I write it.
    calls:
      - {write_file: {path: new.txt, content: "one\\n"}}
      - {read_file: {path: a.txt}}
  - text: And another.
    calls:
      - {write_file: {path: more.txt, content: "two\\n"}}
  - text: Done.
  - text: Hello.
"""
OTHER = """
answers:
  - text: not asked
  - text: I see it otherwise.
    calls:
      - {write_file: {path: other.txt, content: "three\\n"}}
      - {run_command: {command: "rm -f ran.txt"}}
  - text: Done otherwise.
"""


def run(place: Path, *words: str) -> int:
    return main([*words, "--data-dir", str(place)])


@pytest.fixture(scope="session")
def two_turns(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    """A folder in which a session had two turns: no test need run them again."""
    place = tmp_path_factory.mktemp("two-turns")
    work = place / "work"
    work.mkdir()
    (work / "a.txt").write_text("as found\n")
    for name, text in (("script", SCRIPT), ("other", OTHER)):
        (place / f"{name}.yaml").write_text(text)
    words = ("--session", "ses_a", "-m", f"scripted:{place / 'script.yaml'}", "--policy", "accept-edits")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        patch.setenv("HOME", str(place / "home"))
        patch.chdir(work)
        assert run(place, "run", "write it", *words) == 0
        assert run(place, "run", "hi", *words) == 0
    return KeptFolder(place, tmp_path_factory.mktemp("kept") / "two-turns")


@pytest.fixture
def tmp_path(two_turns: KeptFolder) -> Path:
    """The folder as it was after them."""
    return two_turns.again()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


def log(tmp_path: Path, session: str = "ses_a") -> list[dict[str, Any]]:
    store = SessionStore(tmp_path / "sessions", SystemClock(), Redactor())
    return [record.model_dump(mode="json") for record in store.read(session)]  # type: ignore[union-attr]


def seq_of(tmp_path: Path, kind: str, number: int = 1, **fields: object) -> int:
    """The event of this kind, with these fields, that comes as the so-manieth."""
    found = [
        one["seq"]
        for one in log(tmp_path)
        if one["payload"]["kind"] == kind
        and all(one["payload"][name] == value for name, value in fields.items())
    ]
    return int(found[number - 1])


def made(answer: tuple[int, str, str]) -> dict[str, Any]:
    status, out, err = answer
    assert status == 0, err
    one: dict[str, Any] = json.loads(out)
    return one


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.name != ".git"}


def test_a_folder_holds_the_files_as_they_were_at_the_event(call: Call, tmp_path: Path, work: Path) -> None:
    at = seq_of(tmp_path, "checkpoint.taken", 2)
    (work / "a.txt").write_text("mine by now\n")
    one = made(call("sessions", "fork", "ses_a", "--at", str(at), "--folder", "../try", "--json"))
    assert one["workspace"] == str(tmp_path / "try")
    assert one["changed"] == {"workspace": str(tmp_path / "try"), "workspace_kind": "copy"}
    assert files(tmp_path / "try") == {"a.txt": "as found\n", "new.txt": "one\n"}
    assert files(work) == {"a.txt": "mine by now\n", "more.txt": "two\n", "new.txt": "one\n"}
    status, out, _ = call("run", "again", "--session", one["id"], "-m", f"scripted:{tmp_path / 'other.yaml'}")
    assert status in (0, 4), out
    assert files(tmp_path / "try")["other.txt"] == "three\n", "the fork works there"
    assert "other.txt" not in files(work)


@pytest.mark.slow
def test_inside_a_call_a_fork_starts_after_it_with_the_file_that_it_wrote(call: Call, tmp_path: Path) -> None:
    changed, taken = seq_of(tmp_path, "file.changed"), seq_of(tmp_path, "checkpoint.taken", 2)
    one = made(call("sessions", "fork", "ses_a", "--at", str(changed), "--json"))
    assert one["seq"] == taken > changed
    assert one["note"] == (
        f"Event {changed} is inside a tool call. The fork starts after that call, because files are recorded only between calls."
    )
    assert files(Path(one["workspace"])) == {"a.txt": "as found\n", "new.txt": "one\n"}
    status, out, _ = call("sessions", "fork", "ses_a", "--at", str(changed))
    assert (status, f"a fork of ses_a after event {taken}" in out) == (0, True)
    status, _, err = call("sessions", "revert", one["id"], "--to", str(seq_of(tmp_path, "user.message") - 1))
    assert status == 0, err
    assert files(Path(one["workspace"])) == {"a.txt": "as found\n"}, "an undo removes it"
    told = made(call("sessions", "fork", "ses_a", "--at", str(changed), "--message", "Stop.", "--json"))
    assert told["seq"] == taken, "a new message comes after the call"


def test_before_a_call_that_never_ended_a_fork_starts_without_its_file(call: Call, tmp_path: Path) -> None:
    started, changed = seq_of(tmp_path, "tool.started"), seq_of(tmp_path, "file.changed")
    path = tmp_path / "sessions" / "ses_a" / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if json.loads(line)["seq"] <= changed))
    one = made(call("sessions", "fork", "ses_a", "--at", str(changed), "--json"))
    assert one["seq"] == started - 1 and "starts before that call" in one["note"]
    assert files(Path(one["workspace"])) == {"a.txt": "as found\n"}
    assert not [event for event in log(tmp_path, one["id"]) if event["payload"]["kind"] == "file.changed"]


@pytest.mark.slow
def test_at_every_event_a_fork_has_the_files_that_its_events_say(call: Call, tmp_path: Path) -> None:
    for event in log(tmp_path):
        one = made(call("sessions", "fork", "ses_a", "--at", str(event["seq"]), "--json"))
        written = {
            fork_event["payload"]["path"]
            for fork_event in log(tmp_path, one["id"])
            if fork_event["payload"]["kind"] == "file.changed"
        }
        assert set(files(Path(one["workspace"]))) - {"a.txt"} == written, event


def test_by_default_a_fork_works_in_an_own_folder_with_the_files_of_the_event(
    call: Call, tmp_path: Path, work: Path
) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    (work / "a.txt").write_text("mine by now\n")
    one = made(call("sessions", "fork", "ses_a", "--at", at, "--json"))
    assert one["workspace"] == str(Path(one["path"]) / "workspace")
    assert files(Path(one["workspace"])) == {"a.txt": "as found\n", "new.txt": "one\n"}
    assert made(call("sessions", "fork", "ses_a", "--at", at, "--here", "--json"))["workspace"] == str(work)


def test_before_the_first_checkpoint_the_files_are_those_that_the_session_found(
    call: Call, tmp_path: Path, work: Path
) -> None:
    for at, has_note in ((seq_of(tmp_path, "user.message"), False), (1, True)):
        folder = tmp_path / f"try-{at}"
        status, out, _ = call("sessions", "fork", "ses_a", "--at", str(at), "--folder", str(folder))
        assert status == 0
        assert ("The fork gets the files from the start of the session." in out) == has_note
        assert files(folder) == {"a.txt": "as found\n"}


@pytest.mark.slow
def test_without_any_checkpoint_they_are_those_of_the_workspace_now(
    call: Call, tmp_path: Path, work: Path
) -> None:
    for event in log(tmp_path):
        if event["payload"]["kind"] == "user.message":
            made(call("sessions", "fork", "ses_a", "--at", str(event["seq"]), "--here", "--json"))
            break
    store = SessionStore(tmp_path / "sessions", SystemClock(), Redactor())
    (fork,) = (one for one in store.list() if one.id != "ses_a")
    store.remove("ses_a", None)
    status, out, _ = call("sessions", "fork", fork.id, "--at", at_end(store, fork.id), "--folder", "../try")
    assert status == 0
    assert "The fork gets the workspace's current files." in out
    assert files(tmp_path / "try") == files(work)


@pytest.mark.parametrize("option", ["--folder", "--worktree"])
def test_at_the_end_of_an_open_session_the_files_are_the_present_ones(
    call: Call, tmp_path: Path, work: Path, option: str
) -> None:
    git(work, "init", "-q", "-b", "main")
    git(work, "commit", "-q", "--allow-empty", "-m", "one")
    (work / "a.txt").write_text("changed by hand\n")
    (work / "by_hand.txt").write_text("mine\n")
    present = files(work)

    def fork_files(event: int, name: str) -> dict[str, str]:
        words = ("sessions", "fork", "ses_a", "--at", str(event), f"{option}={tmp_path / name}", "--json")
        made(call(*words, "--data-dir", str(tmp_path)))
        return files(tmp_path / name)

    end, turn = log(tmp_path)[-1]["seq"], seq_of(tmp_path, "turn.finished")
    recorded = {**present, "a.txt": "as found\n"}
    del recorded["by_hand.txt"]
    with (tmp_path / "sessions" / "ses_a" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert fork_files(end, "at-end") == present
        assert fork_files(turn, "earlier") == recorded
    assert fork_files(end, "closed") == recorded


def at_end(store: SessionStore, session: str) -> str:
    return str(store.read(session)[-1].seq)


def test_where_no_folder_can_be_made_no_fork_is(call: Call, tmp_path: Path, work: Path) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    status, _, err = call("sessions", "fork", "ses_a", "--at", at, "--folder", str(work))
    assert (status, "is not empty" in err) == (1, True)
    status, _, err = call("sessions", "fork", "ses_a", "--at", "9999", "--folder", "../try")
    assert (status, "no event 9999" in err) == (1, True)
    status, _, err = call(
        "sessions", "fork", "ses_a", "--at", at, "--folder", "../try", "--model", "scripted:/no"
    )
    assert (status, "/no" in err) == (2, True)
    assert not (tmp_path / "try").exists()
    assert len(list((tmp_path / "sessions").glob("ses_*"))) == 1


def test_another_result_is_that_of_the_call_that_the_event_belongs_to(call: Call, tmp_path: Path) -> None:
    finished = seq_of(tmp_path, "tool.finished", name="read_file")
    one = made(call("sessions", "fork", "ses_a", "--at", str(finished), "--result", "otherwise", "--json"))
    assert one["changed"]["result"] == "otherwise"
    assert one["seq"] < finished
    state = load_state(Path(one["path"]))
    assert [call.call_id for call in state.open_calls] == [one["changed"]["call_id"]]
    writes = seq_of(tmp_path, "tool.finished", 2, name="write_file")
    one = made(call("sessions", "fork", "ses_a", "--at", str(writes), "--result", "otherwise", "--json"))
    assert one["seq"] == seq_of(tmp_path, "tool.started", 3) - 1, "a call that writes has not written there"
    answered = seq_of(tmp_path, "model.responded", 2)
    one = made(call("sessions", "fork", "ses_a", "--at", str(answered), "--result", "x", "--json"))
    assert one["seq"] == answered, "only one call is open there"
    first = seq_of(tmp_path, "model.responded")
    status, _, err = call("sessions", "fork", "ses_a", "--at", str(first), "--result", "x")
    assert (status, "Several tool calls were unfinished" in err) == (2, True)
    ended = seq_of(tmp_path, "turn.finished")
    status, _, err = call("sessions", "fork", "ses_a", "--at", str(ended), "--result", "x")
    assert (status, "not waiting for a tool result" in err) == (2, True)
    status, _, err = call(
        "sessions", "fork", "ses_a", "--at", str(finished), "--result", "x", "--message", "y"
    )
    assert status == 2


@pytest.mark.slow
def test_another_message_stands_where_the_old_one_did_and_go_on_sends_it(call: Call, tmp_path: Path) -> None:
    second = seq_of(tmp_path, "user.message", 2)
    one = made(call("sessions", "fork", "ses_a", "--at", str(second), "--message", "bye", "--json"))
    assert one["seq"] == second - 1
    status, out, err = call("run", "--go-on", "--session", one["id"])
    assert (status, "Hello." in out) == (0, True), err
    told = [
        event["payload"]["text"]
        for event in log(tmp_path, one["id"])
        if event["payload"]["kind"] == "user.message"
    ]
    assert told == ["write it", "bye"]
    status, _, err = call("run", "--go-on", "--session", one["id"])
    assert (status, "The agent has answered" in err) == (2, True)


@pytest.mark.parametrize("size", [3, 200_000])
def test_a_dash_reads_the_new_message_from_standard_input(
    call: Call, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("ü" * size))
    second = seq_of(tmp_path, "user.message", 2)
    fork = made(call("sessions", "fork", "ses_a", "--at", str(second), "--message", "-", "--json"))
    forked = next(
        event for event in log(tmp_path, fork["id"]) if event["payload"]["kind"] == "session.forked"
    )
    message = forked["payload"]["changes"]["message"]
    assert message == "ü" * size or message["size"] == 2 * size


@pytest.mark.parametrize("words", [("--go-on",), ("--go-on", "prompt", "--session", "ses_a"), ()])
def test_going_on_wants_a_session_and_no_prompt(
    call: Call, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))  # an empty pipe
    status, _, err = call("run", *words)
    assert (status, err.count("\n")) == (2, 1)


def test_a_fork_leaves_its_parent_byte_for_byte_as_it_is(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "ses_a"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    at = seq_of(tmp_path, "checkpoint.taken", 2)
    change = ("--model", f"scripted:{tmp_path / 'other.yaml'}", "--context-mode", "memory")
    one = made(call("sessions", "fork", "ses_a", "--at", str(at), *change, "--folder", "../try", "--json"))
    call("run", "--go-on", "--session", one["id"])
    assert "Done otherwise." in json.dumps(log(tmp_path, one["id"]))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_fork_of_a_repository_says_that_its_folder_has_no_git(
    call: Call, tmp_path: Path, work: Path
) -> None:
    git(work, "init", "-q")
    places = ("--at", "40", "--data-dir", str(tmp_path))
    note = "The fork's folder has no .git, so git does not work there. To use git, fork into a git work tree."
    _, out, _ = call("sessions", "fork", "ses_a", *places, "--json")
    fork = json.loads(out)
    assert (fork["note"], fork["changed"]["workspace_kind"]) == (note, "copy_without_git")
    _, out, _ = call("sessions", "fork", "ses_a", *places)
    assert note in out.splitlines()
    _, out, _ = call("sessions", "fork", fork["id"], *places, "--json")
    assert json.loads(out)["note"] == "", "the fork itself has no repository to fork into"
    git(work, "commit", "-qm", "empty", "--allow-empty")
    _, out, _ = call("sessions", "fork", "ses_a", *places, "--worktree", "../tree", "--json")
    assert json.loads(out)["changed"]["workspace_kind"] == "worktree"
    (work.parent / "other").mkdir()
    git(work.parent / "other", "init", "-q")
    _, out, _ = call("sessions", "fork", "ses_a", *places, "--folder", "../other/fork", "--json")
    assert json.loads(out)["note"] == "", "git works in a folder inside another repository"


def test_a_fork_says_which_large_files_it_did_not_get(call: Call, tmp_path: Path, work: Path) -> None:
    places = ("--data-dir", str(tmp_path))
    _, out, _ = call("sessions", "fork", "ses_a", "--at", "40", "--json", *places)
    assert json.loads(out)["note"] == ""
    for name in ("data.bin", "ignored/too.bin"):
        (work / name).parent.mkdir(exist_ok=True)
        with (work / name).open("wb") as file:
            file.truncate(6_000_000)
    expected = f"Left out: 1 file over 5 MB (6 MB in total) in data.bin. To use them, copy them from {work}."
    _, out, _ = call("sessions", "fork", "ses_a", "--at", "40", "--json", *places)
    assert json.loads(out)["note"] == expected
    _, out, _ = call("sessions", "fork", "ses_a", "--at", "40", *places)
    assert expected in out.splitlines()
