"""Sessions in a pseudo terminal: chosen, found, held by another window, and taken up again after `kill -9`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal
from tests.stubs.golden import GOLDEN

pytestmark = pytest.mark.e2e

NIGHT = "ses_0000000000000aaa"
WRITES = """
answers:
  - text: I write it.
    calls: [{write_file: {path: new.txt, content: "one\\ntwo\\n"}}]
  - text: All settled.
"""
Start = Callable[..., Terminal]


@pytest.fixture
def start(program: Program) -> Start:
    def begin(*words: str, size: tuple[int, int] = (120, 40)) -> Terminal:
        line = program.line(*words)
        return Terminal(line, size=size, cwd=program.workspace, environment=program.environment)

    return begin


@pytest.fixture
def recorded(program: Program, mock: tuple[str, ...]) -> str:
    """A session of this workspace, and one of another time and place; the id of the first."""
    assert program.run("run", "hello there", *mock).returncode == 0
    folder = program.data / "sessions" / NIGHT
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    (mine,) = [
        json.loads(line)["id"] for line in program.run("sessions", "list", "--json").stdout.splitlines()
    ]
    return str(mine)


def killed(terminal: Terminal) -> None:
    terminal.process.kill()
    terminal.process.wait()


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_resume_without_an_id_finds_a_session_and_opens_it(
    start: Start, program: Program, mock: tuple[str, ...], recorded: str, size: tuple[int, int]
) -> None:
    log = program.data / "sessions" / recorded / "events.jsonl"
    with start("--resume", *mock, size=size) as terminal:
        terminal.until(lambda screen: "hello there" in screen and "timesheet" in screen, "both sessions")
        terminal.send("midnight")
        terminal.until(
            lambda screen: "1 of 2" in screen and "hello there" not in screen, "the one with the word"
        )
        terminal.send("\x1b")
        terminal.until_text("hello there")
        terminal.send("hello")
        terminal.until_text("1 of 2")
        if size[0] < 100:
            terminal.send("\r")
            terminal.until_text("Last answer")
        terminal.send("\r")
        terminal.until(lambda screen: "turn 1" in screen and "1 of 2" not in screen, "the session")
        terminal.send("/session a better name\r")
        terminal.until_text("is called a better name now")
        terminal.until(lambda _: b"a better name" in log.read_bytes(), "the name in the log")
        killed(terminal)
    with start("--resume", *mock, size=size) as terminal:
        terminal.until_text("a better name")
        terminal.send("\x1b")
        terminal.until_text("Ask for a change")
        terminal.send("/session ses_mistyped\r")
        terminal.until_text("There is no session ses_mistyped.")


def test_a_session_is_renamed_and_deleted_from_the_list(
    start: Start, program: Program, mock: tuple[str, ...], recorded: str
) -> None:
    with start("--resume", *mock) as terminal:
        terminal.until_text("hello there")
        terminal.send("hello")
        terminal.until_text("1 of 2")
        terminal.send("\x1b[Bn\x15other words\r")
        terminal.until_text("is called other words now")
        terminal.send("\x1b\x1b")
        terminal.until_text("2 sessions")
        killed(terminal)
    with start("--resume", *mock) as terminal:
        terminal.until_text("other words")
        terminal.send("other")
        terminal.until_text("1 of 2")
        terminal.send("\x1b[B\x1b[3~")
        terminal.until_text("Delete this session?")
        terminal.press_until("y", lambda screen: "other words is gone" in screen, "the session to go")
        terminal.until_text("1 session ")
    assert not (program.data / "sessions" / recorded).exists()


def test_a_second_window_looks_on_at_a_held_session(
    start: Start, mock: tuple[str, ...], recorded: str
) -> None:
    with start("--session", recorded, *mock) as first:
        first.until_text("turn 1")
        with start("--session", recorded, *mock) as second:
            second.until_text("Enter look on (read only)")
            second.press_until("\r", lambda screen: "REPLAY" in screen, "the replay")
            second.until_text("Hello from the mock.")
            first.send("once more\r")
            first.until_text("turn 2")
            second.until_text("once more")
            second.send("\x1b")
            second.until_text("no session")


def test_a_kill_while_something_is_asked_runs_nothing_and_tells(start: Start, program: Program) -> None:
    script = program.home / "script.yaml"
    script.write_text(WRITES)
    with start("-m", f"scripted:{script}", "write it") as terminal:
        terminal.until_text("this once")
        shown = json.loads(program.run("sessions", "preview", "latest", "--json").stdout)
        assert (shown["outcome"], shown["waiting"]["approval"]) == ("waiting", ["write new.txt"])
        killed(terminal)
    with start("-m", f"scripted:{script}", "--continue") as terminal:
        terminal.until(lambda screen: "write it" in screen and "stopped" in screen, "how it stands")
        killed(terminal)
    listed = json.loads(program.run("sessions", "list", "--json").stdout)
    assert listed["outcome"] == "stopped" and not (program.workspace / "new.txt").exists()


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
