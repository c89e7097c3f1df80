"""Makes a history ready to be sent: long texts resolved, images loaded, results in the order of their calls.

Invariant: a message is resolved once; a history that only grew costs what it grew by. A message in which nothing is to
be resolved is sent as the object that the history holds: it is not held twice.
"""

from collections.abc import Sequence
from operator import is_
from typing import TypeVar

from tui_agent.context.truncation import head_and_tail
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.base import Frozen, LongText
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, ModelPart, ReasoningPart, TextPart, ToolCallPart

F = TypeVar("F", bound=Frozen)

MAX_ANSWER_BYTES = 120_000
"""An answer of the model goes back to it whole up to this size, else its head and tail; the log has all of it."""
MAX_ANSWER_LINES = 4000


class RequestBuilder:
    """Resolves messages against the session's blobs, and remembers what it resolved."""

    def __init__(self, blobs: BlobReader) -> None:
        self._blobs = blobs
        self._history: tuple[Message, ...] = ()
        self._ready: tuple[Message, ...] = ()
        self._images: dict[str, bytes] = {}

    def messages(self, history: Sequence[Message]) -> tuple[Message, ...]:
        """The history with every text whole. Raises `BlobMissing`. What was there the last time is not done again."""
        known = len(self._history)
        grown = known <= len(history) and all(map(is_, self._history, history))
        if not grown or (known < len(history) and isinstance(history[known], ToolMessage)):
            known, self._ready = 0, ()
        self._ready += tuple(self._whole(message) for message in _ordered(history[known:]))
        self._history = tuple(history)
        return self._ready

    def images(self, messages: Sequence[Message]) -> dict[str, bytes]:
        """The bytes of every image in the messages, by digest."""
        wanted = [
            piece
            for message in messages
            if isinstance(message, UserMessage | ToolMessage)
            for piece in message.content
            if isinstance(piece, ImageContent)
        ]
        for image in wanted:
            if image.blob_sha256 not in self._images:
                self._images[image.blob_sha256] = self._blobs.read(image.blob_sha256)
        return {image.blob_sha256: self._images[image.blob_sha256] for image in wanted}

    def _whole(self, message: Message) -> Message:
        """The message itself where all of it stands in it: a history is held once."""
        match message:
            case UserMessage() | ToolMessage():
                content = tuple(self._content(piece) for piece in message.content)
                return _with(message, "content", message.content, content)
            case SummaryMessage():
                text = self._text(message.text)
                return message if text is message.text else message.model_copy(update={"text": text})
            case AssistantMessage():
                parts = tuple(_bounded(whole_part(part, self._blobs)) for part in message.parts)
                return _with(message, "parts", message.parts, parts)

    def _text(self, text: LongText) -> str:
        return text if isinstance(text, str) else self._blobs.text(text)

    def _content(self, piece: Content) -> Content:
        if isinstance(piece, ImageContent) or isinstance(piece.text, str):
            return piece
        return piece.model_copy(update={"text": self._text(piece.text)})


def _with(message: F, name: str, held: Sequence[object], now: Sequence[object]) -> F:
    return message if all(map(is_, held, now)) else message.model_copy(update={name: now})


def whole_part(part: ModelPart, blobs: BlobReader) -> ModelPart:
    """A part with its texts whole: the part itself where they are. Raises `BlobMissing`."""
    if isinstance(part, ToolCallPart):
        arguments = blobs.resolve(part.arguments)
        return part if arguments == part.arguments else part.model_copy(update={"arguments": arguments})
    if isinstance(part, ReasoningPart) and part.signature is not None:
        part = _texted(part, "signature", part.signature, blobs.text(part.signature))
    return _texted(part, "text", part.text, blobs.text(part.text))


def _texted(part: F, name: str, held: LongText, now: str) -> F:
    return part if now is held else part.model_copy(update={name: now})


def _bounded(part: ModelPart) -> ModelPart:
    """No single answer may fill the window in every later request: a huge one goes back as its head and tail."""
    if not isinstance(part, TextPart | ReasoningPart) or not isinstance(part.text, str):
        return part
    signed = isinstance(part, ReasoningPart) and (part.signature or part.opaque)
    if signed or len(part.text) <= MAX_ANSWER_BYTES // 4:
        return part
    shown = head_and_tail(part.text, max_bytes=MAX_ANSWER_BYTES, max_lines=MAX_ANSWER_LINES)
    return part.model_copy(update={"text": shown.text}) if shown.cut else part


def _ordered(history: Sequence[Message]) -> list[Message]:
    """Results of one answer in the order of its calls, however they finished."""
    ordered: list[Message] = []
    order: dict[CallId, int] = {}
    results: list[ToolMessage] = []
    for message in history:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        ordered.extend(_sorted(results, order))
        results = []
        ordered.append(message)
        if isinstance(message, AssistantMessage):
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            order = {part.call_id: position for position, part in enumerate(calls)}
    ordered.extend(_sorted(results, order))
    return ordered


def _sorted(results: list[ToolMessage], order: dict[CallId, int]) -> list[ToolMessage]:
    return sorted(results, key=lambda result: order.get(result.call_id, len(order)))
