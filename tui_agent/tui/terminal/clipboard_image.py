"""Reads an image from the clipboard with a program of this machine.

Invariant: a program inside the work folder is never started.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from tui_agent.config.system_programs import find_system_program
from tui_agent.errors import TuiAgentError
from tui_agent.units import format_bytes, format_time_limit

MAX_BYTES: Final = 20_000_000
LIMIT_S: Final = 5.0
"""Maximum time to wait for a program's answer, in seconds."""
IMAGE_RETENTION_S: Final = 7 * 24 * 3600
"""Saved images are kept for this time, in seconds."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_OSASCRIPT: Final = ("osascript", "-e", "the clipboard as «class PNGf»")
_OTHER_WAY: Final = "You can also save the image, and drop the file into the message."


def read_clipboard_image(environ: Mapping[str, str]) -> bytes | None:
    """Return the image in the clipboard as PNG; None if the clipboard holds no image.

    Raise `TuiAgentError` if no program can read the clipboard, or if the image is too large.
    """
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        raise TuiAgentError(
            "The clipboard of your computer cannot be read over ssh.",
            hint="Save the image as a file and mention it: @shot.png.",
        )
    usable = _usable_programs(environ)
    commands = [
        [path, *words[1:]] for words in usable if (path := find_system_program(words[0], environ)) is not None
    ]
    if not commands:
        names = " or ".join("wl-clipboard" if words[0] == "wl-paste" else words[0] for words in usable)
        advice = f"Install {names}" if names else "Reading images needs a desktop (Wayland, X11 or macOS)"
        raise TuiAgentError(
            "No installed program can read images from the clipboard.", hint=f"{advice}. {_OTHER_WAY}"
        )
    image = next(filter(None, (_read(words, environ) for words in commands)), None)
    if image is not None and len(image) > MAX_BYTES:
        raise TuiAgentError(f"The image in the clipboard is larger than {format_bytes(MAX_BYTES)}.", hint="")
    return image


def save_image(image: bytes, folder: Path) -> Path:
    """Save an image in `folder` for this user only, delete old images there, and return the image's path."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in folder.glob("*.png"):
        if old.stat().st_mtime < time.time() - IMAGE_RETENTION_S:
            old.unlink(missing_ok=True)
    path = folder / f"pasted-{sha256(image).hexdigest()[:8]}.png"
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(image)
    return path


def _usable_programs(environ: Mapping[str, str]) -> list[tuple[str, ...]]:
    if sys.platform == "darwin":
        return [("pngpaste", "-"), _OSASCRIPT]
    wayland = [("wl-paste", "--type", "image/png")] if environ.get("WAYLAND_DISPLAY") else []
    x11 = [("xclip", "-selection", "clipboard", "-t", "image/png", "-o")] if environ.get("DISPLAY") else []
    return [*wayland, *x11]


def _read(words: list[str], environ: Mapping[str, str]) -> bytes | None:
    """Return the output of a program if the output is a PNG image, otherwise None.

    Raise `TuiAgentError` if the program does not end in time.
    """
    try:
        program = subprocess.Popen(
            words,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that `end` also reaches the program's children
        )
    except OSError:
        return None
    is_late = threading.Event()

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)

    def end_late() -> None:
        is_late.set()
        end()

    timer = threading.Timer(LIMIT_S, end_late)
    timer.start()
    with program:
        assert program.stdout is not None
        # osascript prints two hexadecimal digits for each byte, with a few characters around them.
        output = program.stdout.read(2 * MAX_BYTES + 100)
        timer.cancel()
        end()  # A program with more output would never exit by itself.
    if is_late.is_set():
        name = Path(words[0]).name
        raise TuiAgentError(f"{name} did not answer within {format_time_limit(LIMIT_S)}.", hint=_OTHER_WAY)
    digits = re.search(rb"PNGf((?:[0-9A-Fa-f]{2})+)", output)
    if digits is not None and not output.startswith(_PNG):
        output = bytes.fromhex(digits[1].decode())
    return output if output.startswith(_PNG) else None
