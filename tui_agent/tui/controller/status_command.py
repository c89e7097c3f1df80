"""The user's `[status] command`: its first line of output is shown in the status line.

Invariant: the command comes from the user's own configuration, and runs at most once each second.
"""

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.units import format_time_limit

PAUSE_S: Final = 1.0
"""Time between the end of the command and its next start, in seconds."""
TIME_LIMIT_S: Final = 5.0
"""Maximum run time of the command, in seconds."""
MAX_BYTES: Final = 8_192
"""Maximum length of the output that is kept, in bytes."""


class StatusCommand:
    """Runs the user's command after changes of the session, and shows its output in the status line."""

    def __init__(self, host: SessionHost) -> None:
        self._host, self._app = host, host.app
        self._newest: tuple[str, str] = ("", "")
        """The user's command, and its input: the session's newest facts as JSON."""
        self._is_running = False
        self._fault = ""

    def update(self) -> None:
        """Run the command in the background if the command or the session's facts changed."""
        config = self._host.config
        command = config.status.command if config is not None else ""
        newest = (command, json.dumps(self._facts())) if command else ("", "")
        if newest == self._newest:
            return
        self._newest = newest
        if not self._is_running:
            self._is_running = True
            self._host.worker(self._follow(), "the status command")

    def _facts(self) -> dict[str, JsonValue]:
        state, meter, status = self._host.state, self._host.views.meter.view(), self._app.status.view
        settings = state.settings
        return {
            "session": self._app.session_id,
            "title": state.title,
            "workspace": state.workspace,
            "branch": self._app.header.branch,
            "model": settings.model.model if settings is not None else "",
            "policy": settings.policy if settings is not None else "",
            "state": status.word,
            "turn": state.turn,
            "context": {"tokens": meter.used, "window": meter.window, "share": round(meter.fraction, 3)},
            "cost_usd": state.cost_usd,
            "cost_precision": state.cost_precision,
        }

    async def _follow(self) -> None:
        """Run the command, and repeat it while the session's facts change."""
        done: tuple[str, str] | None = None
        try:
            while done != self._newest:
                done = command, facts = self._newest
                folder, environ = Path(self._host.work_folder), self._app.environ
                text, fault = await run_status_command(command, facts, folder, environ)
                self._app.status.set_own_text(clean_line(text).strip())
                if fault and fault != self._fault:
                    self._app.say(f"[status] command: {fault}", "warning")
                self._fault = fault
                await asyncio.sleep(PAUSE_S)
        finally:
            self._is_running = False


async def run_status_command(
    command: str, facts: str, folder: Path, environ: Mapping[str, str]
) -> tuple[str, str]:
    """Return the first line of the command's output, and an error message (empty if the command succeeded)."""
    if not command:
        return "", ""
    try:
        child = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            command,
            cwd=folder,
            env=environ,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # so that its children can be killed with it
        )
    except OSError as error:
        return "", f"cannot start: {error.strerror}"
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            output = await _exchange(child, facts)
            status = await child.wait()
    except TimeoutError:
        return "", f"stopped after {format_time_limit(TIME_LIMIT_S)}"
    finally:  # after the time limit, and when the app quits
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    line = output.decode("utf-8", "replace").partition("\n")[0]
    return line, f"exit status {status}" if status and not line else ""


async def _exchange(child: asyncio.subprocess.Process, facts: str) -> bytes:
    """Write the facts to the command's input; return the first `MAX_BYTES` bytes of its output."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # The command may not read its input.
        child.stdin.write(facts.encode() + b"\n")
        await child.stdin.drain()
        child.stdin.close()
    output = b""
    # Read to the end: if nobody reads the pipe, a command with more output never exits.
    while chunk := await child.stdout.read(MAX_BYTES):
        output += chunk[: MAX_BYTES - len(output)]
    return output
