"""Printing of a session's parts (messages, answers, tool calls and results), one line per part, and the last lines."""

import dataclasses
from typing import TextIO

from tui_agent.cli.console.output import dim, escape_control, say_json, shorten, terminal_width
from tui_agent.folds.trace.part_list import PartRow, Parts
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.session.headless_turn import Outcome
from tui_agent.units import format_time


class PartStream:
    """Prints each part of a session to `out` as soon as the part is recorded.

    Call an instance with every record, in order.
    """

    def __init__(self, out: TextIO, *, as_json: bool) -> None:
        self._parts = Parts()
        self._out = out
        self._as_json = as_json

    def __call__(self, record: Record) -> None:
        if isinstance(record, Envelope):
            self._parts.apply(record)
            for row in self._parts.drain():
                print_part(row, self._out, as_json=self._as_json)


class Progress:
    """Prints to `out` what the agent does, except the final answer.

    Call an instance with every record, in order.
    """

    def __init__(self, out: TextIO) -> None:
        self._parts = Parts()
        self._out = out
        self._has_printed = False

    def __call__(self, record: Record) -> None:
        if not isinstance(record, Envelope):
            return
        self._parts.apply(record)
        rows = self._parts.drain()
        has_calls = any(row.type == "tool_call" for row in rows)
        for row in rows:
            if row.type == "tool_result" or (row.type == "text" and has_calls):
                self._print(row)

    def _print(self, row: PartRow) -> None:
        mark = "" if row.type == "text" else "  " if row.status == "ok" else "! "
        agent = "" if row.agent == "main" else f"{row.agent}: "
        text = shorten(escape_control(f"{mark}{agent}{row.summary}"), max(20, terminal_width(2) - 1))
        print(dim(text, self._out) if row.status == "ok" else text, file=self._out, flush=True)
        self._has_printed = True

    def close(self) -> None:
        """If anything was printed, print an empty line before the answer."""
        if self._has_printed:
            print(file=self._out, flush=True)


def print_part(row: PartRow, out: TextIO | None = None, *, as_json: bool) -> None:
    """Print one part of a session as a JSON object, or as a line of text."""
    if as_json:
        say_json(dataclasses.asdict(row), file=out)
        return
    agent = "" if row.agent == "main" else f"{row.agent} "
    status = f"{row.status} " if row.status not in ("", "ok") else ""
    checkpoint = f"  [{row.commit[:12]}]" if row.changed_files else ""
    room = max(20, terminal_width() - 30 - len(checkpoint))
    text = shorten(escape_control(f"{agent}{status}{row.summary}"), room)
    print(
        f"{row.part:>5}  {format_time(row.time)[11:]}  {row.type:<11}  {text}{checkpoint}",
        file=out,
        flush=True,
    )


def result_lines(outcome: Outcome) -> str:
    """Return the lines that follow the answer: the status, the run's id and the session's id."""
    return f"status: {outcome.status}\nrun_id: {outcome.run_id}\nsession: {outcome.session}"


def failure_line(outcome: Outcome) -> str:
    """Return one line with the reason why the turn did not finish."""
    return " ".join(outcome.detail.split()) or f"The turn ended: {outcome.reason}."
