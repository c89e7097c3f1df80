"""Warnings when the context reaches a limit.

Invariant: each level is reported at most once per turn.
"""

from typing import Final

from tui_agent.engine.recorder import Recorder
from tui_agent.folds.context.meter import MeterLevel
from tui_agent.protocol.events.context import ContextWarned

LEVEL_ORDER: Final[dict[MeterLevel, int]] = {"below": 0, "near": 1, "over": 2, "compaction": 3}


class LimitWatch:
    """Warns when the context reaches a limit, and reports when the context is below all limits again."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._level: MeterLevel = recorder.meter.level
        self._turn = -1
        self._recorded_levels: set[MeterLevel] = set()

    def check(self) -> None:
        """Record the context's level if it has risen (e.g. to `over`), or if the context is below all limits again."""
        meter, turn = self._recorder.meter, self._recorder.state.turn
        if turn != self._turn:
            self._turn, self._recorded_levels = turn, set()
        has_risen = LEVEL_ORDER[meter.level] > LEVEL_ORDER[self._level]
        if meter.level == self._level:
            return
        self._level = meter.level
        if (has_risen or meter.level == "below") and meter.level not in self._recorded_levels:
            self._recorded_levels.add(meter.level)
            self._recorder.append(ContextWarned(level=meter.level, fraction=round(meter.fraction, 4)))
