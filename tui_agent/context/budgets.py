"""L3: how much of the window each section may take, and what goes first where a request does not fit.

Invariant: what the user said, the rules, the tools and the product's own words are never cut here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.settings import ContextMode

KEPT: Final[frozenset[SectionName]] = frozenset(
    ("system", "task_contract", "instructions", "available_tools")
)
"""Sections that are always sent whole."""

SHARES: Final[Mapping[SectionName, float]] = {
    "instructions": 0.10,
    "session_context": 0.05,
    "working_memory": 0.03,
    "repo_map": 0.03,
    "mentions": 0.25,
    "packed_context": 0.25,
    "tool_results": 0.40,
    "recent_observations": 0.40,
}
"""Shares of the room. They bind only where the whole does not fit, so that what was sent stays as it was sent."""

ORDER: Final[tuple[SectionName, ...]] = (
    "repo_map",
    "tool_results",
    "session_context",
    "packed_context",
    "mentions",
    "recent_observations",
)
"""In which order sections of the history give way, after the working memory."""

LEFT_OUT: Final[Mapping[ContextMode, frozenset[SectionName]]] = {
    "none": frozenset(("working_memory", "instructions")),
    "pack": frozenset(("working_memory",)),
    "memory": frozenset(),
}
"""The sections whose fragments a context mode leaves out."""

NOT_SENT: Final[Mapping[ContextMode, frozenset[SectionName]]] = {
    "none": frozenset(("repo_map", "session_context", "instructions")),
    "pack": frozenset(),
    "memory": frozenset(),
}
"""The sections whose messages it leaves out. A summary stays in every mode: what it stands for would be lost."""

LEAST_ANSWER: Final = 256
"""Tokens of an answer that are kept free whatever a person said."""
BELOW_REFUSED: Final = 0.75
"""What is tried next of a request that a provider found too long."""
_MARGIN = 0.02


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that a request may take: the window without the answer's share and a margin; None where it is not known.
    `last` is what it may take where a person's words need it: the answer has only what it cannot do without."""

    tokens: int | None
    last: int | None = None

    @classmethod
    def of(cls, window: int, answer: int, learnt: int = 0, held: int = 0) -> "Room":
        """The room in a window; the answer never takes more than half of it. No more than the `learnt` tokens, where a
        provider refused more; a person's words may have as many as it `held` before."""
        if window <= 0:
            return cls(learnt, max(learnt, held)) if learnt else cls(None)
        whole = round(window * (1 - _MARGIN))
        least = min(answer, max(LEAST_ANSWER, window // 16))
        rooms = max(1, whole - min(answer, window // 2)), max(1, whole - least)
        return cls(min(rooms[0], learnt), min(rooms[1], max(learnt, held))) if learnt else cls(*rooms)

    def budget(self, section: SectionName) -> int | None:
        """Tokens of a section; None where it has no bound of its own."""
        share = SHARES.get(section)
        return None if share is None or self.tokens is None else round(self.tokens * share)


def least_of(window: int, learnt: int) -> int:
    """The tokens that count as a model's window, where its provider may have refused what its own window holds."""
    return min(window or learnt, learnt or window)
