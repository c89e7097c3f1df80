"""The app without a screen: prints the session as plain lines, for screen readers and plain terminals.

Invariant: nothing is redrawn. A folder's configuration files are trusted only if the user answers the question about
them with 2.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import anyio

from tui_agent.config.paths import find_paths, is_session_stored
from tui_agent.config.project import trust
from tui_agent.config.project.trust import load_projects
from tui_agent.config.project.trust_effects import describe_effect
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, TuiAgentError
from tui_agent.ports.session import AppSession
from tui_agent.protocol.commands import ContinueTurn, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.session.engine_handle import EngineLink
from tui_agent.tui.linear.line_printer import HELP, LinePrinter, Say
from tui_agent.tui.modals.trust import Answer
from tui_agent.tui.terminal.terminal import farewell
from tui_agent.tui.untrusted_text import clean, clean_line

ReadLine = Callable[[], Awaitable[str | None]]
ENGINE_EXIT_S = 5.0
TWICE_S = 1.5
"""Longest time between the two presses of a double press, in seconds."""
_ANSWERS: Mapping[str, Answer] = {"1": "without", "2": "trust", "3": "quit"}
_CHOICES = (
    "1. Ignore these files until one of them changes",
    "2. Trust these files until one of them changes",
    "3. Quit",
)


async def talk(
    session: AppSession,
    read_line: ReadLine,
    say: Say,
    *,
    prompt: str = "",
    data_dir: Path | None = None,
) -> int:
    """Run one session line by line until the user quits or the engine ends.

    - `read_line`: returns the next typed line, or None at the end of input
    - `say`: prints a line
    - `prompt`: the first message to send; empty for none

    Return the exit status: 0, 1 if the engine ended by itself, or 2 if the session could not be opened.
    """
    async with anyio.create_task_group() as group:
        group.start_soon(session.serve)
        try:
            opened = await session.wait_until_open()
        except TuiAgentError as fault:
            say(clean(str(fault)))
            group.cancel_scope.cancel()
            return 2
        linear = LinePrinter(session, say)
        input_scope = anyio.CancelScope()
        group.start_soon(_write_all, session, linear, -1 if prompt else opened.last_seq, input_scope)
        say(HELP)
        if prompt:
            session.submit(SubmitPrompt(text=prompt))
        with input_scope:
            while (line := await read_line()) is not None and line.strip() not in ("/quit", "/exit"):
                if line.strip() == "/diff":
                    for changed in await linear.changes.lines():
                        say(changed)
                elif (command := linear.interpret_line(line)) is not None:
                    session.submit(command)
        if input_scope.cancelled_caught:
            linear.say_engine_end()
        await session.aclose()
        group.cancel_scope.cancel()
    if is_session_stored(Path(opened.folder)):
        say(farewell(session.id, "", data_dir=data_dir))
    return 1 if input_scope.cancelled_caught else 0


def run_linear(options: SessionOptions, *, handle: EngineLink | None = None) -> int:
    """Run the app without a screen, on standard input and output, until the user quits; return the exit status."""
    remote = import_module("tui_agent.session.remote_session").RemoteSession

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    async def run() -> int:
        typed = InputLines()
        async with anyio.create_task_group() as group:
            group.start_soon(typed.read, sys.stdin.fileno())
            group.start_soon(typed.watch_signals)
            status = await run_session(typed)
            group.cancel_scope.cancel()
        return typed.status or status

    async def run_session(typed: InputLines) -> int:
        answer = await ask_about_files(options, os.environ, typed.line, say)
        if answer == "quit":
            return 0
        if answer == "trust" and handle is not None:
            await anyio.to_thread.run_sync(handle.close, ENGINE_EXIT_S)
        # An engine started before the answer runs without the trusted files.
        is_usable = handle is not None and answer != "trust"
        session = remote(handle) if is_usable else remote.spawn(options)
        return await talk(session, typed.line, say, prompt=options.prompt or "", data_dir=options.data_dir)

    return anyio.run(run)


async def _write_all(
    session: AppSession, linear: LinePrinter, last: int, input_scope: anyio.CancelScope
) -> None:
    """Print the session's events until the engine ends, then cancel the scope `input_scope`.

    - `last`: number of the newest event recorded before this run
    - `input_scope`: the scope of the task that reads the user's lines
    """
    # If the earlier run ended during a tool call, the turn is continued after the last event of that run.
    follower = session.follow()
    while batch := await follower.next_batch():
        for record in batch:
            if isinstance(record, Envelope):
                linear.write_event(record)
            state = linear.state.view() if record.seq == last else None
            if state is not None and state.open_calls and not state.is_busy and not linear.under_way:
                linear.under_way = True
                session.submit(ContinueTurn())
    input_scope.cancel()


class InputLines:
    """The lines that the user types on standard input.

    Ctrl+C becomes /stop, and a second Ctrl+C becomes /quit.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.status = 0
        """The exit status after a signal; 0 before any signal."""

    async def line(self) -> str | None:
        """Wait for the next line that the user types; None at the end of input."""
        return await self._lines.get()

    async def read(self, fd: int) -> None:
        """Read lines from the file descriptor until the end of input; the method `line` returns the lines."""
        rest = b""
        while True:
            # epoll rejects plain files; they are always ready, so waiting is not needed
            with suppress(PermissionError):
                await anyio.wait_readable(fd)
            try:
                data = os.read(fd, 65_536)
            except OSError:  # the terminal is gone
                data = b""
            *lines, rest = (rest + data).split(b"\n")
            if not data and rest:
                lines.append(rest)
            for line in lines:
                self._lines.put_nowait(line.decode("utf-8", "replace"))
            if not data:
                self._lines.put_nowait(None)
                return

    async def watch_signals(self) -> None:
        """Wait for signals until cancelled. SIGINT becomes the line /stop or /quit; other signals end the input."""
        last = -TWICE_S
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            async for number in signals:
                if number == signal.SIGINT:
                    is_second, last = time.monotonic() - last < TWICE_S, time.monotonic()
                    self._lines.put_nowait("/quit" if is_second else "/stop")
                else:
                    self.status = 128 + number
                    self._lines.put_nowait(None)


async def ask_about_files(
    options: SessionOptions,
    environ: Mapping[str, str],
    read_line: ReadLine,
    say: Say,
) -> Answer | None:
    """Ask whether to trust the folder's undecided files, and save the answer.

    Return None if there is nothing to ask, and `"quit"` at the end of input.
    """
    folders = [folder for folder in load_projects(options, environ) if folder.trust_state == "open"]
    if not folders:
        return None
    paths = find_paths(options.cwd, environ)
    for folder in folders:
        marks = trust.compare_files(folder.files, paths)
        say(
            clean_line(
                f"These files of {folder.files.folder} can change what tui-agent does or runs. They are not used yet.",
                reveal=True,
            )
        )
        for file in folder.files.files:
            mark = marks.get(file.name, "")
            say(clean_line(f"{f'{mark}, ' if mark else ''}{file.name}, {describe_effect(file)}", reveal=True))
    for choice in _CHOICES:
        say(choice)
    while (line := await read_line()) is not None:
        answer = _ANSWERS.get(line.strip())
        if answer in ("trust", "without"):
            try:
                for folder in folders:
                    trust.save_decision(folder.files, "trusted" if answer == "trust" else "without", paths)
            except ConfigError as fault:
                say(clean_line(str(fault)))
                continue
        if answer is not None:
            return answer
        say("Type 1, 2 or 3.")
    return "quit"
