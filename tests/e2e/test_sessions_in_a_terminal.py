"""Sessions in a pseudo terminal: chosen, found, held by another window, and taken up again after `kill -9`."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.killing import engine_of
from tests.e2e.terminal import YES, Terminal
from tests.stubs.golden import GOLDEN

pytestmark = pytest.mark.e2e

NIGHT = "ses_0000000000000aaa"
WRITES = """
answers:
  - text: I write it.
    calls: [{write_file: {path: new.txt, content: "one\\ntwo\\n"}}]
  - text: All settled.
"""
WRITES_LATER = """
answers:
  - calls: [{run_command: {command: "until [ -e ready ]; do sleep 0.05; done"}}]
  - calls: [{write_file: {path: new.txt, content: "one"}}]
  - text: All settled.
  - text: That too.
"""
ASKED = b'"kind":"permission.requested"'
Start = Callable[..., Terminal]


@pytest.fixture
def recorded(program: Program, mock: tuple[str, ...]) -> str:
    """A session of this workspace, and one of another time and place; the id of the first."""
    assert program.run_in_process("run", "hello there", *mock).returncode == 0
    folder = program.data / "sessions" / NIGHT
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    (mine,) = [
        json.loads(line)["id"]
        for line in program.run_in_process("sessions", "list", "--json").stdout.splitlines()
    ]
    return str(mine)


def killed(terminal: Terminal) -> None:
    terminal.process.kill()
    terminal.process.wait()


def test_resume_without_an_id_finds_a_session_and_opens_it(
    start: Start, program: Program, mock: tuple[str, ...], recorded: str
) -> None:
    size = (80, 24)
    log = program.data / "sessions" / recorded / "events.jsonl"
    with start("--resume", *mock, size=size) as terminal:
        terminal.until(
            lambda screen: "Hello from the mock" in screen and "timesheet" in screen, "both sessions"
        )
        terminal.send("midnight")
        terminal.until(
            lambda screen: "1 of 2" in screen and "Hello from the mock" not in screen, "the one with the word"
        )
        terminal.send("\x1b")
        terminal.until_text("Hello from the mock")
        terminal.send("hello")
        terminal.until_text("1 of 2")
        terminal.send("\r")
        terminal.until_text("Last answer")
        terminal.send("\r")
        terminal.until(lambda screen: "turn 1" in screen and "1 of 2" not in screen, "the session")
        terminal.send("/rename a better name\r")
        terminal.until(lambda _: b"a better name" in log.read_bytes(), "the name in the log")
        killed(terminal)
    with start("--resume", *mock, size=size) as terminal:
        terminal.until_text("a better name")
        terminal.send("\x1b")
        terminal.until_text("Ask for a change")
        terminal.send("/session ses_mistyped\r")
        terminal.until_text("No session ses_mistyped.")


def test_a_session_is_renamed_and_deleted_from_the_list(
    start: Start, program: Program, mock: tuple[str, ...], recorded: str
) -> None:
    with start("--resume", *mock) as terminal:
        terminal.until_text("hello there")
        terminal.send("hello")
        terminal.until_text("1 of 2")
        terminal.send("\x1b[Bn\x15other words\r")
        terminal.until_text("to other words")
        terminal.send("\x1b\x1b")
        terminal.until_text("2 sessions")
        killed(terminal)
    with start("--resume", *mock) as terminal:
        terminal.until_text("other words")
        terminal.send("other")
        terminal.until_text("1 of 2")
        terminal.send("\x1b[B\x1b[3~")
        terminal.until_text("Delete this session?")
        terminal.press_until(YES, lambda screen: "Deleted other words" in screen, "the session to go")
        terminal.until_text("1 session ")
    assert not (program.data / "sessions" / recorded).exists()


def test_a_second_window_looks_on_at_a_held_session(
    start: Start, mock: tuple[str, ...], recorded: str
) -> None:
    with start("--session", recorded, *mock) as first:
        first.until_text("turn 1")
        with start("--session", recorded, *mock) as second:
            second.until_text("3  Watch")
            second.press_until("3", lambda screen: "REPLAY" in screen, "the replay")
            second.until_text("Hello from the mock.")
            first.send("once more\r")
            first.until_text("turn 2")
            second.until_text("once more")
            second.send("\x1b")
            second.until_text("no session")


def log_of(program: Program) -> bytes:
    """The only session's log; empty where there is none yet."""
    return b"".join(log.read_bytes() for log in program.data.glob("sessions/*/events.jsonl"))


