"""The timeline of a replay: the times of events, marks for important events, and the starts of parts and turns.

Invariant: times are taken from the log, but long pauses are shortened to `PAUSE_S` seconds.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT

PAUSE_S = 8.0
Mark: TypeAlias = Literal["you", "files", "error", "compaction"]


@dataclass(frozen=True, slots=True)
class Marker:
    """A mark for an important event on a replay timeline. `place` is the index of the event's record."""

    place: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class Timeline:
    """The replay timeline of a log.

    - `clock[i]`: time of the record with index `i`, in seconds since the first event.
    - `parts`, `turns`: indexes of the records that start a part or turn, in order.
    """

    clock: tuple[float, ...]
    markers: tuple[Marker, ...]
    parts: tuple[int, ...]
    turns: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.clock)

    @property
    def length(self) -> float:
        """Seconds from the first event to the last event, with shortened pauses."""
        return self.clock[-1] if self.clock else 0.0

    def place_at(self, seconds: float) -> int:
        """Return the index of the newest record that is not later than this time."""
        return max(0, bisect_right(self.clock, seconds) - 1)

    def next_stop(self, place: int, unit: Literal["event", "part", "turn", "marker"], forward: bool) -> int:
        """Return the index of the next record that starts a `unit`, e.g. a turn.

        `forward`: False to return the index of the previous such record instead.
        """
        last = len(self.clock) - 1
        if unit == "event":
            return min(last, place + 1) if forward else max(0, place - 1)
        stops = {"part": self.parts, "turn": self.turns}.get(unit) or [
            marker.place for marker in self.markers
        ]
        if forward:
            index = bisect_right(stops, place)
            return stops[index] if index < len(stops) else last
        index = bisect_left(stops, place) - 1
        return stops[index] if index >= 0 else 0

    def activity(self, columns: int, levels: int) -> list[int]:
        """Return the activity in each of `columns` equal spans of time, from 0 (no events) to `levels`."""
        counts = [0] * columns
        for seconds in self.clock:
            counts[self.column(seconds, columns)] += 1
        highest = max(counts, default=0)
        # Square roots keep low levels visible beside a column with a hundred streamed pieces.
        return [0 if not count else max(1, round(levels * (count / highest) ** 0.5)) for count in counts]

    def column(self, seconds: float, columns: int) -> int:
        """Return the index of the column in which the time `seconds` is shown. The timeline has `columns` columns."""
        share = seconds / self.length if self.length else 0.0
        return min(columns - 1, max(0, int(share * (columns - 1) + 0.5)))


def build_timeline(records: Sequence[Record]) -> Timeline:
    """Return the timeline of a whole log."""
    return extend_timeline(Timeline((), (), (), ()), records[0].time if records else 0.0, records)


def extend_timeline(line: Timeline, last_at: float, new: Sequence[Record]) -> Timeline:
    """Return the timeline with the records `new` added.

    `last_at`: time of the last record in `line`.
    """
    first = len(line)
    markers = (Marker(place, mark) for place, record in enumerate(new, first) if (mark := event_mark(record)))
    return Timeline(
        (*line.clock, *_event_times(new, line.length, last_at)),
        (*line.markers, *markers),
        (*line.parts, *(place for place, record in enumerate(new, first) if _has_part(record))),
        (*line.turns, *(place for place, record in enumerate(new, first) if _begins_turn(record))),
    )


def _event_times(records: Iterable[Record], clock: float, previous_at: float) -> Iterable[float]:
    for record in records:
        clock += min(PAUSE_S, max(0.0, record.time - previous_at))
        previous_at = record.time
        yield clock


def _has_part(record: Record) -> bool:
    payload = record.payload
    if isinstance(payload, ModelResponded):
        return bool(payload.parts)
    return isinstance(payload, ToolFinished) and payload.part is not None


def _begins_turn(record: Record) -> bool:
    payload = record.payload
    starts = isinstance(payload, TurnStarted) and payload.is_continuation
    return record.agent == MAIN_AGENT and (starts or isinstance(payload, UserMessageReceived))


def event_mark(record: Record) -> Mark | None:
    """Return the kind of mark for an event, or None if the event has no mark."""
    match record.payload:
        case UserMessageReceived() | UserSteered() if record.agent == MAIN_AGENT:
            return "you"
        case FileChanged():
            return "files"
        case ToolFinished(status="failed" | "invalid" | "lost") | ErrorRaised():
            return "error"
        case ModelFailed(fault=fault) if fault != "cancelled":
            return "error"
        case ContextCompacted():
            return "compaction"
        case _:
            return None
