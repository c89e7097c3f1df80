"""Model client that wraps another client and adds faults to its answers, chosen by a seed.

Invariant: the same seed gives the same faults, and never more than two in a row, so that retries succeed.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

from tui_agent.models.provider_faults import fault
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import FinishChunk, ModelChunk, ModelClient, ModelRequest, TextChunk, ToolCallChunk
from tui_agent.protocol.events.model import FaultKind

ChaosFault: TypeAlias = Literal[
    "none",
    "rate_limit",
    "overloaded",
    "refused",
    "cut",
    "stall",
    "empty",
    "half_call",
    "no_id",
    "same_id",
    "repeat",
]

_IMMEDIATE_FAULTS: dict[ChaosFault, tuple[FaultKind, str]] = {
    "rate_limit": ("rate_limit", "Too many requests (chaos)."),
    "overloaded": ("overloaded", "The provider is overloaded (chaos)."),
    "refused": ("transport", "The connection was refused (chaos)."),
}
"""Faults that replace the whole answer by an error. Maps a fault to the error's (kind, message)."""
IN_A_ROW = 2
DISTURBED_FRACTION = 0.4
"""Fraction of the requests that get a disturbed answer."""


class ChaosClient:
    """Model client that disturbs the answers of the client `inner` according to a seeded plan."""

    def __init__(self, inner: ModelClient, seed: int, clock: Clock) -> None:
        self._inner = inner
        self._random = random.Random(seed)
        self._clock = clock
        self._faults_in_row = 0

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return one answer, possibly disturbed; see `ports.model.ModelClient`."""
        return aclosing(self._chunks(request, self._choose_fault()))

    async def aclose(self) -> None:
        """Close the inner client."""
        await self._inner.aclose()

    def _choose_fault(self) -> ChaosFault:
        kinds: tuple[ChaosFault, ...] = get_args(ChaosFault)[1:]
        chosen = self._random.choice(kinds)
        if self._random.random() >= DISTURBED_FRACTION or self._faults_in_row >= IN_A_ROW:
            self._faults_in_row = 0
            return "none"
        self._faults_in_row += 1
        return chosen

    async def _chunks(
        self, request: ModelRequest, fault_kind: ChaosFault
    ) -> AsyncGenerator[ModelChunk, None]:
        immediate = self._immediate_fault(fault_kind)
        if immediate is not None:
            yield immediate
            return
        stop = self._random.randrange(1, 6) if fault_kind in ("cut", "stall") else None
        count = 0
        async with self._inner.stream(request) as chunks:
            async for chunk in chunks:
                if fault_kind == "empty" and isinstance(chunk, TextChunk | ToolCallChunk):
                    continue
                count += 1
                if stop is not None and (count > stop or isinstance(chunk, FinishChunk)):
                    if fault_kind == "stall":
                        yield fault("timeout", "The provider stopped sending (chaos).")
                    return
                for piece in _disturb(chunk, fault_kind):
                    yield piece

    def _immediate_fault(self, fault_kind: ChaosFault) -> ModelChunk | None:
        if fault_kind not in _IMMEDIATE_FAULTS:
            return None
        kind, message = _IMMEDIATE_FAULTS[fault_kind]
        wait_s = self._random.choice([None, 1.0]) if kind == "rate_limit" else None
        return fault(kind, message, retry_after=wait_s)


def _disturb(chunk: ModelChunk, fault_kind: ChaosFault) -> list[ModelChunk]:
    """Return the chunks that replace `chunk` if the server has the fault `fault_kind`."""
    if not isinstance(chunk, ToolCallChunk):
        return [chunk]
    match fault_kind:
        case "half_call":
            return [replace(chunk, arguments=chunk.arguments[: len(chunk.arguments) // 2])]
        case "no_id":
            return [replace(chunk, call_id=None)]
        case "same_id":
            return [replace(chunk, call_id="call_0" if chunk.call_id else None)]
        case "repeat":
            return [chunk, replace(chunk, arguments="")]
        case _:
            return [chunk]
