"""Where a replay stands on its line, and how it moves by itself. Invariant: pure; time is told, never asked for."""

from typing import Final, Literal, TypeAlias

from tui_agent.folds.trace.timeline import Timeline

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
        self.to(self.line.beat(self.place, by, forward))

    def tenth(self, number: int) -> None:
        """So many tenths along the line."""
        self.to(self.line.at(self.line.length * number / 10))

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
        before, self.place = self.place, max(self.place, self.line.at(self._seconds))
        self.playing = self.place < self.last
        return self.place != before
