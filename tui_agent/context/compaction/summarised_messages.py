"""Selection of the messages that a summary replaces, and the size of a message.

Invariant: the messages after a summary form a valid history.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, ToolCallPart
from tui_agent.protocol.stored_text import text_size

IMAGE_CHARS: Final = 4_800


def chars_of(message: Message) -> int:
    """Return the number of characters of a message as sent to the model. An image counts as `IMAGE_CHARS`."""
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            return sum(map(_content_chars, content))
        case SummaryMessage(text=text):
            return text_size(text)
        case AssistantMessage(parts=parts):
            return sum(
                len(part.name) + len(str(part.arguments))
                if isinstance(part, ToolCallPart)
                else text_size(part.text)
                for part in parts
            )


def _content_chars(piece: Content) -> int:
    return IMAGE_CHARS if isinstance(piece, ImageContent) else text_size(piece.text)


def summary_cut(history: Sequence[Message], keep_chars: int, first: int = 0) -> int:
    """Return how many messages at the start of `history` a summary can replace.

    `keep_chars`: approximate number of characters in the messages that stay.
    `first`: number of messages at the start that belong to an older summary. The new summary always replaces these
    messages.
    """
    # Messages that stay must have a higher `seq` than replaced ones: the log records only the last replaced `seq`.
    starts = [
        index for index in range(first + 1, len(history)) if not isinstance(history[index], ToolMessage)
    ]
    candidates, remaining = list[int](), keep_chars
    tail = len(history)
    for start in reversed(starts):
        remaining -= sum(map(chars_of, history[start:tail]))
        tail = start
        if candidates and remaining < 0:
            break
        candidates.append(start)
    earlier = [start for start in reversed(starts) if start < min(candidates, default=0)]
    in_order = (*sorted(candidates), *earlier)
    return next((start for start in in_order if _is_separable(history, first, start)), 0)


def _is_separable(history: Sequence[Message], first: int, start: int) -> bool:
    newest_before = max(message.seq for message in history[first:start])
    return newest_before < min(message.seq for message in history[start:])
