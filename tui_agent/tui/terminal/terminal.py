"""Features of the terminal other than drawing cells: title, notification, clipboard, hang-up, the text after quitting.

Invariant: untrusted text is cleaned before it reaches the terminal, and all settings are restored on quitting.
"""

import asyncio
import base64
import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Thread, Timer
from typing import Final

from tui_agent.config.system_programs import find_system_program
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.untrusted_text import clean, clean_line

Write = Callable[[str], None]
MAX_ANSWER_LENGTH: Final = 4000
"""Maximum length of the last answer in the text after quitting, in characters."""
MAX_NOTIFICATION_CHARS: Final = 120
MAX_CLIPBOARD_CHARS: Final = 100_000
"""Copied text can have at most this many characters, because terminals drop longer OSC 52 sequences."""
PATIENCE_S: Final = 0.9
"""Time for an orderly exit once the terminal is gone, in seconds."""
CLOSE_S: Final = 0.6
"""Time to wait for a session to close after a signal, in seconds."""
STALLED_S: Final = 2.0
"""Maximum time to wait for a terminal that accepts no output after a signal, in seconds."""
HANGUP_STATUS: Final = 129
"""Exit status after SIGHUP, as shells expect it."""


def schedule_forced_exit(status: int) -> Timer:
    """Start and return a timer that ends this process after `STALLED_S` seconds.

    The timer also ends a process whose event loop is blocked.
    """
    timer = Timer(STALLED_S, os._exit, (status,))
    timer.daemon = True
    timer.start()
    return timer


class HangupWatch:
    """Calls `gone` once, on the event loop, when the terminal behind `fd` hangs up, even without a SIGHUP.

    While the terminal exists, the watching thread sleeps and uses no processor time.
    """

    def __init__(self, fd: int, gone: Callable[[], None]) -> None:
        self._fd = fd
        self._gone = gone
        self._stop_read, self._stop_write = os.pipe()
        self._loop = asyncio.get_running_loop()
        self._thread = Thread(target=self._watch, name="hangup", daemon=True)

    def start(self) -> None:
        """Start the thread that watches the terminal."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and wait for the thread; a second call does nothing."""
        if self._stop_write >= 0:
            os.write(self._stop_write, b".")
            self._thread.join(1.0)
            os.close(self._stop_write)
            os.close(self._stop_read)
            self._stop_write = -1

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._fd, 0)  # Register for no input events: poll always reports hang-up and error.
        poll.register(self._stop_read, select.POLLIN)
        ready = dict(poll.poll())
        if self._stop_read in ready or self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._gone)
        poll.unregister(self._fd)
        if not poll.poll(PATIENCE_S * 1000):
            # The event loop is blocked on a terminal that accepts no output. The engine closes the session by itself.
            os._exit(HANGUP_STATUS)


