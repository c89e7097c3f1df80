"""Which results of calls models are still told as they came, and by which summary the main agent's others are told.

Invariant: as the branch has it that the log stands on: what a revert took off is told no more, and what a summary stood for
that was taken back is told again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_agent.folds.session.branches import Move, on_branch, stretches
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import ContextCompacted, ContextReduced, ContextRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import MAIN_AGENT, AgentId

TAKES: tuple[type[Payload], ...] = (
    ToolFinished,
    ContextCompacted,
    ContextReduced,
    ContextRestored,
    AgentFinished,
    SessionHeadMoved,
)


@dataclass(frozen=True, slots=True)
class _Deed:
    """What an event did: a result came (none of the others is given), results got a summary or a line (`by` is the event
    itself), came back (`back`; or all that the summary `undone` took), or the agent ended."""

    seq: int
    agent: AgentId
    away: tuple[int, ...] = ()
    line: bool = False
    summary: int | None = None
    back: frozenset[int] = frozenset()
    undone: int | None = None
    ended: bool = False
    came: bool = False


@dataclass(slots=True)
class _Standing:
    """As of one event: the results that are hot, by event; by which event the others were put away, and whether behind a
    line; the main agent's summaries that stand, with their lengths."""

    hot: dict[int, AgentId] = field(default_factory=dict)
    cold: dict[int, tuple[int, bool, AgentId]] = field(default_factory=dict)
    summaries: list[tuple[int, int]] = field(default_factory=list)

    def take(self, deed: _Deed) -> None:
        """Go on by one event."""
        if deed.came:
            self.hot[deed.seq] = deed.agent
        for seq in deed.away:
            agent = self.hot.pop(seq, None)
            if agent is not None:
                self.cold[seq] = deed.seq, deed.line, agent
        if deed.summary is not None:
            self.summaries.append((deed.seq, deed.summary))
        if deed.ended:
            self.hot = {seq: agent for seq, agent in self.hot.items() if agent != deed.agent}
        if deed.back or deed.undone is not None:
            self._warm(deed)

    def _warm(self, deed: _Deed) -> None:
        """What stands behind a line is whole again; of what a summary took one result comes back as a quotation only."""
        for seq, (by, line, agent) in list(self.cold.items()):
            if by == deed.undone or (line and seq in deed.back):
                del self.cold[seq]
                self.hot[seq] = agent
        self.summaries = [one for one in self.summaries if one[0] != deed.undone]


class Observed:
    """Folds results, what is put away and brought back, and moves of the head."""

    def __init__(self) -> None:
        self._deeds: list[_Deed] = []
        self._moves: list[Move] = []
        self._now = _Standing()

    @property
    def hot(self) -> int:
        """How many results are told as they came."""
        return len(self._now.hot)

    @property
    def summary_chars(self) -> int:
        """Length of the main agent's newest summary that stands."""
        return self._now.summaries[-1][1] if self._now.summaries else 0

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if it may have changed something. A move of the head costs a look at all results."""
        if isinstance(ev.payload, SessionHeadMoved):
            self._move(ev, ev.payload)
            return True
        deed = _deed_of(ev)
        if deed is None:
            return False
        self._deeds.append(deed)
        self._now.take(deed)
        return True

    def _move(self, ev: Envelope, moved: SessionHeadMoved) -> None:
        self._moves.append(Move(ev.seq, ev.at, moved.to_seq, moved.from_seq, moved.reason, moved.files))
        branch = stretches(self._moves, ev.seq)
        self._now = _standing(one for one in self._deeds if on_branch(one.seq, branch))


def _standing(deeds: Iterable[_Deed]) -> _Standing:
    now = _Standing()
    for deed in deeds:
        now.take(deed)
    return now


def _deed_of(ev: Envelope) -> _Deed | None:
    match ev.payload:
        case ToolFinished():
            return _Deed(ev.seq, ev.agent, came=True)
        case ContextCompacted(forgets=forgets, summary=summary):
            size = _size(summary) if ev.agent == MAIN_AGENT else None
            return _Deed(ev.seq, ev.agent, away=forgets, summary=size)
        case ContextReduced(forgets=forgets):
            return _Deed(ev.seq, ev.agent, away=forgets, line=True)
        case ContextRestored(seqs=seqs, compaction=compaction):
            return _Deed(ev.seq, ev.agent, back=frozenset(seqs), undone=compaction)
        case AgentFinished():
            return _Deed(ev.seq, ev.agent, ended=True)
        case _:
            return None


def _size(text: LongText) -> int:
    return text.size if isinstance(text, BlobText) else len(text)
