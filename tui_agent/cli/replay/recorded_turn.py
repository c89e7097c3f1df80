"""What reached one recorded turn from outside, for running it again: the model's answers and the map.

Invariant: an answer is given by its place in the turn, whatever the history held when it came: a turn that goes on
from an open question, or in a history that was shortened, gets its own.
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
    """The turn that is run again; a model and the maps of it at once. `name` stands in messages."""

    def __init__(self, name: str, blobs: BlobReader) -> None:
        self._name = name
        self._blobs = blobs
        self._events: Sequence[Envelope] = ()
        self._answers: list[ModelResponded] = []
        self._asked = 0

    def begin(self, events: Sequence[Envelope]) -> None:
        """From now on this turn's answers are given, from the first one."""
        self._events, self._asked = events, 0
        self._answers = list(recorded_answers(events, self._blobs))

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """The turn's next answer; see `ports.model.ModelClient`."""
        return aclosing(self._chunks())

    async def _chunks(self) -> AsyncGenerator[ModelChunk, None]:
        await checkpoint()
        self._asked += 1
        if self._asked > len(self._answers):
            yield fault(
                "script",
                f"This turn of {self._name} has {len(self._answers)} recorded answers, and a further one was asked for.",
            )
            return
        for chunk in chunks_of(self._answers[self._asked - 1]):
            yield chunk

    async def shown(self, wish: MapWish) -> MapShown:
        """The map that the turn began with; one of no files where it had none. Raises the recorded `EnvironmentFault`."""
        built = used = None
        for event in self._events:
            match event.payload:
                case RepomapBuilt() as payload:
                    built = built or payload
                case RepomapUsed(injected=True) as payload:
                    used = used or payload
                case ErrorRaised(where="repo_map") as fault_then:
                    raise EnvironmentFault(fault_then.message, hint=fault_then.hint)
                case _:
                    pass
        if built is None or used is None:
            return MapShown("", 0, (), 0, 0, False, 0.0)
        text = self._blobs.text(used.text)
        return MapShown(text, used.tokens, used.files, built.files, built.skipped, built.partial, 0.0)

    async def soon(self, wish: MapWish, seconds: float) -> MapShown | None:
        """The map that the turn began with; None where its first request went out before that was there."""
        began = (one.payload for one in self._events if isinstance(one.payload, RepomapBuilt))
        first = next(began, None)
        return None if first is not None and first.late else await self.shown(wish)

    def late(self) -> MapShown | None:
        """None: of a map that came later it is not known when."""
        return None

    async def aclose(self) -> None:
        """Nothing is held open."""
