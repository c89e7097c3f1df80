"""Records when the context reaches a limit, each once in a turn however often room is made, and when it is below all.

Invariant: a limit that it is below again, while it is still above another one, is no news.
"""

from typing import Final

from tui_agent.engine.recorder import Recorder
from tui_agent.folds.context.meter import MeterLevel
from tui_agent.protocol.events.context import ContextWarned

HEIGHTS: Final[dict[MeterLevel, int]] = {"below": 0, "near": 1, "over": 2, "compaction": 3}


class ContextWatch:
    """Compares the meter's level after each answer with the one before."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._level: MeterLevel = recorder.meter.level
        self._turn = -1
        self._told: set[MeterLevel] = set()

    def look(self) -> None:
        """Record a new level, if it is one."""
        meter, turn = self._recorder.meter, self._recorder.state.turn
        if turn != self._turn:
            self._turn, self._told = turn, set()
        rises = HEIGHTS[meter.level] > HEIGHTS[self._level]
        if meter.level == self._level:
            return
        self._level = meter.level
        if (rises or meter.level == "below") and meter.level not in self._told:
            self._told.add(meter.level)
            self._recorder.append(ContextWarned(level=meter.level, fraction=round(meter.fraction, 4)))
