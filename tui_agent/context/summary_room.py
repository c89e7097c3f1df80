"""How much of the window a summary may fill, and what fills a window, in words.

Invariant: pure. What must not be lost stands whole wherever the window holds it beside what no request goes without and
little of the newest messages; only then room for work counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tui_agent.protocol.events.context import Section, SectionName

FULL: Final = 0.80
"""What of the window a summary may fill, with all that stands beside it, while there is room for work then."""
FULL_WHEN_CUT: Final = 0.60
"""The same where what must not be lost does not fit at all: it is cut in any case."""
LEAST_KEPT: Final = 0.05
"""What of the window is left for the newest messages at least."""
LEAST_TIGHT: Final = 0.02
"""The same where what must not be lost is whole then: results have a few lines."""
STORY_SHARE, LEAST_STORY = 0.10, 0.02
"""What of the window the story in a summary may take."""
LEAST_CHARS: Final = 2_000
"""A summary has room for so much in any case."""
WORK: Final = 0.25
"""What of the window there should be for work between one summary and the next."""
_BESIDE: Final = 1.15
"""What a person said, with what else a summary cannot do without."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What a summary has to share the window with, in characters and tokens: what is no message (`fixed`), and that with the
    messages that stay (`base`)."""

    fixed_chars: int
    fixed: int
    base_chars: int
    base: int


@dataclass(frozen=True, slots=True)
class SummaryRoom:
    """Characters that a summary may have at most, and is wished to have; those of its story; tokens that it may have. `cut`:
    not all that must not be lost has room."""

    room: int
    wished: int
    story: int
    tokens: int
    cut: bool = False

    @classmethod
    def of(
        cls, beside: Beside, window: int, last: int, per_char: float, needs: int, own: int, share: float
    ) -> "SummaryRoom":
        """The room in a `window` of which a person's words may take `last`. `needs` are the characters of what must not be
        lost, `own` those of a person's own words in it; `share` is what the request is wished to fill."""
        whole = window / per_char
        wished = round(share * whole) - beside.base_chars
        story = round(min(STORY_SHARE * whole, max(LEAST_STORY * whole, wished - needs)))
        room = max(LEAST_CHARS, round(FULL * whole) - beside.base_chars)
        if needs + LEAST_CHARS // 4 <= room:
            return cls(room, max(wished, story), story, max(1, round(FULL * window) - beside.base))

        def beside_work(kept: int) -> tuple[int, int]:
            most = max(LEAST_CHARS, round((last - kept) / per_char) - beside.fixed_chars)
            return most, max(1, last - kept - beside.fixed)

        for least, beside_needs in ((LEAST_KEPT, LEAST_CHARS // 4), (LEAST_TIGHT, 0)):
            most, tokens = beside_work(round(least * window))
            if needs + beside_needs <= most:
                return cls(most, max(wished, story), story, tokens)
        most, tokens = beside_work(round(LEAST_KEPT * window))
        some = round(FULL_WHEN_CUT * whole) - beside.base_chars
        most = max(LEAST_CHARS, some, min(most, round(own * _BESIDE) + LEAST_CHARS))
        return cls(most, max(wished, story), story, tokens, cut=True)


_NAMES: Final[dict[SectionName, str]] = {
    "system": "the program's prompt",
    "task_contract": "your messages",
    "available_tools": "the tools",
    "instructions": "the instructions",
    "packed_context": "what summaries keep",
    "mentions": "mentioned files",
}


def fills(sections: Sequence[Section]) -> str:
    """What a request is mostly made of, the largest first: `your messages 5,001 tokens, the tools 2,890, the rest 300`."""
    sizes: dict[str, int] = {}
    for one in sections:
        name = _NAMES.get(one.name, "the rest")
        sizes[name] = sizes.get(name, 0) + one.tokens
    rest = sizes.pop("the rest", 0)
    largest = sorted(((tokens, name) for name, tokens in sizes.items() if tokens), reverse=True)
    told = [f"{name} {tokens:,}" for tokens, name in largest] + ([f"the rest {rest:,}"] if rest else [])
    return ", ".join([f"{told[0]} tokens", *told[1:]]) if told else "nothing"
