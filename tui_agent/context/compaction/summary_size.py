"""Calculation of a summary's size, and a description of the largest sections of a request.

Invariant: required content is cut only if the window cannot hold it.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.context import Section, SectionName
from tui_agent.units import format_tokens

FULL: Final = 0.80
"""Maximum fraction of the window for a request with a summary. It can be exceeded if required content needs more."""
FULL_WHEN_CUT: Final = 0.60
"""If required content must be cut, the request should fill about this fraction of the window."""
MIN_KEPT: Final = 0.05
"""Minimum fraction of the window that is left for the newest messages."""
MIN_KEPT_IF_TIGHT: Final = 0.02
"""Minimum that replaces `MIN_KEPT` if the required content does not fit otherwise."""
STORY_FRACTION, MIN_STORY = 0.10, 0.02
"""Normal and minimum fraction of the window for a summary's story (the text about the work so far)."""
MIN_CHARS: Final = 2_000
"""The size limit of a summary is never lower than this number of characters."""
WORK: Final = 0.25
"""Fraction of the window that should be free for work between two summaries."""
_OVERHEAD_FACTOR: Final = 1.15
"""Size limit of a summary whose required content must be cut, as a multiple of the size of the user's words.

The part above 1 is room for the other required content.
"""


@dataclass(frozen=True, slots=True)
class FixedContent:
    """Sizes of the content that shares the window with a summary.

    `fixed`: tokens of everything except messages, such as the tools.
    `base`: `fixed` plus the tokens of the messages that stay.
    `fixed_chars`, `base_chars`: `fixed` and `base` in characters.
    """

    fixed_chars: int
    fixed: int
    base_chars: int
    base: int


@dataclass(frozen=True, slots=True)
class SummaryRoom:
    """Limits of a summary.

    `room`: maximum size in characters.
    `preferred`: preferred number of characters.
    `story`: number of characters for the story.
    `tokens`: maximum size in tokens.
    `cut`: True if required content does not fit.
    """

    room: int
    preferred: int
    story: int
    tokens: int
    cut: bool = False

    @classmethod
    def compute(
        cls, beside: FixedContent, window: int, last: int, per_char: float, needs: int, own: int, share: float
    ) -> "SummaryRoom":
        """Compute the limits of a summary in a window of `window` tokens.

        `last`: maximum tokens of a request (see `Room.max_tokens`).
        `per_char`: number of tokens per character.
        `needs`: number of characters of required content.
        `own`: number of characters in the user's words, which are a part of the required content.
        `share`: preferred fraction of the window for the whole request.
        """
        window_chars = window / per_char
        preferred = round(share * window_chars) - beside.base_chars
        story = round(min(STORY_FRACTION * window_chars, max(MIN_STORY * window_chars, preferred - needs)))
        room = max(MIN_CHARS, round(FULL * window_chars) - beside.base_chars)
        if needs + MIN_CHARS // 4 <= room:
            return cls(room, max(preferred, story), story, max(1, round(FULL * window) - beside.base))

        def beside_work(history_tokens: int) -> tuple[int, int]:
            max_chars = max(MIN_CHARS, round((last - history_tokens) / per_char) - beside.fixed_chars)
            return max_chars, max(1, last - history_tokens - beside.fixed)

        for least, beside_needs in ((MIN_KEPT, MIN_CHARS // 4), (MIN_KEPT_IF_TIGHT, 0)):
            max_chars, tokens = beside_work(round(least * window))
            if needs + beside_needs <= max_chars:
                return cls(max_chars, max(preferred, story), story, tokens)
        max_chars, tokens = beside_work(round(MIN_KEPT * window))
        preferred_chars = round(FULL_WHEN_CUT * window_chars) - beside.base_chars
        max_chars = max(MIN_CHARS, preferred_chars, min(max_chars, round(own * _OVERHEAD_FACTOR) + MIN_CHARS))
        return cls(max_chars, max(preferred, story), story, tokens, cut=True)


_NAMES: Final[dict[SectionName, str]] = {
    "system": "the system prompt",
    "task_contract": "your messages",
    "available_tools": "the tools",
    "instructions": "the instructions",
    "packed_context": "summaries",
    "mentions": "mentioned files",
}


def describe_sections(sections: Sequence[Section]) -> str:
    """Describe a request's largest sections, as in `your messages 5,001 tokens, the tools 2,890, the rest 300`."""
    sizes: dict[str, int] = {}
    for section in sections:
        name = _NAMES.get(section.name, "the rest")
        sizes[name] = sizes.get(name, 0) + section.tokens
    rest = sizes.pop("the rest", 0)
    largest = sorted(((tokens, name) for name, tokens in sizes.items() if tokens), reverse=True)
    parts = [f"{name} {format_tokens(tokens)}" for tokens, name in largest] + (
        [f"the rest {format_tokens(rest)}"] if rest else []
    )
    return ", ".join([f"{parts[0]} tokens", *parts[1:]]) if parts else "nothing"
