"""What a run without a screen says on standard error while it goes on: what it goes on without.

Invariant: a line is said once in a run, however often that happens.
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
    """Shows each record, and says what of it has to be said."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._said: set[str] = set()

    def __call__(self, record: Record) -> None:
        """Take one record."""
        self._show(record)
        if not isinstance(record, Envelope):
            return
        match record.payload:
            case PluginFailed() as failed:
                words = " ".join(f"{failed.message} ({failed.where})".split())
                self._say(f"The plugin {failed.plugin} is off. {words}")
            case ErrorRaised(where="agents", message=message, hint=hint):
                self._say(f"{message} {hint}")
            case ContextLearnt() as made:
                self._say(" ".join(learnt(made)))
            case ContextCut(cuts=cuts) as cut if record.agent == MAIN_AGENT:
                self._say(too_long(cut), cuts)
            case ContextCompacted(cuts=cuts) if cuts and record.agent == MAIN_AGENT:
                self._say(not_whole(cuts), cuts)
            case ContextStuck(message=message, hint=hint) if record.agent == MAIN_AGENT:
                self._say(f"{message} {hint}".rstrip())
            case RepomapBuilt(late=late, duration_ms=waited) if late and record.agent == MAIN_AGENT:
                self._say(f"{unmapped(waited)} {LATER}")
            case _:
                pass

    def _say(self, line: str, cuts: tuple[Cut, ...] = ()) -> None:
        names = {one.what for one in cuts} or {line}
        if not names <= self._said:
            self._said |= names
            say(f"tui-agent: {line}", file=sys.stderr)
