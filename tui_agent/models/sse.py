"""Server-sent events out of bytes, as fast as plain Python goes.

Invariant: an event is only given out whole; what stands unfinished at the end of a body is dropped, not guessed.
"""

from collections.abc import Iterator

MAX_EVENT = 32 << 20


class TooLong(Exception):
    """One event is longer than any provider's."""


class EventParser:
    """Feed bytes as they come; get the `data` of each whole event."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of every event that these bytes complete, in order. Comments and other fields are skipped.

        Raises `TooLong`.
        """
        lines = (self._rest + chunk).split(b"\n") if self._rest else chunk.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_EVENT:
            raise TooLong
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
        """The body has ended: a last event whose blank line is missing counts when its line is whole."""
        yield from self.feed(b"\n\n")