def outcome_of(program: Program) -> tuple[object, object]:
    """How the newest session stands, and which calls wait in it."""
    shown = json.loads(program.run_in_process("sessions", "preview", "latest", "--json").stdout)
    return shown["outcome"], shown["waiting"]["approval"]


@pytest.mark.parametrize("whom", ["app", "engine", pytest.param("both", marks=pytest.mark.soak)])
def test_what_is_asked_at_a_kill_is_asked_again_until_it_is_answered_and_runs_once(
    start: Start, program: Program, whom: str
) -> None:
    script, new = program.home / "script.yaml", program.workspace / "new.txt"
    script.write_text(WRITES)
    words = ("-m", f"scripted:{script}")
    with start(*words, "write it") as terminal:
        terminal.until_text("this once")
        assert outcome_of(program) == ("waiting", ["write new.txt"])
        if whom != "app":
            os.kill(engine_of(terminal.process.pid), signal.SIGKILL)
        if whom == "engine":
            terminal.until_text("engine ended")
            count = log_of(program).count(ASKED)
            terminal.press_until(YES, lambda _: log_of(program).count(ASKED) > count, "the question")
        killed(terminal)
    if whom == "app":  # the question of a killed engine has come again already, in the same app
        assert not new.exists()
        with start(*words, "--continue") as terminal:
            terminal.until_text("this once")
            assert outcome_of(program) == ("waiting", ["write new.txt"])
            killed(terminal)
    assert not new.exists()
    with start(*words, "--continue") as terminal:
        terminal.until_text("this once")
        assert not new.exists()
        # With a draft in the prompt, the first press only chooses the answer.
        terminal.press_until("y", lambda screen: "All settled." in screen, "the end", again_s=3)
        assert new.read_text() == "one\ntwo\n"
        killed(terminal)
    assert log_of(program).count(b'"kind":"tool.started"') == 1


def test_what_was_queued_and_typed_beside_a_question_comes_back_with_it(
    start: Start, program: Program
) -> None:
    script, ready = program.home / "script.yaml", program.workspace / "ready"
    script.write_text(WRITES_LATER)
    words = ("-m", f"scripted:{script}")
    with start(*words, "write it") as terminal:
        terminal.until_text("this once")
        terminal.press_until(YES, lambda _: b'"tool.started"' in log_of(program), "the command")
        terminal.send("go on later\t")
        terminal.until(lambda _: b"go on later" in log_of(program), "the queued message")
        terminal.send("half a thought")
        drafts = program.data / "sessions"
        terminal.until(
            lambda _: any(b"half a thought" in one.read_bytes() for one in drafts.glob("*/draft")),
            "the draft",
        )
        ready.touch()
        terminal.until_text("new.txt, a new file")
        killed(terminal)
    with start(*words, "--continue") as terminal:
        terminal.until_text("new.txt, a new file")
        terminal.until_text("half a thought")
        assert log_of(program).count(b'"kind":"user.message"') == 1
        terminal.press_until(
            "y", lambda _: b"All settled." in log_of(program), "the end of the turn", again_s=3
        )
        terminal.until(lambda _: log_of(program).count(b'"kind":"user.message"') == 2, "the queued message")
        terminal.until(lambda screen: "go on later" in screen and "half a thought" in screen, "both")
        killed(terminal)


def test_half_streamed_words_are_kept_after_a_kill(
    start: Start, program: Program, mock: tuple[str, ...]
) -> None:
    with start(*mock, "go scenario-slow") as terminal:
        terminal.until(lambda screen: "1." in screen, "an answer")
        log = next(Path(program.data / "sessions").glob("*/events.jsonl"))
        terminal.until(lambda _: b'"model.delta"' in log.read_bytes(), "words in the log")
        killed(terminal)
    with start(*mock, "--continue") as terminal:
        terminal.until(lambda screen: "1." in screen and "go scenario-slow" in screen, "what had come")
