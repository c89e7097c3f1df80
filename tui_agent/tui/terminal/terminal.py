"""Features of the terminal other than drawing cells: title, notification, clipboard, the text after quitting.

Invariant: untrusted text is cleaned before it reaches the terminal, and all settings are restored on quitting.
"""

import base64
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Final

from tui_agent.config.system_programs import find_system_program
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import clean, clean_line

Write = Callable[[str], None]
MAX_ANSWER_LENGTH: Final = 4000
"""Maximum length of the last answer in the text after quitting, in characters."""
MAX_NOTIFICATION_CHARS: Final = 120
MAX_CLIPBOARD_CHARS: Final = 100_000
"""Copied text can have at most this many characters, because terminals drop longer OSC 52 sequences."""
CLOSE_S: Final = 0.6
"""Time to wait for a session to close after a signal, in seconds."""


class Terminal:
    """Sends control sequences to the terminal.

    - `write`: method of the screen's driver
    - `environ`: the variables that identify the terminal, e.g. TERM
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
