"""Token counts of a history's messages, and each message's section in the request.

Invariant: a message that was counted is counted again only after an earlier message of the history has changed.
"""

import json
from collections.abc import Sequence
from dataclasses import field
from operator import is_
from typing import Final

from tui_agent.context.token_counter import CHARS_PER_TOKEN, IMAGE_TOKENS, Tokens
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.meter import scale_to_total
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import Content, ImageContent, ModelPart, TextPart, ToolCallPart
from tui_agent.protocol.stored_text import text_preview

_PER_MESSAGE = 4
"""Number of tokens for a message's role and delimiters, in addition to its text."""


@dataclass(frozen=True, slots=True)
class MessageCount:
    """A message with its number of characters and its number of tokens, as counted by `Tokens.count`."""

    message: Message
    chars: int
    tokens: int


class TokenCounts:
    """Counts the tokens of a growing history."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._counted: list[MessageCount] = []
        self._prepared: dict[int, MessageCount] = {}

    def count(self, messages: Sequence[Message]) -> tuple[Sequence[MessageCount], int]:
        """Return the count of every message, and the number of leading messages that were already counted."""
        counted = self._counted
        known = min(len(counted), len(messages))
        if not all(map(is_, (count.message for count in counted[:known]), messages)):
            known = next(index for index, count in enumerate(counted) if count.message is not messages[index])
        del counted[known:]
        counted += [self._count_once(message) for message in messages[known:]]
        return counted, known

    def prepare(self, messages: Sequence[Message]) -> None:
        """Count the tokens of messages in advance. Can be called in a thread."""
        self._prepared = {id(message): self.count_message(message) for message in messages}

    def _count_once(self, message: Message) -> MessageCount:
        prepared = self._prepared.pop(id(message), None)
        return (
            # An id can be given to a new object, so the message itself is compared too.
            prepared if prepared is not None and prepared.message is message else self.count_message(message)
        )

    def count_message(self, message: Message) -> MessageCount:
        """Return the counts of one message."""
        texts, images = _texts(message)
        chars = sum(map(len, texts)) + images * round(IMAGE_TOKENS * CHARS_PER_TOKEN)
        tokens = sum(map(self._tokens.count, texts)) + images * IMAGE_TOKENS
        return MessageCount(message, chars, tokens + _PER_MESSAGE)


def _texts(message: Message) -> tuple[list[str], int]:
    match message:
        case UserMessage() | ToolMessage():
            return _content_texts(message.content)
        case SummaryMessage():
            return [text_preview(message.text)], 0
        case AssistantMessage():
            return [text for part in message.parts for text in _part_texts(part)], 0


def _content_texts(content: Sequence[Content]) -> tuple[list[str], int]:
    texts = [text_preview(piece.text) for piece in content if not isinstance(piece, ImageContent)]
    return texts, len(content) - len(texts)


def _part_texts(part: ModelPart) -> list[str]:
    if isinstance(part, ToolCallPart):
        return [part.name, json.dumps(part.arguments, ensure_ascii=False)]
    # The signature of hidden reasoning is sent back too, but providers do not bill it as text.
    return [text_preview(part.text)] if isinstance(part, TextPart) or part.text else []


def sections_of(messages: Sequence[Message], carried: str) -> list[SectionName]:
    """Return the section of each message.

    `carried`: the summary from an earlier session.
    """
    newest = max((index for index, message in enumerate(messages) if _starts_turn(message)), default=-1)
    return [
        _section(index, message, carried, recent=index > newest) for index, message in enumerate(messages)
    ]


def _starts_turn(message: Message) -> bool:
    """Return True for a user's message. Instructions that were added later do not count."""
    return isinstance(message, UserMessage) and message.origin != "instructions"


_SECTIONS: Final[dict[MessageOrigin, SectionName]] = {
    "prompt": "task_contract",
    "mentions": "mentions",
    "map": "repo_map",
    "transient": "working_memory",
    "restored": "packed_context",
    "instructions": "instructions",
    "hook": "task_contract",
}


def _section(index: int, message: Message, carried: str, *, recent: bool) -> SectionName:
    match message:
        case SummaryMessage(text=text):
            return (
                "session_context"
                if index == 0 and carried and text_preview(text).startswith(carried)
                else "packed_context"
            )
        case UserMessage(origin=kind):
            return _SECTIONS[kind]
        case AssistantMessage():
            return "messages"
        case ToolMessage():
            return "recent_observations" if recent else "tool_results"


@dataclass(slots=True)
class SectionShare:
    """The size of a section: characters before and after shortening, and tokens (see `Tokens.count`)."""

    raw_chars: int = 0
    chars: int = 0
    tokens: int = 0
    short: int = 0
    lost: int = 0
    """Number of characters that were left out of the summary because there was no room."""
    dropped: int = 0
    rules: list[str] = field(default_factory=list)

    def add(self, chars: int, tokens: int) -> None:
        """Add a text that is sent in full."""
        self.raw_chars += chars
        self.chars += chars
        self.tokens += tokens

    def merge(self, more: "SectionShare") -> None:
        """Add the counts of `more`, another share of the same section."""
        self.add(more.chars, more.tokens)
        self.raw_chars += more.lost
        self.lost += more.lost
        self.dropped += more.dropped
        self.rules += [rule for rule in more.rules if rule not in self.rules]


def split_shares(count: MessageCount, section: SectionName) -> list[tuple[SectionName, SectionShare]]:
    """Return a message's size by section."""
    # Only a summary has two sections: the user's words, and all other text.
    message = count.message
    parts = message.shares if isinstance(message, SummaryMessage) else ()
    if not parts:
        return [(section, SectionShare(raw_chars=count.chars, chars=count.chars, tokens=count.tokens))]
    shares = list[tuple[SectionName, SectionShare]]()
    tokens_of_parts = scale_to_total([share.chars for share in parts], count.tokens)
    for share, tokens in zip(parts, tokens_of_parts, strict=True):
        lost = share.raw_chars - share.chars
        rules = (
            ["text that did not fit in the summary is stored as an artifact"]
            if lost or share.dropped_blocks
            else []
        )
        section_share = SectionShare(
            share.raw_chars, share.chars, tokens, lost=lost, dropped=share.dropped_blocks, rules=rules
        )
        shares.append((share.section, section_share))
    return shares


def required_tokens(count: MessageCount) -> int:
    """Return a summary's number of tokens, not counting the user's words in it. Return 0 for any other message."""
    return sum(share.tokens for name, share in split_shares(count, "messages") if name == "packed_context")
