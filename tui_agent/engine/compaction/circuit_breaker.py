"""What stops an agent whose context is made smaller in vain: circles are told, and summaries that leave little are rare.

Invariant: it is as the log has it: a run that takes a session up goes on where the one before it stood. A person's new
words begin the count of circles anew, a turn that only goes on does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from anyio import to_thread

from tui_agent.context.summary_room import WORK
from tui_agent.engine.compaction.loop_detector import Circles
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked, ContextReduced, ContextStuck
from tui_agent.protocol.ids import MAIN_AGENT, AgentId

APART: Final = 10
"""So many requests come between two summaries of which the first left little room for work."""
TIGHT: Final = (
    "Results are sent shortened, and turns summarised seldom. A model with a larger window (/model) has room."
)


@dataclass(frozen=True, slots=True)
class _Past:
    """Of one agent, since a person's newest words and since its newest summary: where room was made, what that summary
    left, how many requests went out since, and whether it was told that little room is left."""

    made: tuple[int, ...]
    floor: int
    requests: int
    tight: bool


class Breaker:
    """One agent's."""

    def __init__(self, recorder: Recorder, agent: AgentId) -> None:
        self._recorder = recorder
        self._agent = agent
        self._circles = Circles()
        self._words: int | None = None
        """The event of the words that the count of circles began with."""
        self._taken_up = False
        self._requests = 0
        self._waits = 0
        """The request from which on the next summary may come: the newest one left little room for work."""
        self.floor = 0
        """Tokens that the newest summary left."""
        self.told_tight = ""
        """The model of which was told that little room is left."""

    @property
    def rests(self) -> bool:
        """Whether the next summary is not to come yet."""
        return self._requests < self._waits

    def begin(self) -> None:
        """A turn begins."""
        words = max(self._recorder.history(self._agent).forgotten.spoken, default=-1)
        if words != self._words:
            self._words = words
            self._circles.begin(self._recorder.state.seq)

    def request(self) -> None:
        """One more request goes out."""
        self._requests += 1

    def summarised(self, after: int, last: int, window: int) -> bool:
        """A summary left so much, of which the newest request may have `last`; whether that is little room for work."""
        self.floor = after
        little = last - after < WORK * window
        if little:
            self._waits = self._requests + APART
        return little

    def closed(self) -> bool:
        """Room is made, or was just made, once more; True where the agent goes in circles."""
        history = self._recorder.history(self._agent)
        return self._circles.closed(history.originals(), history.forgotten.own)

    async def take_up(self, last: int, window: int, model: str) -> None:
        """Before room is made for the first time: go on from what earlier runs have recorded. Beside the loop."""
        history = self._recorder.history(self._agent)
        gone = history.forgotten
        if self._taken_up or self._agent != MAIN_AGENT or not (gone.layers or gone.reduced):
            self._taken_up = True
            return
        self._taken_up = True
        words, newest = max(gone.spoken, default=-1), gone.newest
        since = words if newest is None else min(words, newest - 1)
        past = await to_thread.run_sync(lambda: _past(self._recorder.behind(since), words, newest))
        originals = history.originals()
        self._circles.begin(words)
        for seq in past.made:
            self._circles.closed((one for one in originals if one.seq < seq), gone.own)
        self.floor = past.floor
        if newest is not None and last - past.floor < WORK * window:
            self._waits = self._requests + APART - past.requests
        self.told_tight = model if past.tight else ""


def _past(records: Iterable[Record], words: int, newest: int | None) -> _Past:
    """`words` and `newest` are the events of a person's newest words, and of the summary that stands."""
    made, floor, requests, tight = list[int](), 0, 0, False
    for record in _own(records):
        match record.payload:
            case ContextCompacted(by=by, after_tokens=after):
                if by != "user" and record.seq > words:
                    made.append(record.seq)
                if record.seq == newest:
                    floor, requests = after, 0
            case ContextReduced() if record.seq > words:
                made.append(record.seq)
            case ContextPacked():
                requests += 1
            case ContextStuck(hint=hint):
                tight = tight or hint == TIGHT
            case _:
                pass
    return _Past(tuple(made), floor, requests, tight)


def _own(records: Iterable[Record]) -> Sequence[Envelope]:
    return [one for one in records if isinstance(one, Envelope) and one.agent == MAIN_AGENT]
