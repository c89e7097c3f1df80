"""The provider-neutral history as Chat Completions messages (also litellm's form).

Invariant: every call is followed by its result; reasoning goes back to the profile that gave it only; images of tool
results come in a user message after the results, because tool messages carry text only.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue

from tui_agent.ports.model import ModelRequest, ToolSchema
from tui_agent.protocol.base import JsonMap, text_preview
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, ReasoningPart, TextContent, TextPart, ToolCallPart

AGE: Final = 32
_Sent: TypeAlias = tuple[AssistantMessage, str, JsonMap]
"""An answer, the model profile it was sent to, and how."""
BETWEEN: Final = "\n\n---\n\n"
"""Between what stands in one message and came as several: a person's words, a file, a map."""
IMAGE_LEFT_OUT = "[an image is left out: this model does not take images]"


class Memo:
    """A model's answers with calls or thoughts as they were sent before; they are what costs time to write, and nothing
    else is held twice.

    What none of the newest `AGE` requests held, such as an answer that was compacted away, is forgotten: after twice as
    many at the latest.
    """

    def __init__(self) -> None:
        self._sent: dict[int, _Sent] = {}
        self._before: dict[int, _Sent] = {}
        self._requests = 0

    def begin(self) -> None:
        """A request begins."""
        self._requests += 1
        if self._requests % AGE == 0:
            self._sent, self._before = {}, self._sent

    def of(self, message: Message, request: ModelRequest) -> JsonMap:
        """The message as the server takes it."""
        if not isinstance(message, AssistantMessage):
            return _message(message, request)
        if (said := _said_alone(message)) is not None:
            return {"role": "assistant", "content": said}
        place = id(message)
        known = self._sent.get(place)
        if known is None and (known := self._before.get(place)) is not None:
            self._sent[place] = known
        if known is not None and known[0] is message and known[1] == request.model.profile:
            return known[2]
        made = _message(message, request)
        if not request.images:
            self._sent[place] = (message, request.model.profile, made)
        return made

    def __len__(self) -> int:
        return len(self._sent.keys() | self._before.keys())


def messages(request: ModelRequest, memo: Memo | None = None) -> list[JsonMap]:
    """All messages of a request, the system prompt first."""
    memo = Memo() if memo is None else memo
    memo.begin()
    out: list[JsonMap] = []
    if request.system:
        out.append({"role": "system", "content": request.system})
    pictures: list[JsonMap] = []
    for message in request.messages:
        if pictures and not isinstance(message, ToolMessage):
            out.append(_pictures(pictures))
            pictures = []
        out.append(memo.of(message, request))
        if isinstance(message, ToolMessage) and request.model.images:
            pictures += _images(message.content, request.images)
    if pictures:
        out.append(_pictures(pictures))
    return out


def in_turns(messages: Sequence[JsonMap]) -> list[JsonMap]:
    """The same with what a user says side by side as one message: the templates of some models (Mistral's among them)
    refuse two in a row. The messages given stay as they are."""
    out: list[JsonMap] = []
    for message in messages:
        if out and message["role"] == "user" == out[-1]["role"]:
            out[-1] = {"role": "user", "content": _joined(out[-1]["content"], message["content"])}
        else:
            out.append(message)
    return out


def _joined(one: JsonValue, other: JsonValue) -> JsonValue:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}{BETWEEN}{other}"
    return [*_pieces(one), *_pieces(other)]


