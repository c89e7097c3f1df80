"""L4: merges small pieces of streaming text before they are recorded: at most 20 events a second, or 2 KB each.

Invariant: the pieces of one key come out in order and whole; pieces of different keys never mix.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

import anyio

from tui_agent.errors import StoreError
from tui_agent.ports.clock import Clock

KeyT = TypeVar("KeyT", bound=Hashable)

INTERVAL = 0.05
LIMIT = 2048
LONGEST_WORD = 256
"""Characters without a space that are held back at most."""


class Merger(Generic[KeyT]):
    """Collects text by key and hands it to `emit(key, text)`. What `emit` refuses by raising stays held.

    While a key's text still grows it is cut at the end of a word, so that a secret is not split over two events and
    missed by redaction.
    """

    def __init__(self, clock: Clock, emit: Callable[[KeyT, str], None]) -> None:
        self._clock = clock
        self._emit = emit
        self._key: KeyT | None = None
        self._pieces: list[str] = []
        self._size = 0
        self._flushed_at = clock.monotonic()

    def add(self, key: KeyT, text: str) -> None:
        """Take a piece in; emits when the interval or the size is reached, or the key changes."""
        if key != self._key:
            self.finish()
            self._key = key
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= LIMIT or self._clock.monotonic() - self._flushed_at >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Emit what is held, up to the end of its last whole word."""
        if self._size:
            held = "".join(self._pieces)
            end = _word_end(held)
            self._send(held[:end], held[end:])
        self._flushed_at = self._clock.monotonic()

    def finish(self) -> None:
        """Emit all that is held."""
        if self._size:
            self._send("".join(self._pieces), "")
        self._flushed_at = self._clock.monotonic()

    def _send(self, text: str, rest: str) -> None:
        assert self._key is not None
        for start in range(0, len(text), LIMIT):
            self._emit(self._key, text[start : start + LIMIT])
        self._pieces = [rest] if rest else []
        self._size = len(rest)


def _word_end(text: str) -> int:
    """Where the last word that may still grow begins; the whole length when it is longer than any secret."""
    start = max(0, len(text) - LONGEST_WORD)
    for position in range(len(text) - 1, start - 1, -1):
        if text[position].isspace() or text[position] > "\x7f":
            return position + 1
    return len(text) if start else 0


class _Flushes(Protocol):
    def flush(self) -> None: ...


class Ticker:
    """Flushes the active mergers of stalled sources, 20 times a second; sleeps while there are none."""

    def __init__(self) -> None:
        self._active: set[_Flushes] = set()
        self._wake = anyio.Event()

    @contextmanager
    def merging(
        self, clock: Clock, emit: Callable[[KeyT, str], None], kind: type[KeyT] | None = None
    ) -> Iterator[Merger[KeyT]]:
        """A merger for as long as the block runs; what is left is flushed at its end, also on errors."""
        merger = Merger(clock, emit)
        self._active.add(merger)
        self._wake.set()
        try:
            yield merger
        finally:
            self._active.discard(merger)
            merger.finish()

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            if not self._active:
                self._wake = anyio.Event()
                await self._wake.wait()
            await anyio.sleep(INTERVAL)
            for merger in tuple(self._active):
                try:
                    merger.flush()
                except StoreError:
                    continue  # its source meets the same error with its next piece and reports it
