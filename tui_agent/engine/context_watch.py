"""L4: records when the context crosses a limit: each limit once in a turn, however often room is made."""

from tui_agent.engine.recorder import Recorder
from tui_agent.folds.context_meter import MeterLevel
from tui_agent.protocol.events.context import ContextWarned


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
        if meter.level == self._level:
            return
        self._level = meter.level
        if meter.level not in self._told:
            self._told.add(meter.level)
            self._recorder.append(ContextWarned(level=meter.level, fraction=round(meter.fraction, 4)))
