"""Warnings when the context reaches a limit, each once per turn, and a notice when it is below all limits again.

Invariant: falling below one limit while still above another is not recorded.
"""

from typing import Final

from tui_agent.engine.recorder import Recorder
from tui_agent.folds.context.meter import MeterLevel
from tui_agent.protocol.events.context import ContextWarned

HEIGHTS: Final[dict[MeterLevel, int]] = {"below": 0, "near": 1, "over": 2, "compaction": 3}


class ContextWatch:
    """A comparison of the meter's level after each answer with the level before."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._level: MeterLevel = recorder.meter.level
        self._turn = -1
        self._recorded_levels: set[MeterLevel] = set()

    def look(self) -> None:
        """Record the level if it is new."""
        meter, turn = self._recorder.meter, self._recorder.state.turn
        if turn != self._turn:
            self._turn, self._recorded_levels = turn, set()
        has_risen = HEIGHTS[meter.level] > HEIGHTS[self._level]
        if meter.level == self._level:
            return
        self._level = meter.level
        if (has_risen or meter.level == "below") and meter.level not in self._recorded_levels:
            self._recorded_levels.add(meter.level)
            self._recorder.append(ContextWarned(level=meter.level, fraction=round(meter.fraction, 4)))
