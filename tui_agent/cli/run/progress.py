"""Warnings of a run without the app on standard error: what it has to work without.

Invariant: each warning is printed once per run.
"""

import sys

from tui_agent.cli.output import say
from tui_agent.cli.run.headless import Show
from tui_agent.folds.context.cut_labels import learnt, not_whole, too_long
from tui_agent.folds.text.labels import LATER, unmapped
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextCut,
    ContextLearnt,
    ContextStuck,
    Cut,
    RepomapBuilt,
)
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import MAIN_AGENT


class Telling:
    """Passes each record on and prints the warnings it causes."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._printed: set[str] = set()

    def __call__(self, record: Record) -> None:
        """Process one record."""
        self._show(record)
        if not isinstance(record, Envelope):
            return
        match record.payload:
            case PluginFailed() as failed:
                detail = " ".join(f"{failed.message} ({failed.where})".split())
                self._warn(f"The plugin {failed.plugin} is off. {detail}")
            case ErrorRaised(where="agents", message=message, hint=hint):
                self._warn(f"{message} {hint}")
            case ContextLearnt() as event:
                self._warn(" ".join(learnt(event)))
            case ContextCut(cuts=cuts) as cut if record.agent == MAIN_AGENT:
                self._warn(too_long(cut), cuts)
            case ContextCompacted(cuts=cuts) if cuts and record.agent == MAIN_AGENT:
                self._warn(not_whole(cuts), cuts)
            case ContextStuck(message=message, hint=hint) if record.agent == MAIN_AGENT:
                self._warn(f"{message} {hint}".rstrip())
            case RepomapBuilt(late=late, duration_ms=waited) if late and record.agent == MAIN_AGENT:
                self._warn(f"{unmapped(waited)} {LATER}")
            case _:
                pass

    def _warn(self, line: str, cuts: tuple[Cut, ...] = ()) -> None:
        names = {cut.what for cut in cuts} or {line}
        if not names <= self._printed:
            self._printed |= names
            say(f"tui-agent: {line}", file=sys.stderr)
