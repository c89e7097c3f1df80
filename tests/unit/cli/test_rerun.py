"""`replay --rerun`: the loop again on what was recorded, and where it parts from it."""

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from tests.stubs.golden import golden
from tests.stubs.kept_folder import KeptFolder
from tui_agent.cli.main import main
from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.comparison.divergence import first_difference, split_turns
from tui_agent.protocol.commands import DecidePermission, Interrupt, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.session.clock import SystemClock
from tui_agent.store.log_reader import read_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore
from tui_agent.wiring.session import open_session

Call = Callable[..., tuple[int, str]]
SCRIPT = """
answers:
  - text: I look around.
    calls:
      - {write_todos: {todos: [{content: Look, status: in_progress}, {content: Write, status: pending}]}}
      - {list_directory: {path: .}}
      - {read_file: {path: a.txt}}
      - {read_file: {path: missing.txt}}
  - text: I write it, and run something that nobody allows.
    calls:
      - {write_file: {path: new.txt, content: "one\\ntwo\\n"}}
      - {run_command: {command: "rm -f ran.txt"}}
  - text: Done.
"""


def run_in(place: Path, *words: str) -> int:
    return main([*words, "--data-dir", str(place / "data")])


@pytest.fixture(scope="module")
def a_turn(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    """A folder in which a session had a turn."""
    place = tmp_path_factory.mktemp("a-turn")
    work = place / "work"
    work.mkdir()
    (work / "a.txt").write_text("some words\n" * 2_000)
    script = place / "script.yaml"
    script.write_text(SCRIPT)
    words = ("-C", str(work), "-m", f"scripted:{script}", "--policy", "accept-edits")
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        patch.setenv("HOME", str(place / "home"))
        run_in(place, "run", "write new.txt", *words)
    assert (work / "new.txt").is_file()
    return KeptFolder(place, tmp_path_factory.mktemp("kept") / "a-turn")


@pytest.fixture
def tmp_path(a_turn: KeptFolder) -> Path:
    """The folder as it was after it."""
    return a_turn.again()


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def run(*words: str) -> tuple[int, str]:
        status = run_in(tmp_path, *words)
        return status, capsys.readouterr().out

    return run


def session(tmp_path: Path) -> Path:
    return next((tmp_path / "data" / "sessions").glob("ses_*"))


def altered(tmp_path: Path, change: Callable[[Any], Any]) -> str:
    """A copy of the session, told otherwise."""
    folder = session(tmp_path)
    log = SessionStore(tmp_path / "data" / "sessions", SystemClock(), Redactor()).create("ses_altered")
    shutil.copytree(folder / "blobs", log.folder / "blobs", dirs_exist_ok=True)
    for record in read_records(folder):
        assert isinstance(record, Envelope)
        log.append(change(record.payload), agent=record.agent)
    log.close()
    return "ses_altered"


@pytest.mark.slow
def test_a_turn_that_went_on_without_a_message_comes_out_the_same(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "short.yaml"
    script.write_text("answers:\n  - calls:\n      - {list_directory: {path: .}}\n  - text: One file.\n")
    place = ("-C", str(tmp_path / "work"), "-m", f"scripted:{script}", "--session", "ses_on")
    assert call("run", "what is here?", *place, "--max-iterations", "1")[0] == 3
    assert "One file." in call("run", "--go-on", *place, "--max-iterations", "9")[1]
    status, out = call("replay", "ses_on", "--rerun", "--json")
    assert (status, json.loads(out)["turns"]) == (0, 2), out


def test_a_session_comes_out_the_same_and_nothing_is_done_again(call: Call, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "new.txt").unlink()
    before = (session(tmp_path) / "events.jsonl").read_bytes()
    status, out = call("replay", "latest", "--rerun", "--json")
    said = json.loads(out)
    assert status == 0 and said["divergence"] is None and said["turns"] == 1 and said["events"] > 25
    assert sorted(path.name for path in work.iterdir()) == ["a.txt"]
    assert (session(tmp_path) / "events.jsonl").read_bytes() == before


def test_the_files_need_not_be_there_any_more(call: Call, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "work")
    status, out = call("replay", "latest", "--rerun", "-C", str(tmp_path))
    assert status == 0 and "no differences in 1 turn with" in out


def test_the_first_event_that_is_another_is_told(call: Call, tmp_path: Path) -> None:
    def change(payload: Any) -> Any:
        if isinstance(payload, ToolCalled) and payload.name == "write_file":
            return payload.model_copy(update={"target": "elsewhere.txt"})
        return payload

    status, out = call("replay", altered(tmp_path, change), "--rerun", "--json")
    found = json.loads(out)["divergence"]
    assert status == 1
    assert (found["recorded"], found["field"]) == ("tool.called", "target")
    assert (found["old_value"], found["new_value"]) == ("elsewhere.txt", "new.txt")
    status, out = call("replay", "ses_altered", "--rerun")
    assert status == 1 and "target\n    was 'elsewhere.txt'\n    now 'new.txt'" in out


def test_a_result_that_is_missing_is_a_divergence_and_no_tool_runs_for_it(call: Call, tmp_path: Path) -> None:
    def change(payload: Any) -> Any:
        if isinstance(payload, ToolFinished) and payload.name == "write_file":
            return payload.model_copy(update={"call_id": "call_other"})
        return payload

    status, out = call("replay", altered(tmp_path, change), "--rerun", "--json")
    assert status == 1 and json.loads(out)["divergence"]["recorded"] == "file.changed"


def test_a_turn_that_began_with_a_map_has_it_again(call: Call, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for number in range(9):
        (work / f"m{number}.py").write_text(f"def part_{number}():\n    pass\n")
    script = tmp_path / "mapped.yaml"
    script.write_text("answers:\n  - text: Nine parts.\n  - text: Nine.\n")
    place = ("-C", str(work), "-m", f"scripted:{script}", "--session", "ses_mapped")
    assert "Nine parts." in call("run", "what are the parts?", *place)[1]
    assert "Nine." in call("run", "how many?", *place)[1]
    records = read_records(session(tmp_path).with_name("ses_mapped"))
    assert "repomap.used" in [one.payload.kind for one in records if isinstance(one, Envelope)]
    status, out = call("replay", "ses_mapped", "--rerun", "--json")
    assert (status, json.loads(out)["turns"]) == (0, 2), out


@pytest.mark.slow
def test_a_fork_in_the_midst_of_a_turn_goes_on_the_same(call: Call, tmp_path: Path) -> None:
    records = read_records(session(tmp_path))
    asked = next(one for one in records if isinstance(one, Envelope) and isinstance(one.payload, ToolCalled))
    words = ("--at", str(asked.seq), "--result", "nothing is here", "--here", "--json")
    forked = json.loads(call("sessions", "fork", session(tmp_path).name, *words)[1])["id"]
    script = tmp_path / "on.yaml"
    script.write_text("answers:\n" + "  - text: I went on.\n" * 3)
    place = ("-C", str(tmp_path / "work"), "-m", f"scripted:{script}", "--session", forked)
    assert "I went on." in call("run", "--go-on", *place)[1]
    status, out = call("replay", forked, "--rerun", "--json")
    assert (status, json.loads(out)["turns"]) == (0, 1), out


@pytest.mark.slow
def test_a_turn_with_a_delegate_is_taken_over(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "delegating.yaml"
    script.write_text(
        """
answers:
  - calls:
      - {spawn_subtask: {prompt: Count the files.}}
  - text: There is one.
  - text: As I said.
"""
    )
    place = ("-C", str(tmp_path / "work"), "-m", f"scripted:{script}", "--session", "ses_spawned")
    call("run", "how many files?", *place, "--policy", "bypass")
    call("run", "sure?", *place)
    status, out = call("replay", "ses_spawned", "--rerun", "--json")
    said = json.loads(out)
    assert said["taken_over"] == [{"turn": 1, "why": "a delegate worked in it"}], out
    assert (status, said["turns"]) == (0, 1), out


async def leave_open(options: SessionOptions) -> None:
    """Leave a session while it asks."""
    async with open_session(options) as held:
        follower = held.follow()
        held.submit(SubmitPrompt(text="write new.txt"))
        while True:
            for record in await follower.next_batch():
                if isinstance(record, Envelope) and isinstance(record.payload, PermissionRequested):
                    return


@pytest.mark.slow
def test_a_turn_that_goes_on_from_an_open_question_gets_its_own_answers(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "asked.yaml"
    script.write_text(SCRIPT)
    work = tmp_path / "work"
    (work / "new.txt").unlink()
    options = SessionOptions(
        cwd=work,
        data_dir=tmp_path / "data",
        model=f"scripted:{script}",
        policy="ask",
        interactive=True,
        session="ses_left",
    )
    anyio.run(leave_open, options)
    place = ("-C", str(work), "-m", f"scripted:{script}", "--session", "ses_left")
    assert "Done." in call("run", "--go-on", *place, "--policy", "accept-edits")[1]
    status, out = call("replay", "ses_left", "--rerun", "--json")
    said = json.loads(out)
    assert (status, said["turns"], len(said["taken_over"])) == (0, 1, 1), out


async def talk(options: SessionOptions) -> None:
    """Two turns: the first is stopped at its question, in the second the user allows one call and denies the next."""
    async with open_session(options) as held:
        follower = held.follow()
        ends = asked = 0
        held.submit(SubmitPrompt(text="write new.txt"))
        while ends < 2:
            for record in await follower.next_batch():
                payload = record.payload if isinstance(record, Envelope) else None
                if isinstance(payload, TurnFinished):
                    ends += 1
                    if ends == 1:
                        held.submit(SubmitPrompt(text="again"))
                elif isinstance(payload, PermissionRequested) and not ends:
                    held.submit(Interrupt())
                elif isinstance(payload, PermissionRequested):
                    asked += 1
                    decision: Literal["allow", "deny"] = "allow" if asked == 1 else "deny"
                    held.submit(
                        DecidePermission(request_id=payload.request_id, decision=decision, message="hm")
                    )


@pytest.mark.slow
def test_what_the_user_decided_is_decided_again_and_a_stopped_turn_is_taken_over(
    call: Call, tmp_path: Path
) -> None:
    lines = SCRIPT.splitlines()
    script = tmp_path / "asked.yaml"
    script.write_text("\n".join([*lines[:-1], *lines[8:], ""]))
    shutil.rmtree(tmp_path / "data")
    options = SessionOptions(
        cwd=tmp_path / "work",
        data_dir=tmp_path / "data",
        model=f"scripted:{script}",
        policy="ask",
        interactive=True,
    )
    (tmp_path / "work" / "new.txt").unlink()
    anyio.run(talk, options)
    kinds = [
        record.payload.kind for record in read_records(session(tmp_path)) if isinstance(record, Envelope)
    ]
    assert kinds.count("permission.requested") == 3
    _, out = call("replay", "latest", "--rerun", "--json")
    said = json.loads(out)
    assert said["divergence"] is None, said["divergence"]
    assert said["taken_over"] == [{"turn": 1, "why": "it was stopped"}] and said["turns"] == 1


def test_turns_are_cut_where_messages_begin_and_turns_end() -> None:
    found, rest = split_turns(golden("night_shift"))
    assert [turn.events[0].payload.kind for turn in found] == ["user.message"] * 2
    assert [turn.events[-1].payload.kind for turn in found] == ["turn.finished"] * 2
    assert first_difference(found[0].events, found[0].events) is None
    parted = first_difference(found[0].events, found[1].events)
    assert parted is not None and parted.field == "text"
    assert [event.payload.kind for event in rest] == ["agent.state_changed"]
