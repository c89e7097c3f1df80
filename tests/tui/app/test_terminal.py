"""What the app says to the terminal, and how it leaves it: in a real pseudo-terminal where that counts."""

import base64
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from textual import events
from textual.message import Message

from tests.stubs.rows import rows
from tests.tui.app.driving import golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.events.turn import QuestionAsked, TurnStarted
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.app import session_to_resume
from tui_agent.tui.terminal.keyboard import KeyboardDriver, TypingBurst
from tui_agent.tui.terminal.terminal import Terminal, farewell

ROOT = Path(__file__).resolve().parents[3]


def terminal(**environ: str) -> tuple[Terminal, list[str]]:
    written: list[str] = []
    return Terminal(written.append, {"TERM": "xterm-256color", "SSH_TTY": "/dev/pts/1", **environ}), written


def test_the_title_is_pushed_once_and_popped() -> None:
    speaker, written = terminal()
    speaker.title("night\x1b]2;x\x07shift")
    speaker.title("day")
    speaker.restore()
    assert written == ["\x1b[22;2t", "\x1b]2;nightshift\x07", "\x1b]2;day\x07", "\x1b[23;2t"]


class EarlyDriver(KeyboardDriver):
    """A driver that reads a pipe until it has read this many keys."""

    def __init__(self, fileno: int, count: int) -> None:
        self.fileno, self.count, self._debug = fileno, count, False
        self.exit_event = threading.Event()
        self.keys: list[str] = []
        self.bursts: list[int] = []
        """For each burst, the number of keys before it."""

    def process_message(self, message: Message) -> None:
        self.bursts += [len(self.keys)] if isinstance(message, TypingBurst) else []
        self.keys += [message.key] if isinstance(message, events.Key) else []
        if len(self.keys) >= self.count:
            self.exit_event.set()


@rows(
    "typed, keys",
    [
        ("hi\n", ["h", "i", "enter"]),
        ("a\nb\n", ["a", "ctrl+j", "b", "enter"]),
        ("a\nb", ["a", "ctrl+j", "b"]),
        ("\n", ["enter"]),
    ],
)
def test_enter_typed_before_the_terminal_is_ready_is_enter(typed: str, keys: list[str]) -> None:
    """Until then the terminal's driver turns the carriage return of Enter into a line feed."""
    receiver, sender = os.pipe()
    try:
        os.write(sender, typed.encode())
        driver = EarlyDriver(receiver, len(keys))
        driver.run_input_thread()
        assert driver.keys == keys
    finally:
        os.close(receiver)
        os.close(sender)


@rows(
    "typed, count, bursts",
    [("yes", 3, [0]), ("y", 1, []), ("y\r", 2, []), ("\x1b[A\x1b[A", 2, []), ("\x1b[Aok", 3, [0])],
)
def test_several_characters_in_one_read_are_a_burst(typed: str, count: int, bursts: list[int]) -> None:
    receiver, sender = os.pipe()
    try:
        os.write(sender, typed.encode())
        driver = EarlyDriver(receiver, count)
        driver.run_input_thread()
        assert driver.bursts == bursts
    finally:
        os.close(receiver)
        os.close(sender)


def test_a_line_feed_typed_later_stays_one() -> None:
    receiver, sender = os.pipe()
    driver = EarlyDriver(receiver, 2)
    reader = threading.Thread(target=driver.run_input_thread)
    try:
        os.write(sender, b"a")
        reader.start()
        while not driver.keys:
            pass
        os.write(sender, b"\n")
        reader.join()
        assert driver.keys == ["a", "ctrl+j"]
    finally:
        os.close(receiver)
        os.close(sender)


def test_a_copy_goes_out_by_osc_52_and_through_tmux_wrapped() -> None:
    speaker, written = terminal()
    assert speaker.copy("héllo")
    coded = base64.b64encode("héllo".encode()).decode()
    assert written == [f"\x1b]52;c;{coded}\x07"]
    speaker, written = terminal(TMUX="/tmp/x")
    speaker.copy("a")
    assert written == ["\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"]


def test_what_a_terminal_would_drop_is_not_called_copied() -> None:
    speaker, written = terminal()
    assert not speaker.copy("x" * 200_000) and written == []


