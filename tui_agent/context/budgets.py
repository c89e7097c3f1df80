"""Budgets of the sections of a request, and the order in which sections are shortened.

Invariant: no budget shortens user messages, tools or the product's own texts.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.window_limits import UNKNOWN_WINDOW, InferredWindow
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.settings import ContextMode

ALWAYS_SENT: Final[frozenset[SectionName]] = frozenset(
    ("system", "task_contract", "instructions", "available_tools")
)
"""Sections that have no budget and are sent in full."""

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
"""Maps a section to its share of the available tokens. The shares apply only to a request that is too long."""

SHORTENING_ORDER: Final[tuple[SectionName, ...]] = (
    "repo_map",
    "tool_results",
    "session_context",
    "packed_context",
    "mentions",
    "recent_observations",
)
"""Order in which sections of the history are shortened."""

EXCLUDED_FRAGMENTS: Final[Mapping[ContextMode, frozenset[SectionName]]] = {
    "none": frozenset(("working_memory", "instructions")),
    "pack": frozenset(("working_memory",)),
    "memory": frozenset(),
}
"""Maps a context mode to the sections whose fragments are left out."""

EXCLUDED_MESSAGES: Final[Mapping[ContextMode, frozenset[SectionName]]] = {
    "none": frozenset(("repo_map", "session_context", "instructions")),
    "pack": frozenset(),
    "memory": frozenset(),
}
"""Maps a context mode to the sections whose messages are left out."""
# No mode leaves out summaries: their content is in no other message.

MIN_ANSWER_TOKENS: Final = 256
"""Minimum number of tokens reserved for an answer, even if the user's messages fill the window."""
_MARGIN = 0.02


@dataclass(frozen=True, slots=True)
class Room:
    """The maximum tokens of a request. Both limits are None if the window is unknown.

    `tokens`: the usual limit: the window minus the room for the answer and a margin.
    `max_tokens`: a higher limit for user messages that do not fit in `tokens`. With this limit, only the minimum
    remains for the answer.
    """

    tokens: int | None
    max_tokens: int | None = None

    @classmethod
    def for_window(cls, window: int, answer: int, learnt: InferredWindow = UNKNOWN_WINDOW) -> "Room":
        """Compute the maximum tokens of a request for a model with a window of `window` tokens (0: unknown).

        `learnt`: the limits inferred from the provider's refusals.
        `answer`: tokens to reserve for the answer; at most half of the window is reserved.
        """
        size = learnt.stated_window(window)
        if size <= 0:
            return cls(learnt.tokens, learnt.last_resort) if learnt.tokens else cls(None)
        usable = round(size * (1 - _MARGIN))
        min_answer = min(answer, max(MIN_ANSWER_TOKENS, size // 16))
        limit, last = max(1, usable - min(answer, size // 2)), max(1, usable - min_answer)
        if learnt.tokens:
            return cls(min(limit, learnt.tokens), min(last, learnt.last_resort))
        return cls(limit, last if window == size else max(last, min(learnt.accepted, usable)))

    def budget(self, section: SectionName) -> int | None:
        """Return the maximum number of tokens in a section, or None if there is no limit."""
        share = SHARES.get(section)
        return None if share is None or self.tokens is None else round(self.tokens * share)


def divide_evenly(needs: Sequence[int], room: int) -> list[int]:
    """Divide `room` evenly and return one part for each need. No part is larger than its need."""
    rooms, room = [0] * len(needs), max(0, room)
    by_need = sorted(range(len(needs)), key=needs.__getitem__)
    for done, index in enumerate(by_need):
        rooms[index] = min(needs[index], room // (len(needs) - done))
        room -= rooms[index]
    return rooms
