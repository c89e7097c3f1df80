"""The playhead of a replay or a comparison, and the screen with keys that move the playhead.

Invariant: a playhead never reads the clock; the caller passes the elapsed time.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from textual.timer import Timer

from tui_agent.folds.trace.timeline import Timeline
from tui_agent.tui.screens.list_page import FullScreen

BEAT_S: Final = 1 / 20
"""Time between two moves of a playhead that is playing, in seconds."""
SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
Stop: TypeAlias = Literal["event", "part", "turn", "marker"]
"""A kind of place to which the keys move the playhead."""


class Playhead:
    """The playhead of a timeline.

    - `place`: index of the shown event on the timeline
    - `speed`: 1 for real time, with long pauses shortened
    """

    def __init__(self, line: Timeline, place: int, speed: float = 1.0) -> None:
        self.line = line
        self.place = max(0, min(place, len(line) - 1))
        self.playing = False
        self.speed = speed
        self._seconds = 0.0

    @property
    def last(self) -> int:
        """The index of the timeline's last place."""
        return max(0, len(self.line) - 1)

    @property
    def seconds(self) -> float:
        """The playhead's time in seconds from the start; while playing, it can be between two places."""
        if not len(self.line):
            return 0.0
        return min(self._seconds, self.line.length) if self.playing else self.line.clock[self.place]

    def move_to(self, place: int) -> None:
        """Move to the place with this index. A playing playhead continues from this place."""
        self.place = max(0, min(place, self.last))
        self._seconds = self.line.clock[self.place] if len(self.line) else 0.0

    def move_to_tenth(self, number: int) -> None:
        """Move to the place at `number` tenths of the timeline's length, from 0 to 9."""
        self.move_to(self.line.place_at(self.line.length * number / 10))

    def toggle(self) -> None:
        """Play or pause; at the end of the timeline, play from the beginning."""
        self.playing = not self.playing
        self.move_to(0 if self.playing and self.place == self.last else self.place)

    def change_speed(self, levels: int) -> None:
        """Play faster by this number of speed levels, or slower if the number is negative."""
        nearest = min(range(len(SPEEDS)), key=lambda number: abs(SPEEDS[number] - self.speed))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, nearest + levels))]

    def pass_time(self, seconds: float) -> bool:
        """While playing, move by `seconds` of playing time; return True if the playhead reached another event."""
        if not self.playing:
            return False
        self._seconds += seconds * self.speed
        # Never back: several events can have the same time.
        before, self.place = self.place, max(self.place, self.line.place_at(self._seconds))
        self.playing = self.place < self.last
        return self.place != before


class PlayheadScreen(FullScreen):
    """A screen with a timeline and a playhead. Subclasses draw the moment under the playhead."""

    playhead: Playhead
    _beat: Timer | None = None
    _beat_time = 0.0

    @property
    @abstractmethod
    def ready(self) -> bool:
        """True if the timeline is loaded."""

    @abstractmethod
    def show_place(self) -> None:
        """Draw the moment under the playhead after a move."""

    @abstractmethod
    def show_beat(self, moved: bool) -> None:
        """Draw the new time while playing. `moved` is True if the playhead reached another event."""

    def move(self, change: Callable[[Playhead], object]) -> None:
        """Let `change` move the playhead, then show the moment under the playhead."""
        if not self.ready:
            return
        change(self.playhead)
        self.show_place()
        if self.playhead.playing and self._beat is None:
            self._beat_time = time.monotonic()
            self._beat = self.set_interval(BEAT_S, self._play)

    def move_to(self, place: int) -> None:
        self.move(lambda head: head.move_to(place))

    def _play(self) -> None:
        now = time.monotonic()
        elapsed, self._beat_time = now - self._beat_time, now
        moved = self.playhead.pass_time(elapsed)
        if not self.playhead.playing and self._beat is not None:
            self._beat.stop()
            self._beat = None
        self.show_beat(moved)

    def toggle_play(self) -> None:
        self.move(Playhead.toggle)

    def go(self, stop: Stop, direction: int) -> None:
        """Pause, and move to the next stop, or to the previous one if `direction` is negative.

        `stop`: an event, a message part (e.g. a tool call), a turn or a marker.
        """
        if self.ready:
            head = self.playhead
            head.playing = False
            self.move_to(head.line.next_stop(head.place, stop, direction > 0))

    def go_to_end(self, direction: int) -> None:
        """Move the playhead to the first event if `direction` is negative, otherwise to the last event."""
        self.move_to(0 if direction < 0 else self.playhead.last)

    def change_speed(self, direction: int) -> None:
        """Play faster (`direction` -1, the first of the two keys) or slower (1)."""
        self.move(lambda head: head.change_speed(-direction))