def test_plain_terminals_get_the_bell_only() -> None:
    speaker, written = terminal(TERM="linux")
    speaker.title("x")
    speaker.notify("a", "waiting")
    assert written == ["\x07"]


@pytest.mark.parametrize(
    ("environ", "kind", "sent"),
    [
        ({}, "auto", ["\x1b]9;a;b: done\x07", "\x07"]),
        ({"VTE_VERSION": "7800"}, "auto", ["\x1b]777;notify;a,b;done\x07", "\x07"]),
        ({"TERM": "foot"}, "osc9", ["\x1b]9;a;b: done\x07", "\x07"]),
        ({}, "osc777", ["\x1b]777;notify;a,b;done\x07", "\x07"]),
        ({"TMUX": "/tmp/x"}, "osc9", ["\x1bPtmux;\x1b\x1b]9;a;b: done\x07\x1b\\", "\x07"]),
        ({}, "bell", ["\x07"]),
        ({}, "desktop", ["\x1b]9;a;b: done\x07", "\x07"]),  # over ssh, the desktop is elsewhere
        ({}, "off", []),
    ],
)
def test_a_notification_is_sent_as_the_setting_says(
    environ: dict[str, str], kind: str, sent: list[str]
) -> None:
    speaker, written = terminal(**environ)
    speaker.notifications = kind
    speaker.notify("a;b", "do\x1b[31mne")
    assert written == sent


def test_the_desktop_gets_title_and_text_as_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)  # reading it waits for the program
    for program in (tmp_path / "notify-send", tmp_path / "osascript"):
        program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {told}\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    speaker, written = terminal(SSH_TTY="", WAYLAND_DISPLAY="wayland-0")
    speaker.notifications = "desktop"
    speaker.notify("--help", "done")
    assert told.read_text().endswith("|--help|done|")
    assert written == []


def test_the_farewell_has_the_answer_and_the_way_back_and_no_control_sequence() -> None:
    words = farewell("ses_1", "done\x1b[31m \u202e")
    assert words == "done\n\nTo come back:  tui-agent --session ses_1"
    assert farewell("", "") == ""


def test_the_farewell_of_a_demo_says_how_to_begin() -> None:
    words = farewell("", "done", is_demo=True)
    assert words == "done\n\nThat was the demo. To begin with a real model, run tui-agent in your own folder."


def test_the_way_back_names_the_folder_of_the_data_and_can_be_pasted() -> None:
    words = farewell("ses_1", "", data_dir=Path("/tmp/my data"))
    assert words == "To come back:  tui-agent --data-dir '/tmp/my data' --session ses_1"


def test_there_is_no_way_back_where_nothing_was_said_nor_from_a_demo(tmp_path: Path) -> None:
    options = SessionOptions(cwd=tmp_path)
    folder = tmp_path / "ses_1"
    assert session_to_resume(options, None) == session_to_resume(options, folder) == ""
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(b"{}")
    assert session_to_resume(options, folder) == "ses_1"
    assert session_to_resume(replace(options, client="demo"), folder) == ""


async def test_waiting_is_told_only_to_those_who_look_elsewhere() -> None:
    async with open_app(golden("night_shift")) as driven:
        told: list[str] = []
        driven.app.terminal.notify = lambda title, text: told.append(text)  # type: ignore[method-assign]
        question = QuestionAsked(question_id=RequestId("q"), text="?", form="text")
        driven.session.feed(TurnStarted(turn=3), question)
        await driven.settle()
        assert told == []
    async with open_app(golden("night_shift")) as driven:
        driven.app.terminal.notify = lambda title, text: told.append(text)  # type: ignore[method-assign]
        driven.app.app_focus = False
        driven.session.feed(TurnStarted(turn=3), question)
        await driven.settle()
        assert len(told) == 1 and "waiting for you" in told[0]


