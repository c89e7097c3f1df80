"""What the app says to the terminal beside its cells: title, notice, clipboard, and the words it leaves behind.

Invariant: nothing foreign reaches the terminal uncleaned, and what was set is set back on leaving.
"""

import asyncio
import base64
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tui_agent.config.programs import find_outside
from tui_agent.tui.text import clean, clean_line

Write = Callable[[str], None]
MOST_CLIPBOARD: Final = 100_000
"""Characters; terminals drop longer OSC 52 sequences."""


class Terminal:
    """Speaks through `write` (the screen driver's). `environ` tells which terminal it is."""

    def __init__(self, write: Write, environ: Mapping[str, str]) -> None:
        self._write = write
        self._tmux = bool(environ.get("TMUX"))
        self._remote = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
        self._plain = environ.get("TERM", "") in ("linux", "dumb", "")
        self._wayland = bool(environ.get("WAYLAND_DISPLAY"))
        self._x11 = bool(environ.get("DISPLAY"))
        self._titled = ""

    def title(self, text: str) -> None:
        """Set the window's title; the one before is kept by the terminal until `restore`."""
        text = clean_line(text)[:80]
        if self._plain or text == self._titled:
            return
        if not self._titled:
            self._write("\x1b[22;2t")
        self._titled = text
        self._write(f"\x1b]2;{text}\x07")

    def restore(self) -> None:
        """Give the title back."""
        if self._titled:
            self._write("\x1b[23;2t")
            self._titled = ""

    def notify(self, text: str) -> None:
        """Tell someone who looks elsewhere: OSC 9 where it is understood, and the bell everywhere."""
        if not self._plain:
            self._write(self._passed(f"\x1b]9;{clean_line(text)[:120]}\x07"))
        self._write("\x07")

    def copy(self, text: str) -> bool:
        """Put text into the clipboard: by the local program where there is one, else by OSC 52. False: too long."""
        if not self._remote and self._copy_locally(text):
            return True
        if len(text) > MOST_CLIPBOARD:
            return False
        coded = base64.b64encode(text.encode("utf-8", "replace")).decode()
        self._write(self._passed(f"\x1b]52;c;{coded}\x07"))
        return True

    def _passed(self, sequence: str) -> str:
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\" if self._tmux else sequence

    def _copy_locally(self, text: str) -> bool:
        for program, wanted in (
            (("pbcopy",), sys.platform == "darwin"),
            (("wl-copy",), self._wayland),
            (("xclip", "-selection", "clipboard"), self._x11),
        ):
            found = find_outside(program[0], os.environ) if wanted else None
            if found is not None:
                try:
                    subprocess.run(
                        [found, *program[1:]],
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
    """SIGTERM and SIGHUP leave in order, so that the terminal is set back. Call it on the running loop."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, leave, number)


def release_signals() -> None:
    """The signals do what they did before."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.remove_signal_handler(number)


def farewell(
    session_id: str, answer: str, *, data_dir: Path | None = None, limit: int = 4000, jobs: int = 0
) -> str:
    """What stands on the normal screen afterwards: the last answer, and how to come back.

    `session_id` is empty where there is nothing to come back to; `data_dir` is where the session lies, if the command
    line said so; `jobs` is how many background jobs ran until the end.
    """
    lines: list[str] = []
    if answer.strip():
        shown = clean(answer).strip()
        if len(shown) > limit:
            shown = shown[:limit].rstrip() + "\n…"
        lines += [shown, ""]
    if jobs:
        lines.append(f"{jobs} background {'job' if jobs == 1 else 'jobs'} ended with the session.")
    if session_id:
        place = [] if data_dir is None else ["--data-dir", str(data_dir)]
        lines.append(f"To come back:  tui-agent {clean_line(shlex.join([*place, '--session', session_id]))}")
    return "\n".join(lines)


def last_words(words: str) -> bool:
    """Say them on the normal screen; False where the terminal is gone, and nothing is to be flushed into it at exit."""
    try:
        sys.stdout.write(f"{words}\n" if words else "")
        for stream in (sys.stdout, sys.__stderr__):  # the screen's driver draws on the second one
            if stream is not None:
                stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        return False
    return True


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The user's editor, as words of a command."""
    named = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if named:
        return named.split()
    found = (find_outside(one, environ) for one in ("nano", "vim", "vi"))
    return [next((one for one in found if one is not None), "/usr/bin/vi")]


def edit_text(text: str, folder: Path, environ: Mapping[str, str]) -> str | None:
    """Let the user's editor change a text; None where it failed or could not be started. Blocks the terminal."""
    path = folder / "message.md"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        status = subprocess.run([*editor_command(environ), str(path)], check=False).returncode
    except OSError:
        return None
    return path.read_text(encoding="utf-8", errors="replace").rstrip("\n") if status == 0 else None
