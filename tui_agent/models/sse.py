"""Parser of server-sent events, optimised for speed.

Invariant: only complete events are returned.
"""

from collections.abc import Iterator

MAX_EVENT = 32 << 20


class EventTooLong(Exception):
    """Raised for an event that is longer than any provider sends."""


class EventParser:
    """Parses bytes as they arrive, and returns the `data` of each complete event."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of every event that these bytes complete. Raise `EventTooLong` if an event is too long."""
        lines = (self._rest + chunk).split(b"\n") if self._rest else chunk.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_EVENT:
            raise EventTooLong
        data = self._data
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if not line:
                if data:
                    yield data[0] if len(data) == 1 else b"\n".join(data)
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])

    def close(self) -> Iterator[bytes]:
        """End the body. Yield the last event, even if the blank line after this event is missing."""
        yield from self.feed(b"\n\n")