async def test_ctrl_c_copies_a_selection_else_says_how_to_leave_and_twice_leaves() -> None:
    async with open_app(golden("night_shift")) as driven:
        copied: list[str] = []

        def copy(text: str) -> bool:
            copied.append(text)
            return True

        driven.app.terminal.copy = copy  # type: ignore[method-assign]
        await driven.type("take this")
        driven.app.prompt.editor.select_all()
        await driven.press("ctrl+c")
        assert copied == ["take this"] and not driven.app.has_quit
        driven.app.prompt.editor.move_cursor((0, 0))
        await driven.press("ctrl+c")
        assert driven.app.prompt.editor.text == "" and not driven.app.has_quit
        await driven.press("ctrl+c")
        assert "Ctrl+C again to quit" in driven.text() and not driven.app.has_quit
        await driven.press("ctrl+c")
        assert driven.app.has_quit
        while driven.app.is_running:
            await driven.pilot.pause(0.01)
        assert driven.session.is_closed


class Tty:
    """A program in a pseudo-terminal."""

    def __init__(self, arguments: list[str], environ: dict[str, str], size: tuple[int, int]) -> None:
        self.master, slave = pty.openpty()
        ioctl(self.master, TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.child = subprocess.Popen(
            arguments,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environ,
            cwd=environ["HOME"],
            start_new_session=True,
        )
        os.close(slave)
        self.said = b""

    def until(self, wanted: bytes, seconds: float = 20.0) -> bytes:
        """Read until this was said."""
        end = time.monotonic() + seconds
        while wanted not in self.said and time.monotonic() < end:
            self.read(0.1)
        assert wanted in self.said, self.said[-2000:]
        return self.said

    def read(self, seconds: float) -> None:
        """Take what comes."""
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.said += os.read(self.master, 65536)
            except OSError:
                return

    def end(self, seconds: float = 15.0) -> int:
        """Wait for the end, reading."""
        limit = time.monotonic() + seconds
        while self.child.poll() is None and time.monotonic() < limit:
            self.read(0.05)
        for _ in range(5):
            self.read(0.05)
        return self.child.wait(1)


@contextmanager
def program(tmp_path: Path, *words: str, size: tuple[int, int] = (100, 30), code: str = "") -> Iterator[Tty]:
    environ = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "TUI_AGENT_HOME": str(tmp_path / "data"),
    }
    started = ["-m", "tui_agent"]
    if code:
        (tmp_path / "started.py").write_text(code)
        started = [str(tmp_path / "started.py")]
    tty = Tty([sys.executable, *started, *words], environ, size)
    try:
        yield tty
    finally:
        if tty.child.poll() is None:
            tty.child.kill()
            tty.child.wait()
        os.close(tty.master)


def assert_clean(said: bytes) -> None:
    """Everything that was switched on is switched off after the last frame."""
    for mode in (b"1049", b"1000", b"1003", b"2004", b"25"):
        on, off = (b"h", b"l") if mode != b"25" else (b"l", b"h")
        switched = [found.group(1) for found in re.finditer(rb"\x1b\[\?" + mode + rb"([hl])", said)]
        assert not switched or switched[-1] == off, (mode, switched[-4:], on)
    if b"\x1b[>1u" in said:
        assert said.rfind(b"\x1b[<u") > said.rfind(b"\x1b[>1u")


def talking(folder: Path) -> tuple[str, ...]:
    """Words for a session in which something is said."""
    script = folder / "script.yaml"
    script.write_text("answers: [{text: All settled.}]")
    return "-m", f"scripted:{script}", "hello"


def assert_ends_by_signal(folder: Path) -> None:
    """The log's last event says that a signal ended the run. The engine may write it just after the app has ended."""
    [log] = (folder / "data" / "sessions").glob("*/events.jsonl")
    deadline = time.monotonic() + 20
    while '"reason":"signal"' not in log.read_text():
        assert time.monotonic() < deadline
        select.select([], [], [], 0.05)


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_clean_terminal_and_a_closed_session(
    tmp_path: Path, number: signal.Signals
) -> None:
    with program(tmp_path, *talking(tmp_path)) as tty:
        tty.until(b"turn 1")
        tty.child.send_signal(number)
        assert tty.end() == 128 + number
        assert_clean(tty.said)
        assert b"To come back:" in tty.said
    assert_ends_by_signal(tmp_path)


@pytest.mark.e2e
def test_a_terminal_that_is_closed_ends_the_app_as_a_hang_up_would(tmp_path: Path) -> None:
    with program(tmp_path, *talking(tmp_path)) as tty:
        tty.until(b"turn 1")
        os.close(tty.master)
        tty.master = os.open(os.devnull, os.O_RDWR)
        assert tty.child.wait(15) == 128 + signal.SIGHUP
    assert_ends_by_signal(tmp_path)


