"""How much of the window each section may take, and what goes first where a request does not fit.

Invariant: what the user said, the rules, the tools and the product's own words are never cut here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tui_agent.folds.context.window_limits import NOTHING, LearntWindow
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
_MARGIN = 0.02


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that a request may take: the window without the answer's share and a margin; None where it is not known.
    `last` is what it may take where a person's words need it: the answer has only what it cannot do without."""

    tokens: int | None
    last: int | None = None

    @classmethod
    def of(cls, window: int, answer: int, learnt: LearntWindow = NOTHING) -> "Room":
        """The room in a window (0: not known); the answer never takes more than half of it. No more than what a provider's
        refusal taught; a person's words may have as many tokens as it took before."""
        said = learnt.said(window)
        if said <= 0:
            return cls(learnt.tokens, learnt.last) if learnt.tokens else cls(None)
        whole = round(said * (1 - _MARGIN))
        least = min(answer, max(LEAST_ANSWER, said // 16))
        most, last = max(1, whole - min(answer, said // 2)), max(1, whole - least)
        if learnt.tokens:
            return cls(min(most, learnt.tokens), min(last, learnt.last))
        return cls(most, last if window == said else max(last, min(learnt.held, whole)))

    def budget(self, section: SectionName) -> int | None:
        """Tokens of a section; None where it has no bound of its own."""
        share = SHARES.get(section)
        return None if share is None or self.tokens is None else round(self.tokens * share)
