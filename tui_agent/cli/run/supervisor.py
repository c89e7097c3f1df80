"""Supervisor of a headless run: runs the turn in a child process, and starts a new one after a crash.

Invariant: only the child opens the session.
"""

import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

from tui_agent.cli.console.output import warn
from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.transcript.entries import AnswerEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.commands import ContinueTurn
from tui_agent.protocol.envelope import Record, known_events
from tui_agent.protocol.events.session import RunStarted
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.stored_text import LongText
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.headless_turn import Outcome, TurnStart
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import iterate_records, read_tail
from tui_agent.wiring.startup_context import load_startup_context

PIPE_READ_BYTES = 65_536


class LineRelay:
    """Pipe that copies complete lines of a child process's output to standard output.

    Create the pipe before the fork; then call `redirect_output` in the child and `relay_lines` in the parent.
    """

    def __init__(self) -> None:
        self._source, self._sink = os.pipe()
        # Programs that the child started can keep its standard output open after its end, but they do not inherit
        # this pipe.
        self._life, self._alive = os.pipe()
        """Read end and write end of a pipe. The parent uses the pipe to notice that the child has ended."""

    def redirect_output(self) -> None:
        """Redirect this process's standard output to the parent process."""
        os.close(self._source)
        os.close(self._life)
        os.dup2(self._sink, sys.stdout.fileno())
        os.close(self._sink)

    def relay_lines(self) -> None:
        """Print every complete line of the child process until the child ends."""
        # If nobody reads standard output any more, stop reading, so that the child's next write fails.
        os.close(self._sink)
        os.close(self._alive)
        os.set_blocking(self._source, False)
        try:
            with suppress(BrokenPipeError):
                self._relay()
        finally:
            os.close(self._source)
            os.close(self._life)

    def _relay(self) -> None:
        partial = b""
        alive = True
        while alive:
            ready, _, _ = select.select([self._source, self._life], [], [])
            alive = self._life not in ready
            pieces = [partial]
            with suppress(BlockingIOError):
                while piece := os.read(self._source, PIPE_READ_BYTES):
                    pieces.append(piece)
                    # A fast writer is printed in portions. After its end, the rest is read at once.
                    if len(pieces) > 100 and alive:
                        break
            complete_lines, line_end, partial = b"".join(pieces).rpartition(b"\n")
            _write(complete_lines + line_end)


def _write(data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(sys.stdout.fileno(), remaining) :]


STOPS = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE))
RunOnce = Callable[[SessionOptions, TurnStart], int]
Finish = Callable[[Outcome], int]


def run_with_restarts(
    options: SessionOptions,
    begin: TurnStart,
    retries: int,
    run_once: RunOnce,
    finish: Finish,
    *,
    by_line: bool = False,
) -> int:
    """Run a turn in a child process, continue it after at most `retries` crashes, and return the exit status.

    Call this function before any thread or event loop starts.

    `by_line`: print only complete lines of the child's output.
    `finish`: prints the result if the child crashed after the end of the turn.
    """
    base = load_startup_context(options)
    latest = base.store.latest_session_id(str(options.cwd)) if options.continue_latest else None
    session = options.session or latest or base.ids.session()
    folder = base.store.folder(session)
    before = _last_seq(folder)
    options = replace(options, session=session, continue_latest=False)
    while True:
        status = _run_in_child(partial(run_once, options, begin), LineRelay() if by_line else None)
        if status >= 0 or signal.Signals(-status) in STOPS:
            return _exit_status(status)
        has_events = _last_seq(folder) >= 0
        new = list(iterate_records(folder, before, current_branch_only=True)) if has_events else []
        outcome = _turn_outcome(new, folder)
        if outcome is not None:
            return finish(outcome)
        _report_crash(signal.Signals(-status).name, session, retries)
        if not retries:
            return _exit_status(status)
        retries -= 1
        # The first attempt has already stored the summary in the new session.
        options = replace(options, carry_from=None if has_events else options.carry_from)
        begin = ContinueTurn() if any(map(_is_message, new)) else begin


def _report_crash(killed_by: str, session: str, retries: int) -> None:
    tries = format_count(retries, "try", "tries")
    outlook = f"Continuing {session}; {tries} left." if retries else f"No tries left for {session}."
    warn(f"The run was killed ({killed_by}). {outlook}")


class _Child(SystemExit):
    """Raised in the child process, to end it with an exit status."""


def _run_in_child(run: Callable[[], int], lines: LineRelay | None) -> int:
    """Call `run` in a child process and return the exit status. If a signal killed the child, return the negative
    signal number."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if lines is not None:
            lines.redirect_output()
        raise _Child(run())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The terminal also sends SIGINT to the child.

    def forward_signal(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    signal.signal(signal.SIGTERM, forward_signal)
    if lines is not None:
        lines.relay_lines()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _exit_status(status: int) -> int:
    return status if status >= 0 else 128 - status


def _last_seq(folder: Path) -> int:
    if not (folder / "events.jsonl").exists():
        return -1
    last = read_tail(folder, 1)
    return last[-1].seq if last else -1


def _is_message(record: Record) -> bool:
    return record.agent == MAIN_AGENT and isinstance(record.payload, UserMessageReceived)


def _turn_outcome(new: list[Record], folder: Path) -> Outcome | None:
    transcript, run_id, ended = Transcript(), "", None
    for record in known_events(new):
        transcript.apply(record)
        match record.payload:
            case RunStarted():
                run_id = record.payload.run_id
            case TurnFinished() if record.agent == MAIN_AGENT:
                ended = record.payload
    # A run that opens the session after a crash records the crashed turn as interrupted.
    if ended is None or ended.reason == "interrupted":
        return None
    texts: list[LongText] = [
        entry.text for entry in transcript.view().entries if isinstance(entry, AnswerEntry)
    ]
    answer = open_blobs(folder).read_text(texts[-1]).strip() if texts else ""
    return Outcome(ended.reason, ended.detail, run_id, folder.name, answer)