class Terminal:
    """Sends control sequences to the terminal.

    - `write`: method of the screen's driver
    - `environ`: environment variables; some of them, e.g. TERM, identify the terminal
    """

    def __init__(self, write: Write, environ: Mapping[str, str]) -> None:
        self._write = write
        self._tmux = bool(environ.get("TMUX"))
        self._remote = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
        self._plain = environ.get("TERM", "") in ("linux", "dumb", "")
        self._wayland = bool(environ.get("WAYLAND_DISPLAY"))
        self._x11 = bool(environ.get("DISPLAY"))
        self._titled = ""
        is_osc777 = bool(environ.get("VTE_VERSION")) or environ.get("TERM", "").startswith(("foot", "rxvt"))
        self._default_sequence = "osc777" if is_osc777 else "osc9"
        self.notifications = "auto"
        """The setting `notifications`: how `notify` reaches the user."""

    def title(self, text: str) -> None:
        """Set the window's title; the terminal stores the old title until `restore`."""
        text = clean_line(text)[:80]
        if self._plain or text == self._titled:
            return
        if not self._titled:
            # The terminal pushes its title on a stack; `restore` pops it.
            self._write("\x1b[22;2t")
        self._titled = text
        self._write(f"\x1b]2;{text}\x07")

    def ask_background(self) -> None:
        """Ask for the terminal's background colour; the answer arrives as `BackgroundReported`."""
        if not self._plain:
            self._write("\x1b]11;?\x07")

    def restore(self) -> None:
        """Restore the window's title from before the first call of `title`."""
        if self._titled:
            self._write("\x1b[23;2t")
            self._titled = ""

    def notify(self, title: str, text: str) -> None:
        """Notify the user as the setting `notifications` says, e.g. with the terminal's bell."""
        title, text = (clean_line(part)[:MAX_NOTIFICATION_CHARS] for part in (title, text))
        kind = self.notifications
        if kind == "off" or (kind == "desktop" and not self._remote and self._notify_desktop(title, text)):
            return
        if kind != "bell" and not self._plain:
            is_osc777 = kind == "osc777" or (kind != "osc9" and self._default_sequence == "osc777")
            # OSC 777 separates its fields by semicolons.
            message = f"777;notify;{title.replace(';', ',')};{text}" if is_osc777 else f"9;{title}: {text}"
            self._write(self._wrap_for_tmux(f"\x1b]{message}\x07"))
        # Also ring, because many terminals ignore the sequences for notifications.
        self._write("\x07")

    def _notify_desktop(self, title: str, text: str) -> bool:
        """Start a program that shows a desktop notification. Return False if no program is installed."""
        # The texts are untrusted: they are passed as arguments, so that none becomes a part of the script or an option.
        script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
        is_mac = sys.platform == "darwin"
        words = ("osascript", "-e", script) if is_mac else ("notify-send", "--app-name=tui-agent", "--")
        path = find_system_program(words[0], os.environ) if is_mac or self._wayland or self._x11 else None
        if path is None:
            return False
        run = partial(
            subprocess.run, timeout=10, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        Thread(target=run, args=([path, *words[1:], title, text],), daemon=True).start()
        return True

    def copy(self, text: str) -> bool:
        """Copy text with a clipboard program of this machine or, if there is none, with the sequence OSC 52.

        Return False if the text is too long for OSC 52.
        """
        if not self._remote and self._copy_locally(text):
            return True
        if len(text) > MAX_CLIPBOARD_CHARS:
            return False
        coded = base64.b64encode(text.encode("utf-8", "replace")).decode()
        self._write(self._wrap_for_tmux(f"\x1b]52;c;{coded}\x07"))
        return True

    def _wrap_for_tmux(self, sequence: str) -> str:
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\" if self._tmux else sequence

    def _copy_locally(self, text: str) -> bool:
        for program, is_usable in (
            (("pbcopy",), sys.platform == "darwin"),
            (("wl-copy",), self._wayland),
            (("xclip", "-selection", "clipboard"), self._x11),
        ):
            path = find_system_program(program[0], os.environ) if is_usable else None
            if path is not None:
                try:
                    subprocess.run(
                        [path, *program[1:]],
                        input=text.encode("utf-8", "replace"),
                        timeout=2,
                        check=True,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                except (OSError, subprocess.SubprocessError):
                    continue
                return True
        return False


SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


def catch_signals(leave: Callable[[int], None]) -> None:
    """Make SIGTERM and SIGHUP call `leave` with the signal's number.

    Call this function while the event loop runs.
    """
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, leave, number)


def release_signals() -> None:
    """Restore the default handling of SIGTERM and SIGHUP."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.remove_signal_handler(number)


def farewell(
    session_id: str, answer: str, *, data_dir: Path | None = None, jobs: int = 0, is_demo: bool = False
) -> str:
    """Return the text to print after quitting: the last answer, and how to resume the session.

    - `session_id`: empty if there is no session to resume
    - `data_dir`: the data folder, if it was set on the command line
    - `jobs`: number of background jobs that were ended
    """
    lines: list[str] = []
    if answer.strip():
        shown = clean(answer).strip()
        if len(shown) > MAX_ANSWER_LENGTH:
            shown = shown[:MAX_ANSWER_LENGTH].rstrip() + "\n…"
        lines += [shown, ""]
    if jobs:
        lines.append(f"{format_count(jobs, 'background job')} ended with the session.")
    if is_demo:
        lines.append("That was the demo. To begin with a real model, run tui-agent in your own folder.")
    if session_id:
        place = [] if data_dir is None else ["--data-dir", str(data_dir)]
        lines.append(f"To come back:  tui-agent {clean_line(shlex.join([*place, '--session', session_id]))}")
    return "\n".join(lines)


def print_farewell(words: str) -> bool:
    """Print the text after the app has quit; return False if the terminal is gone."""
    # Without a terminal, output goes to /dev/null, so that Python can exit without an error.
    try:
        sys.stdout.write(f"{words}\n" if words else "")
        for stream in (sys.stdout, sys.__stderr__):  # The screen's driver writes to stderr.
            if stream is not None:
                stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        return False
    return True


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the user's editor: $VISUAL, $EDITOR, or the first of nano, vim and vi."""
    command = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if command:
        return command.split()
    paths = (find_system_program(name, environ) for name in ("nano", "vim", "vi"))
    return [next(filter(None, paths), "/usr/bin/vi")]


def edit_text(text: str, folder: Path, environ: Mapping[str, str]) -> str | None:
    """Let the user edit a text in their editor. Return None on failure. Blocks until the editor exits."""
    path = folder / "message.md"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        status = subprocess.run([*editor_command(environ), str(path)], check=False).returncode
    except OSError:
        return None
    return path.read_text(encoding="utf-8", errors="replace").rstrip("\n") if status == 0 else None
