"""Recorded input of one turn for running it again: the model's answers and the repository map.

Invariant: answers are returned by their order in the turn, independent of the history: a turn that continues after a
question, or with a shortened history, gets its own answers.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing

from anyio.lowlevel import checkpoint

from tui_agent.errors import EnvironmentFault
from tui_agent.models.faults import fault
from tui_agent.models.replay import chunks_of, recorded_answers
from tui_agent.ports.log import BlobReader
from tui_agent.ports.model import ModelChunk, ModelRequest
from tui_agent.ports.repomap import MapShown, MapWish
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import ErrorRaised


class RecordedTurn:
    """The turn that is run again, used as its model and its map. `name` appears in messages."""

    def __init__(self, name: str, blobs: BlobReader) -> None:
        self._name = name
        self._blobs = blobs
        self._events: Sequence[Envelope] = ()
        self._answers: list[ModelResponded] = []
        self._requests = 0

    def begin(self, events: Sequence[Envelope]) -> None:
        """Start a turn: its answers are returned from the first one on."""
        self._events, self._requests = events, 0
        self._answers = list(recorded_answers(events, self._blobs))

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return the turn's next answer; see `ports.model.ModelClient`."""
        return aclosing(self._chunks())

    async def _chunks(self) -> AsyncGenerator[ModelChunk, None]:
        await checkpoint()
        self._requests += 1
        if self._requests > len(self._answers):
            yield fault(
                "script",
                f"This turn of {self._name} has only {len(self._answers)} recorded answers, but another was requested.",
            )
            return
        for chunk in chunks_of(self._answers[self._requests - 1]):
            yield chunk

    async def shown(self, wish: MapWish) -> MapShown:
        """Return the map that the turn began with, or an empty one. Raises the recorded `EnvironmentFault`."""
        built = used = None
        for event in self._events:
            match event.payload:
                case RepomapBuilt() as payload:
                    built = built or payload
                case RepomapUsed(injected=True) as payload:
                    used = used or payload
                case ErrorRaised(where="repo_map") as recorded_fault:
                    raise EnvironmentFault(recorded_fault.message, hint=recorded_fault.hint)
                case _:
                    pass
        if built is None or used is None:
            return MapShown("", 0, (), 0, 0, False, 0.0)
        text = self._blobs.text(used.text)
        return MapShown(text, used.tokens, used.files, built.files, built.skipped, built.partial, 0.0)

    async def soon(self, wish: MapWish, seconds: float) -> MapShown | None:
        """Return the map that the turn began with; None if its first request was sent before the map was ready."""
        maps = (event.payload for event in self._events if isinstance(event.payload, RepomapBuilt))
        first = next(maps, None)
        return None if first is not None and first.late else await self.shown(wish)

    def late(self) -> MapShown | None:
        """Return None: the time of a late map is not recorded."""
        return None

    async def aclose(self) -> None:
        """Do nothing: no resources are open."""
