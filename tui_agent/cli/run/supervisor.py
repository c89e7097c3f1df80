"""A headless run whose process is started again when it is killed, and goes on where its session stands.

Invariant: this process holds no session, it waits for a child that does. A crash is a death by a signal that nobody
sends to end a run in order; an error, a limit and a stop that was asked for are ends.
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

from tui_agent.cli.output import say
from tui_agent.cli.run.headless import Begin, Outcome
from tui_agent.cli.run.line_relay import WholeLines
from tui_agent.config.options import SessionOptions
from tui_agent.folds.transcript.entries import AnswerEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.base import LongText
from tui_agent.protocol.commands import GoOn
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import RunStarted
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.store.lineage import blobs_of
from tui_agent.store.reader import iterate_records, read_tail
from tui_agent.wiring.base import ground

STOPS = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE))
RunOnce = Callable[[SessionOptions, Begin], int]
Finish = Callable[[Outcome], int]


def kept_running(
    options: SessionOptions,
    begin: Begin,
    retries: int,
    run_once: RunOnce,
    finish: Finish,
    *,
    by_line: bool = False,
) -> int:
    """Run a turn in a child process, and after a crash go on with it, at most `retries` times; the exit status.

    To be called before anything has started a thread or a loop. `finish` tells how a turn ended whose process was
    killed behind its end. `by_line`: what is printed are lines, and a line that a crash cut is none.
    """
    base = ground(options)
    latest = base.store.latest(str(options.cwd)) if options.continue_latest else None
    session = options.session or latest or base.ids.session()
    folder = base.store.folder(session)
    before = _last_seq(folder)
    options = replace(options, session=session, continue_latest=False)
    while True:
        status = _in_child(partial(run_once, options, begin), WholeLines() if by_line else None)
        if status >= 0 or signal.Signals(-status) in STOPS:
            return _status(status)
        begun = _last_seq(folder) >= 0
        new = list(iterate_records(folder, before, branch=True)) if begun else []
        ended = _outcome(new, folder)
        if ended is not None:
            return finish(ended)
        _tell(signal.Signals(-status).name, session, retries)
        if not retries:
            return _status(status)
        retries -= 1
        options = replace(options, carry_from=None if begun else options.carry_from)
        begin = GoOn() if any(map(_is_message, new)) else begin


def _tell(killed_by: str, session: str, left: int) -> None:
    tries = "1 try" if left == 1 else f"{left} tries"
    goes_on = f"It goes on, {tries} left" if left else "It is not tried again"
    say(f"tui-agent: The run was killed ({killed_by}). {goes_on}: {session}.", file=sys.stderr)


class _Child(SystemExit):
    """Carries the child's status up to the interpreter."""


def _in_child(run: Callable[[], int], lines: WholeLines | None) -> int:
    """What a child that does this ended with: its status, or the negative number of the signal that killed it."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if lines is not None:
            lines.in_child()
        raise _Child(run())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child too

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    signal.signal(signal.SIGTERM, pass_on)
    if lines is not None:
        lines.hand_on()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _status(status: int) -> int:
    return status if status >= 0 else 128 - status


def _last_seq(folder: Path) -> int:
    """The newest event of a session; -1 where there is none."""
    if not (folder / "events.jsonl").exists():
        return -1
    last = read_tail(folder, 1)
    return last[-1].seq if last else -1


def _is_message(record: Record) -> bool:
    return (
        isinstance(record, Envelope)
        and record.agent == MAIN_AGENT
        and isinstance(record.payload, UserMessageReceived)
    )


def _outcome(new: list[Record], folder: Path) -> Outcome | None:
    """How the turn ended whose events these are; None where it did not."""
    transcript, run_id, ended = Transcript(), "", None
    for record in new:
        if not isinstance(record, Envelope):
            continue
        transcript.apply(record)
        match record.payload:
            case RunStarted():
                run_id = record.payload.run_id
            case TurnFinished() if record.agent == MAIN_AGENT:
                ended = record.payload
            case _:
                pass
    # What a later run closes of a crashed one is an interruption that nobody asked for.
    if ended is None or ended.reason == "interrupted":
        return None
    words: list[LongText] = [one.text for one in transcript.view().entries if isinstance(one, AnswerEntry)]
    answer = blobs_of(folder).text(words[-1]).strip() if words else ""
    return Outcome(ended.reason, ended.detail, run_id, folder.name, answer)
