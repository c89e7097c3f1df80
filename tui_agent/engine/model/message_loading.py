"""Preparation of a history for sending: loads long texts and images, and puts tool results in the order of their calls.

Invariant: each message is loaded only once.
"""

from collections.abc import Sequence
from operator import is_
from typing import TypeVar

from tui_agent.context.truncation import head_and_tail
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import (
    Content,
    ImageContent,
    ModelPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    tool_calls,
)
from tui_agent.protocol.stored_text import LongText

F = TypeVar("F", bound=FrozenModel)

MAX_ANSWER_BYTES = 120_000
"""Maximum size of an earlier answer in a request, in bytes."""
MAX_ANSWER_LINES = 4000


class RequestBuilder:
    """Loads and caches the long texts and images of a request's messages from the session's blobs."""

    def __init__(self, blobs: BlobReader) -> None:
        self._blobs = blobs
        self._history: tuple[Message, ...] = ()
        self._ready: tuple[Message, ...] = ()
        self._images: dict[str, bytes] = {}

    def resolve_messages(self, history: Sequence[Message]) -> tuple[Message, ...]:
        """Return the history with every long text loaded. Raise `BlobNotFound` if a text is missing."""
        known = len(self._history)
        grown = known <= len(history) and all(map(is_, self._history, history))
        # A new result may belong before results that are already there, so the order must be computed again.
        if not grown or (known < len(history) and isinstance(history[known], ToolMessage)):
            known, self._ready = 0, ()
        self._ready += tuple(self._resolve(message) for message in _order_results(history[known:]))
        self._history = tuple(history)
        return self._ready

    def load_images(self, messages: Sequence[Message]) -> dict[str, bytes]:
        """Return the bytes of every image in the messages, keyed by digest."""
        images = [
            piece
            for message in messages
            if isinstance(message, UserMessage | ToolMessage)
            for piece in message.content
            if isinstance(piece, ImageContent)
        ]
        for image in images:
            if image.blob_sha256 not in self._images:
                self._images[image.blob_sha256] = self._blobs.read(image.blob_sha256)
        return {image.blob_sha256: self._images[image.blob_sha256] for image in images}

    def _resolve(self, message: Message) -> Message:
        match message:
            case UserMessage() | ToolMessage():
                content = tuple(self._resolve_content(piece) for piece in message.content)
                return _replace_items(message, "content", message.content, content)
            case SummaryMessage():
                text = self._resolve_text(message.text)
                return message if text is message.text else message.model_copy(update={"text": text})
            case AssistantMessage():
                parts = tuple(_shorten(resolve_part(part, self._blobs)) for part in message.parts)
                return _replace_items(message, "parts", message.parts, parts)

    def _resolve_text(self, text: LongText) -> str:
        return text if isinstance(text, str) else self._blobs.read_text(text)

    def _resolve_content(self, piece: Content) -> Content:
        if isinstance(piece, ImageContent) or isinstance(piece.text, str):
            return piece
        return piece.model_copy(update={"text": self._resolve_text(piece.text)})


def _replace_items(message: F, name: str, old: Sequence[object], new: Sequence[object]) -> F:
    return message if all(map(is_, old, new)) else message.model_copy(update={name: new})


def resolve_part(part: ModelPart, blobs: BlobReader) -> ModelPart:
    """Return a message part with its long texts loaded. Raise `BlobNotFound` if a text is missing."""
    if isinstance(part, ToolCallPart):
        arguments = blobs.resolve(part.arguments)
        return part if arguments == part.arguments else part.model_copy(update={"arguments": arguments})
    if isinstance(part, ReasoningPart) and part.signature is not None:
        part = _replace_text(part, "signature", part.signature, blobs.read_text(part.signature))
    return _replace_text(part, "text", part.text, blobs.read_text(part.text))


def _replace_text(part: F, name: str, old: LongText, new: str) -> F:
    return part if new is old else part.model_copy(update={name: new})


def _shorten(part: ModelPart) -> ModelPart:
    """Shorten a huge text in a message part to its start and end."""
    if not isinstance(part, TextPart | ReasoningPart) or not isinstance(part.text, str):
        return part
    # A signed part must be sent unchanged, or the provider refuses it.
    signed = isinstance(part, ReasoningPart) and (part.signature or part.opaque)
    if signed or len(part.text) <= MAX_ANSWER_BYTES // 4:
        return part
    shown = head_and_tail(part.text, max_bytes=MAX_ANSWER_BYTES, max_lines=MAX_ANSWER_LINES)
    return part.model_copy(update={"text": shown.text}) if shown.is_cut else part


def _order_results(history: Sequence[Message]) -> list[Message]:
    ordered: list[Message] = []
    order: dict[CallId, int] = {}
    results: list[ToolMessage] = []
    for message in history:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        ordered.extend(_sort_by_call(results, order))
        results = []
        ordered.append(message)
        if isinstance(message, AssistantMessage):
            order = {call.call_id: position for position, call in enumerate(tool_calls(message.parts))}
    ordered.extend(_sort_by_call(results, order))
    return ordered


def _sort_by_call(results: list[ToolMessage], order: dict[CallId, int]) -> list[ToolMessage]:
    return sorted(results, key=lambda result: order.get(result.call_id, len(order)))
