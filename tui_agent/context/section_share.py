"""Share of one section in a request's context, and how a message is split among sections."""

from dataclasses import dataclass, field

from tui_agent.context.token_counts import Counted
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.messages import SummaryMessage


@dataclass(slots=True)
class SectionShare:
    """Size of a section: characters and uncorrected tokens before and after shortening."""

    raw_chars: int = 0
    chars: int = 0
    raw: int = 0
    tokens: int = 0
    short: int = 0
    lost: int = 0
    """Characters that a summary has no room for."""
    dropped: int = 0
    rules: list[str] = field(default_factory=list)

    def add(self, chars: int, tokens: int) -> None:
        """Count a piece that is sent whole."""
        self.raw_chars += chars
        self.chars += chars
        self.tokens += tokens

    def merge(self, more: "SectionShare") -> None:
        """Count another share of the same section."""
        self.add(more.chars, more.tokens)
        self.raw_chars += more.lost
        self.lost += more.lost
        self.dropped += more.dropped
        self.rules += [rule for rule in more.rules if rule not in self.rules]


def split_shares(count: Counted, section: SectionName) -> list[tuple[SectionName, SectionShare]]:
    """Return a message's shares by section; a summary contains the user's words too."""
    message = count.message
    parts = message.shares if isinstance(message, SummaryMessage) else ()
    if not parts:
        return [(section, SectionShare(raw_chars=count.chars, chars=count.chars, tokens=count.tokens))]
    total, remaining = max(1, sum(share.chars for share in parts)), count.tokens
    shares = list[tuple[SectionName, SectionShare]]()
    for share in parts:
        tokens = remaining if share is parts[-1] else round(count.tokens * share.chars / total)
        lost = share.raw_chars - share.chars
        rules = ["what a summary has no room for is an artifact"] if lost or share.dropped_blocks else []
        shares.append(
            (
                share.section,
                SectionShare(share.raw_chars, share.chars, 0, tokens, 0, lost, share.dropped_blocks, rules),
            )
        )
        remaining -= tokens
    return shares


def required_tokens(count: Counted) -> int:
    """Return the tokens of content that a summary must keep besides the user's words."""
    return sum(share.tokens for name, share in split_shares(count, "messages") if name == "packed_context")
