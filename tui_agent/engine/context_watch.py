"""L4: records when the context crosses a limit, once for each crossing."""

from tui_agent.engine.recorder import Recorder
from tui_agent.folds.context_meter import MeterLevel
from tui_agent.protocol.events.context import ContextWarned


class ContextWatch:
    """Compares the meter's level after each answer with the one before."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._level: MeterLevel = recorder.meter.level

    def look(self) -> None:
        """Record a new level, if it is one."""
        meter = self._recorder.meter
        if meter.level != self._level:
            self._level = meter.level
            self._recorder.append(ContextWarned(level=meter.level, fraction=round(meter.fraction, 4)))
