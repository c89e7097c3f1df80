"""The app in a pseudo terminal: real keys, a real engine process, a stand-in model over HTTP."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import YES, Terminal

pytestmark = pytest.mark.e2e

Start = Callable[..., Terminal]
LEAVING = ("\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l", "\x1b[?1006l")
"""Back to the normal screen, the cursor shown, pasting and the mouse as they were."""

WRITES = """
answers:
  - text: I write it.
    calls: [{write_file: {path: new.txt, content: "one\\ntwo\\n"}}]
  - text: All settled.
"""


@pytest.fixture
def start(program: Program) -> Start:
    def begin(*words: str, size: tuple[int, int] = (120, 40)) -> Terminal:
        return Terminal(
            program.line(*words), size=size, cwd=program.workspace, environment=program.environment
        )

    return begin


def clean(terminal: Terminal) -> bool:
    tail = terminal.output[-4000:].decode("utf-8", "replace")
    return all(mode in tail for mode in LEAVING)


def leave(terminal: Terminal) -> int:
    terminal.send("\x03")
    terminal.until_text("again")
    terminal.send("\x03")
    return terminal.until_end()


PAPER = b"48;2;251;250;247"
"""The background of the theme `day`."""


@pytest.mark.smoke
def test_a_light_terminal_gets_the_light_theme_and_its_report_is_no_text(
    start: Start, mock: tuple[str, ...]
) -> None:
    with start(*mock) as terminal:
        terminal.screen.osc = lambda text: (  # type: ignore[attr-defined]
            "\x1b]11;rgb:ffff/ffff/ffff\x1b\\" if text == "11;?" else None
        )
        terminal.until_text("Ask for a change")
        terminal.until(lambda _: PAPER in terminal.output, "the light theme")
        asked = terminal.output.index(b"\x1b]11;?")
        assert terminal.output.index(b"48;2;21;24;28") < asked < terminal.output.index(PAPER)
        terminal.send("\x1b]11;rgb:0000/0000/0000\x07hello")
        terminal.until_text("hello")
        assert "rgb" not in terminal.text


def test_a_message_is_answered_and_leaving_tells_how_to_come_back(
    start: Start, mock: tuple[str, ...], program: Program
) -> None:
    with start(*mock, size=(80, 24)) as terminal:
        terminal.until_text("Ask for a change")
        terminal.send("hello\r")
        terminal.until_text("Hello from the mock.")
        terminal.until_text("turn 1")
        assert leave(terminal) == 0
        assert clean(terminal)
        assert "Hello from the mock." in terminal.text
        assert "--sessionses_" in "".join(terminal.text.split()), (
            "the line may be broken where the screen ends"
        )
        assert "Ask for a change" not in terminal.text
    assert '"title": "Hello from the mock"' in program.run_in_process("sessions", "list", "--json").stdout


@pytest.mark.smoke
def test_a_first_message_on_the_command_line_is_sent(start: Start, mock: tuple[str, ...]) -> None:
    with start(*mock, "hello there") as terminal:
        terminal.until_text("Hello from the mock.")


@pytest.mark.smoke
def test_an_approval_shows_what_will_be_written_and_asks(start: Start, program: Program) -> None:
    script = program.home / "script.yaml"
    script.write_text(WRITES)
    with start("-m", f"scripted:{script}", "write it") as terminal:
        shown = terminal.until_text("this once")
        assert "+ one" in shown
        assert "new.txt" in shown
        assert not (program.workspace / "new.txt").exists()
        terminal.press_until(YES, lambda screen: "this once" not in screen, "the approval to close")
        terminal.until_text("All settled.")
    assert (program.workspace / "new.txt").read_text() == "one\ntwo\n"


def test_a_refusal_leaves_the_files_alone(start: Start, program: Program) -> None:
    script = program.home / "script.yaml"
    script.write_text(WRITES)
    with start("-m", f"scripted:{script}", "write it") as terminal:
        terminal.until_text("this once")
        terminal.read_for(1.0)  # An Esc before the approval could be read would stop the turn.
        terminal.press_until("\x1b", lambda screen: "this once" not in screen, "the approval to close")
        terminal.until_text("denied")
    assert not (program.workspace / "new.txt").exists()


def test_alt_enter_is_a_new_line(start: Start, mock: tuple[str, ...]) -> None:
    with start(*mock) as terminal:
        terminal.until_text("Ask for a change")
        terminal.send("first\x1b\rsecond")
        both = terminal.until(lambda screen: "first" in screen and "second" in screen, "two lines")
        assert "turn 1" not in both
        terminal.send("\r")
        terminal.until_text("Hello from the mock.")


def test_escape_interrupts_a_streaming_answer(start: Start, mock: tuple[str, ...]) -> None:
    with start(*mock, "go scenario-slow") as terminal:
        terminal.until(lambda screen: "1." in screen, "an answer")
        terminal.send("\x1b")
        terminal.until_text("stopped here")
        terminal.send("go scenario-default\r")
        terminal.until_text("Hello from the mock.")


@pytest.mark.smoke
def test_a_killed_app_is_taken_up_with_what_was_said(
    start: Start, mock: tuple[str, ...], program: Program
) -> None:
    with start(*mock, "go scenario-slow") as terminal:
        terminal.until(lambda screen: "1." in screen, "an answer")
        terminal.process.kill()
        terminal.process.wait()
    with start(*mock, "--continue") as terminal:
        shown = terminal.until_text("go scenario-slow")
        assert "Ask for a change" in shown
        terminal.send("go scenario-default\r")
        terminal.until_text("Hello from the mock.")
    kinds = program.run_in_process("sessions", "show", "latest").stdout
    assert "run.resumed" in kinds


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.smoke)])
def test_a_signal_leaves_a_clean_terminal(
    start: Start, mock: tuple[str, ...], number: signal.Signals
) -> None:
    with start(*mock) as terminal:
        terminal.until_text("Ask for a change")
        os.kill(terminal.process.pid, number)
        terminal.until_end()
        assert clean(terminal)
        assert "Traceback" not in terminal.text


def test_without_a_model_the_app_opens_and_says_what_can_be_done(start: Start) -> None:
    with start() as terminal:
        shown = terminal.until_text("No model is set up yet")
        assert "Traceback" not in shown


def test_small_terminals_are_survived_and_may_grow(start: Start, mock: tuple[str, ...]) -> None:
    with start(*mock, size=(20, 5)) as terminal:
        for size in ((40, 8), (60, 20), (120, 40)):
            terminal.until(lambda screen: bool(screen.strip()), "anything")
            terminal.resize(*size)
        terminal.until_text("Ask for a change")
        terminal.send("hello\r")
        terminal.until_text("Hello from the mock.")


def test_an_error_of_the_command_line_draws_nothing(start: Start, tmp_path: Path) -> None:
    with start("--max-parts", "none") as terminal:
        assert terminal.until_end() == 2
        assert "--max-parts" in terminal.text
        assert b"\x1b[?1049h" not in terminal.output


def test_a_demo_plays_in_the_app(start: Start) -> None:
    with start("demo", "bugfix") as terminal:
        terminal.until_text("The demo sent the agent a message")
        terminal.until_text("rm -r reports")
        while "Fixed." not in terminal.text:
            terminal.until(
                lambda screen: "this once" in screen or "Fixed." in screen, "an approval or the end"
            )
            if "this once" in terminal.text:
                terminal.press_until(YES, lambda screen: "this once" not in screen, "the approval to close")
        assert "$" not in terminal.text.splitlines()[0]
        terminal.until_text("REPLAY")
