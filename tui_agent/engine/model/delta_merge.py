"""Merges small pieces of streaming text before they are recorded: at most 20 events a second, or 2 KB each.

Invariant: the pieces of one key come out in order and whole; pieces of different keys never mix.
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
    """Collects text by key and hands it to `emit(key, text)`. What `emit` refuses by raising stays held.

    A key's text is cut only where no secret can be split over two events and missed by redaction (see `cutting`).
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
        """Emit what is held, up to where it may be cut."""
        if self._size:
            held = "".join(self._pieces)
            end = safe_end(held)
            self._send(held[:end], held[end:])
        self._flushed_at = self._clock.monotonic()

    def finish(self) -> None:
        """Emit all that is held."""
        if self._size:
            self._send("".join(self._pieces), "")
        self._flushed_at = self._clock.monotonic()

    def _send(self, text: str, rest: str) -> None:
        assert self._key is not None
        start = 0
        while start < len(text):
            piece = text[start : start + LIMIT]
            if start + LIMIT < len(text):
                whole = text[start : start + MOST_HELD]
                piece = piece[: safe_end(piece)] or whole[: safe_end(whole)] or whole
            self._emit(self._key, piece)
            start += len(piece)
        self._pieces = [rest] if rest else []
        self._size = len(rest)


class HeldCalls:
    """Holds the arguments of tool calls back until the answer is complete.

    Only the text around it shows that a part of a command is a secret: pieces of the password behind `curl -u` would be
    recorded, and printed by `run --json`, before that is known.
    """

    def __init__(self) -> None:
        self._pieces: dict[int, list[str]] = {}
        self._names: dict[int, str] = {}

    def add(self, block: int, name: str, text: str) -> None:
        """Take a piece of the arguments of a call in."""
        self._pieces.setdefault(block, []).append(text)
        self._names[block] = name

    def texts(self) -> Iterator[tuple[int, str, str]]:
        """Yield each call's block, name and arguments."""
        for block, pieces in self._pieces.items():
            yield block, self._names[block], "".join(pieces)


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
