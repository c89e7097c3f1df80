"""Merging of small pieces of streaming text before they are recorded: every 50 ms, or every 2 KB.

Invariant: the text of one key comes out complete and in order; texts of different keys never mix.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

import anyio

from tui_agent.engine.model.delta_cut import MOST_HELD, safe_end
from tui_agent.errors import StoreError
from tui_agent.ports.clock import Clock

KeyT = TypeVar("KeyT", bound=Hashable)

INTERVAL = 0.05
LIMIT = 2048


class Merger(Generic[KeyT]):
    """A buffer that collects text by key and passes it to `emit(key, text)`. If `emit` raises, the text stays buffered.

    Text is cut only where no secret can be split over two events and missed by redaction (see `delta_cut`).
    """

    def __init__(self, clock: Clock, emit: Callable[[KeyT, str], None]) -> None:
        self._clock = clock
        self._emit = emit
        self._key: KeyT | None = None
        self._pieces: list[str] = []
        self._size = 0
        self._flushed_at = clock.monotonic()

    def add(self, key: KeyT, text: str) -> None:
        """Add a piece; emit if the interval is over, the size limit is reached, or the key changes."""
        if key != self._key:
            self.finish()
            self._key = key
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= LIMIT or self._clock.monotonic() - self._flushed_at >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Emit the buffered text up to the last safe place."""
        if self._size:
            text = "".join(self._pieces)
            end = safe_end(text)
            self._send(text[:end], text[end:])
        self._flushed_at = self._clock.monotonic()

    def finish(self) -> None:
        """Emit all buffered text."""
        if self._size:
            self._send("".join(self._pieces), "")
        self._flushed_at = self._clock.monotonic()

    def _send(self, text: str, rest: str) -> None:
        assert self._key is not None
        start = 0
        while start < len(text):
            piece = text[start : start + LIMIT]
            if start + LIMIT < len(text):
                longest = text[start : start + MOST_HELD]
                piece = piece[: safe_end(piece)] or longest[: safe_end(longest)] or longest
            self._emit(self._key, piece)
            start += len(piece)
        self._pieces = [rest] if rest else []
        self._size = len(rest)


class HeldCalls:
    """A buffer that holds back the arguments of tool calls until the answer is complete.

    Only its context shows that a part of a command is a secret: pieces of the password after `curl -u` would be
    recorded, and printed by `run --json`, before that is known.
    """

    def __init__(self) -> None:
        self._pieces: dict[int, list[str]] = {}
        self._names: dict[int, str] = {}

    def add(self, block: int, name: str, text: str) -> None:
        """Add a piece of a call's arguments."""
        self._pieces.setdefault(block, []).append(text)
        self._names[block] = name

    def texts(self) -> Iterator[tuple[int, str, str]]:
        """Yield each call's block, name and arguments."""
        for block, pieces in self._pieces.items():
            yield block, self._names[block], "".join(pieces)


class _Flushable(Protocol):
    def flush(self) -> None: ...


class Ticker:
    """A timer that flushes the active mergers every `INTERVAL`, in case their source stalls; sleeps if there are none."""

    def __init__(self) -> None:
        self._active: set[_Flushable] = set()
        self._wake = anyio.Event()

    @contextmanager
    def merging(
        self, clock: Clock, emit: Callable[[KeyT, str], None], kind: type[KeyT] | None = None
    ) -> Iterator[Merger[KeyT]]:
        """Provide a merger for the `with` block; the rest is emitted at its end, also on errors."""
        merger = Merger(clock, emit)
        self._active.add(merger)
        self._wake.set()
        try:
            yield merger
        finally:
            self._active.discard(merger)
            merger.finish()

    async def run(self) -> None:
        """Flush regularly until cancelled."""
        while True:
            if not self._active:
                self._wake = anyio.Event()
                await self._wake.wait()
            await anyio.sleep(INTERVAL)
            for merger in tuple(self._active):
                try:
                    merger.flush()
                except StoreError:
                    continue  # the merger's source gets the same error with its next piece, and reports it