def _pieces(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def tools(schemas: Sequence[ToolSchema]) -> list[JsonMap]:
    """Tool schemas as functions."""
    return [
        {
            "type": "function",
            "function": {"name": s.name, "description": s.description, "parameters": s.parameters},
        }
        for s in schemas
    ]


def data_url(image: ImageContent, images: Mapping[str, bytes]) -> str | None:
    """An image as a data URL; None where its bytes are not with the request."""
    content = images.get(image.blob_sha256)
    if content is None:
        return None
    return f"data:{image.media_type};base64,{base64.b64encode(content).decode('ascii')}"


def plain(content: Sequence[Content], *, mark_images: bool) -> str:
    """The text of a content; images are named where `mark_images`."""
    pieces = []
    for item in content:
        if isinstance(item, TextContent):
            pieces.append(text_preview(item.text))
        elif mark_images:
            pieces.append(IMAGE_LEFT_OUT)
    return "\n".join(pieces)


def _message(message: Message, request: ModelRequest) -> JsonMap:
    match message:
        case UserMessage(content=content):
            return {"role": "user", "content": _content(content, request)}
        case SummaryMessage(text=text):
            return {"role": "user", "content": text_preview(text)}
        case ToolMessage():
            text = plain(message.content, mark_images=not request.model.images)
            return {"role": "tool", "tool_call_id": message.call_id, "content": text}
        case AssistantMessage():
            return _assistant(message, request.model.profile)


def _content(content: Sequence[Content], request: ModelRequest) -> JsonValue:
    if not any(isinstance(item, ImageContent) for item in content) or not request.model.images:
        return plain(content, mark_images=True)
    out: list[JsonValue] = []
    for item in content:
        if isinstance(item, TextContent):
            out.append({"type": "text", "text": text_preview(item.text)})
        else:
            out += _images((item,), request.images) or [{"type": "text", "text": IMAGE_LEFT_OUT}]
    return out


def _images(content: Sequence[Content], images: Mapping[str, bytes]) -> list[JsonMap]:
    urls = [data_url(item, images) for item in content if isinstance(item, ImageContent)]
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls if url]


def _pictures(pictures: list[JsonMap]) -> JsonMap:
    return {
        "role": "user",
        "content": [{"type": "text", "text": "The images of the results above:"}, *pictures],
    }


def _said_alone(message: AssistantMessage) -> str | None:
    """The text of an answer that is nothing else."""
    parts = message.parts
    if len(parts) != 1 or not isinstance(parts[0], TextPart):
        return None
    return text_preview(parts[0].text)


def _assistant(message: AssistantMessage, profile: str) -> JsonMap:
    said = "".join(text_preview(part.text) for part in message.parts if isinstance(part, TextPart))
    calls: list[JsonMap] = [
        {
            "id": part.call_id,
            "type": "function",
            "function": {"name": part.name, "arguments": json.dumps(part.arguments, ensure_ascii=False)},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    out: JsonMap = {"role": "assistant", "content": said or (None if calls else "")}
    if calls:
        out["tool_calls"] = list(calls)
    if message.model == profile:
        out.update(_thoughts(message))
    return out


def _thoughts(message: AssistantMessage) -> JsonMap:
    """Reasoning in the very field that the server sent it in; servers that need none ignore it."""
    out: JsonMap = {}
    for part in message.parts:
        if not isinstance(part, ReasoningPart) or part.opaque is None:
            continue
        if part.opaque.get("block"):
            earlier = out.get("thinking_blocks")
            out["thinking_blocks"] = [
                *(earlier if isinstance(earlier, list) else []),
                _block(part, part.opaque),
            ]
        field = part.opaque.get("field")
        if isinstance(field, str) and part.text:
            before = out.get(field)
            out[field] = (before if isinstance(before, str) else "") + text_preview(part.text)
        details = part.opaque.get("details")
        if isinstance(details, list):
            earlier = out.get("reasoning_details")
            out["reasoning_details"] = [*(earlier if isinstance(earlier, list) else []), *details]
    return out


def _block(part: ReasoningPart, opaque: JsonMap) -> JsonMap:
    """A block of Anthropic's thinking, as litellm wants it back: unchanged, with its signature."""
    if opaque["block"] == "redacted_thinking":
        return {"type": "redacted_thinking", "data": opaque.get("data")}
    signature = "" if part.signature is None else text_preview(part.signature)
    return {"type": "thinking", "thinking": text_preview(part.text), "signature": signature}