@pytest.mark.e2e
def test_a_terminal_that_only_prints_gets_the_session_as_lines(tmp_path: Path) -> None:
    with program(tmp_path, "--screen-reader", *talking(tmp_path)) as tty:
        tty.until(b"answer, All settled.")
        tty.until(b"turn 1, finished")
        os.write(tty.master, b"/quit\n")
        assert tty.end() == 0
        assert b"To come back:" in tty.said and b"\x1b" not in tty.said


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_session_in_lines(tmp_path: Path, number: signal.Signals) -> None:
    with program(tmp_path, "--screen-reader", *talking(tmp_path)) as tty:
        tty.until(b"turn 1, finished")
        tty.child.send_signal(number)
        assert tty.end() == 128 + number
    [log] = (tmp_path / "data" / "sessions").glob("*/events.jsonl")
    assert '"run.finished"' in log.read_text()


@pytest.mark.e2e
def test_a_signal_before_the_session_is_open_leaves_a_clean_terminal(tmp_path: Path) -> None:
    with program(tmp_path) as tty:
        tty.until(b"\x1b[?1049h")
        tty.until(b"Ask for a change"[1:])
        tty.child.send_signal(signal.SIGTERM)
        assert tty.end() == 128 + signal.SIGTERM
        assert_clean(tty.said)


@pytest.mark.e2e
def test_quit_leaves_the_way_back_on_the_normal_screen(tmp_path: Path) -> None:
    with program(tmp_path, *talking(tmp_path)) as tty:
        tty.until(b"no files changed")
        os.write(tty.master, b"/quit\r")
        assert tty.end() == 0
        assert_clean(tty.said)
        last = tty.said[tty.said.rfind(b"\x1b[?1049l") :]
        assert b"To come back:  tui-agent --session ses_" in last


BROKEN = """
import sys
from pathlib import Path
from tui_agent.cli.console import exit_codes
from tui_agent.cli.main import report
from tui_agent.config.session_options import SessionOptions
from tui_agent.tui.app import AgentApp, draw

class Broken(AgentApp):
    CSS_PATH = Path(sys.modules[AgentApp.__module__].__file__).parent / "styles" / "app.tcss"

    def hide_notice(self):
        raise RuntimeError("a row that is none")

home, model, debug = sys.argv[1:]
options = SessionOptions(cwd=Path(home), data_dir=Path(home) / "data", model=model, prompt="hello")
try:
    draw(Broken(options))
except RuntimeError as error:
    report(error, debug=debug == "debug")
    sys.exit(exit_codes.error_exit_status(error))
"""


@pytest.mark.e2e
@pytest.mark.parametrize("debug", ["debug", ""])
def test_an_app_that_breaks_says_so_in_a_line_and_names_the_session(tmp_path: Path, debug: str) -> None:
    with program(tmp_path, str(tmp_path), talking(tmp_path)[1], debug, code=BROKEN) as tty:
        tty.until(b"turn 1")
        os.write(tty.master, b"x\r")
        assert tty.end() == 1
        assert_clean(tty.said)
        last = tty.said[tty.said.rfind(b"\x1b[?1049l") :]
        assert b"To come back:  tui-agent" in last and b"--session ses_" in last
        assert (b"Unexpected RuntimeError: a row that is none." in last) is not bool(debug)
        assert (b"Traceback" in last) is bool(debug)
        assert b"locals" not in last


@pytest.mark.e2e
def test_a_demo_is_no_model_for_a_folder_of_the_users(tmp_path: Path) -> None:
    with program(tmp_path, "-m", "demo:bugfix") as tty:
        assert tty.end() == 2
        assert b"tui-agent demo bugfix" in tty.said and b"\x1b[?1049h" not in tty.said


@pytest.mark.e2e
def test_a_mere_look_leaves_no_session_and_no_way_back(tmp_path: Path) -> None:
    with program(tmp_path) as tty:
        tty.until(b"No model is set up yet")
        os.write(tty.master, b"/quit\r")
        assert tty.end() == 0
        assert b"To come back" not in tty.said
    assert list((tmp_path / "data" / "sessions").glob("*")) == []
