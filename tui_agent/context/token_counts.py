"""What each message of a history costs, and to which section of the context it belongs.

Invariant: counting is incremental: a message that was counted is not counted again while it stands where it stood.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Final

from tui_agent.context.tokens import CHARS_PER_TOKEN, IMAGE_TOKENS, Tokens
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserKind,
    UserMessage,
)
from tui_agent.protocol.parts import Content, ImageContent, ModelPart, TextPart, ToolCallPart

_PER_MESSAGE = 4
"""Tokens that a message costs beside its text: its role and its borders."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One message: characters, and tokens before any correction."""

    message: Message
    chars: int
    tokens: int


class History:
    """Counts a history as it grows."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._counted: list[Counted] = []
        self._ahead: dict[int, Counted] = {}

    def count(self, messages: Sequence[Message]) -> tuple[Sequence[Counted], int]:
        """Every message with what it costs, and how many of the first were known before."""
        held = self._counted
        known = min(len(held), len(messages))
        if not all(map(is_, (one.message for one in held[:known]), messages)):
            known = next(at for at, one in enumerate(held) if one.message is not messages[at])
        del held[known:]
        held += [self._once(message) for message in messages[known:]]
        return held, known

    def prepare(self, messages: Sequence[Message]) -> None:
        """Count messages before a request holds them: it then need not. May be called in a thread."""
        self._ahead = {id(message): self.one(message) for message in messages}

    def _once(self, message: Message) -> Counted:
        found = self._ahead.pop(id(message), None)
        return found if found is not None and found.message is message else self.one(message)

    def one(self, message: Message) -> Counted:
        """What one message costs."""
        texts, images = _texts(message)
        chars = sum(map(_chars, texts)) + images * round(IMAGE_TOKENS * CHARS_PER_TOKEN)
        tokens = sum(self._tokens.count(_text(text)) for text in texts) + images * IMAGE_TOKENS
        return Counted(message, chars, tokens + _PER_MESSAGE)


def _texts(message: Message) -> tuple[list[LongText], int]:
    """What a model reads of a message, and how many images are in it."""
    match message:
        case UserMessage() | ToolMessage():
            return _of_content(message.content)
        case SummaryMessage():
            return [message.text], 0
        case AssistantMessage():
            return [text for part in message.parts for text in _of_part(part)], 0


def _of_content(content: Sequence[Content]) -> tuple[list[LongText], int]:
    texts = [piece.text for piece in content if not isinstance(piece, ImageContent)]
    return texts, len(content) - len(texts)


def _of_part(part: ModelPart) -> list[LongText]:
    if isinstance(part, ToolCallPart):
        return [part.name, json.dumps(part.arguments, ensure_ascii=False)]
    # Of hidden reasoning its signature goes back as well; providers do not bill it again as text.
    return [part.text] if isinstance(part, TextPart) or part.text else []


def _text(text: LongText) -> str:
    return text if isinstance(text, str) else text_preview(text)


def _chars(text: LongText) -> int:
    return len(_text(text))


def sections_of(messages: Sequence[Message], carried: str) -> list[SectionName]:
    """The section of each message. Results behind the user's newest words are recent; `carried` is what was taken over of
    an earlier session, where the history begins with it."""
    newest = max((at for at, one in enumerate(messages) if _opens(one)), default=-1)
    return [_section(at, one, carried, recent=at > newest) for at, one in enumerate(messages)]


def _opens(message: Message) -> bool:
    """Whether it comes with words of the user's: not the instructions that a call's result brought."""
    return isinstance(message, UserMessage) and message.kind != "instructions"


_SECTIONS: Final[dict[UserKind, SectionName]] = {
    "said": "task_contract",
    "mentions": "mentions",
    "map": "repo_map",
    "passing": "working_memory",
    "restored": "packed_context",
    "instructions": "instructions",
}


def _section(at: int, message: Message, carried: str, *, recent: bool) -> SectionName:
    match message:
        case SummaryMessage(text=text):
            return (
                "session_context"
                if at == 0 and carried and text_preview(text).startswith(carried)
                else "packed_context"
            )
        case UserMessage(kind=kind):
            return _SECTIONS[kind]
        case AssistantMessage():
            return "messages"
        case ToolMessage():
            return "recent_observations" if recent else "tool_results"
