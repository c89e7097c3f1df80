"""The playhead of a replay or a comparison: a place on a timeline, and the screen on which keys and time move it.

Invariant: a playhead is pure; the time that passed is given to it, never asked for.
"""

import time
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from textual.screen import Screen
from textual.timer import Timer

from tui_agent.folds.trace.timeline import Timeline
from tui_agent.tui.widgets.keymap import KeyActions
from tui_agent.tui.worker_errors import WorkerErrorReporter

BEAT_S: Final = 1 / 20
"""Time between two moves of a playhead that plays."""
SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
By: TypeAlias = Literal["event", "part", "turn", "marker"]


class Playhead:
    """A place on a timeline. `speed` 1 is as fast as it was, long pauses shortened."""

    def __init__(self, line: Timeline, place: int, speed: float = 1.0) -> None:
        self.line = line
        self.place = max(0, min(place, len(line) - 1))
        self.playing = False
        self.speed = speed
        self._seconds = 0.0

    @property
    def last(self) -> int:
        """The last place."""
        return max(0, len(self.line) - 1)

    @property
    def seconds(self) -> float:
        """Where it is in time: between two places, while it plays."""
        if not len(self.line):
            return 0.0
        return min(self._seconds, self.line.length) if self.playing else self.line.clock[self.place]

    def to(self, place: int) -> None:
        """Stand there; what plays goes on from there."""
        self.place = max(0, min(place, self.last))
        self._seconds = self.line.clock[self.place] if len(self.line) else 0.0

    def go(self, by: By, *, forward: bool) -> None:
        """To the next event, part, turn or marker, or the one before. What plays stops."""
        self.playing = False
        self.to(self.line.next_stop(self.place, by, forward))

    def tenth(self, number: int) -> None:
        """So many tenths along the line."""
        self.to(self.line.place_at(self.line.length * number / 10))

    def toggle(self) -> None:
        """Play or pause; at the end it plays from the beginning."""
        self.playing = not self.playing
        self.to(0 if self.playing and self.place == self.last else self.place)

    def change_speed(self, by: int) -> None:
        """So many speeds faster or slower."""
        nearest = min(range(len(SPEEDS)), key=lambda at: abs(SPEEDS[at] - self.speed))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, nearest + by))]

    def pass_time(self, seconds: float) -> bool:
        """So much time went by; whether another event has happened meanwhile."""
        if not self.playing:
            return False
        self._seconds += seconds * self.speed
        before, self.place = self.place, max(self.place, self.line.place_at(self._seconds))
        self.playing = self.place < self.last
        return self.place != before


class PlayheadScreen(KeyActions, WorkerErrorReporter, Screen[None]):
    """A screen over a timeline. Subclasses draw what is at the playhead."""

    playhead: Playhead
    _beat: Timer | None = None
    _beat_at = 0.0

    @property
    def ready(self) -> bool:
        """Return True if there is a timeline to move on."""
        raise NotImplementedError

    def show_place(self) -> None:
        """Show what is at the playhead, which was moved."""
        raise NotImplementedError

    def show_beat(self, moved: bool) -> None:
        """Show that time went by; `moved`: to another event."""
        raise NotImplementedError

    def move(self, how: Callable[[Playhead], object]) -> None:
        """Move the playhead, and show where it stands then."""
        if not self.ready:
            return
        how(self.playhead)
        self.show_place()
        if self.playhead.playing and self._beat is None:
            self._beat_at = time.monotonic()
            self._beat = self.set_interval(BEAT_S, self._play)

    def _play(self) -> None:
        now = time.monotonic()
        passed, self._beat_at = now - self._beat_at, now
        moved = self.playhead.pass_time(passed)
        if not self.playhead.playing and self._beat is not None:
            self._beat.stop()
            self._beat = None
        self.show_beat(moved)

    def go(self, by: By, direction: int) -> None:
        """Go to the event, part, turn or marker before or behind."""
        self.move(lambda head: head.go(by, forward=direction > 0))

    def go_to_end(self, direction: int) -> None:
        """Go to the first or the last event."""
        self.move(lambda head: head.to(0 if direction < 0 else head.last))

    def change_speed(self, direction: int) -> None:
        """Play faster, or slower."""
        self.move(lambda head: head.change_speed(-direction))
