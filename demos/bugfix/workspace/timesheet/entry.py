"""One shift of a sheet."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Entry:
    """A shift: its day as written, its name, and the times it starts and ends."""

    day: str
    name: str
    start: datetime
    end: datetime

    @property
    def duration(self) -> timedelta:
        return self.end - self.start


def parse_line(line: str) -> Entry:
    """Read `day;name;HH:MM;HH:MM`."""
    day, name, start, end = line.strip().split(";")
    return Entry(day, name, datetime.strptime(start, "%H:%M"), datetime.strptime(end, "%H:%M"))
