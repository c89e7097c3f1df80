"""Conversion of the history to Chat Completions messages.

Invariant: every call is followed by its result, and reasoning is sent back only to the model profile that produced it.
"""
# Tool messages can contain only text, so images of tool results are sent in a user message.

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue

from tui_agent.ports.model import ModelRequest, ToolSchema
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import (
    Content,
    ImageContent,
    ReasoningPart,
    TextContent,
    TextPart,
    ToolCallPart,
    text_previews,
)
from tui_agent.protocol.stored_text import JsonMap, text_preview

CACHE_AGE: Final = 32
_Sent: TypeAlias = tuple[AssistantMessage, str, JsonMap]
"""A converted answer: the original, the model profile, and the JSON for this profile."""
SEPARATOR: Final = "\n\n---\n\n"
"""Separator between the texts of merged user messages."""
IMAGE_LEFT_OUT = "[image left out: this model does not accept images]"


class MessageCache:
    """Cache of converted answers with calls or reasoning, because the conversion of these answers is slow.

    An answer that is no longer sent is dropped after at most 2 × `CACHE_AGE` requests.
    """

    def __init__(self) -> None:
        self._sent: dict[int, _Sent] = {}
        self._older: dict[int, _Sent] = {}
        self._requests = 0

    def begin(self) -> None:
        """Record that a new request begins, and drop the entries that the last requests did not use."""
        self._requests += 1
        if self._requests % CACHE_AGE == 0:
            self._sent, self._older = {}, self._sent

    def convert(self, message: Message, request: ModelRequest) -> JsonMap:
        """Return the message in the server's form, from the cache if possible."""
        if not isinstance(message, AssistantMessage):
            return _convert_message(message, request)
        if (text := _text_only(message)) is not None:
            return {"role": "assistant", "content": text}
        key = id(message)
        known = self._sent.get(key)
        if known is None and (known := self._older.get(key)) is not None:
            self._sent[key] = known
        if known is not None and known[0] is message and known[1] == request.model.profile:
            return known[2]
        converted = _convert_message(message, request)
        if not request.images:
            self._sent[key] = (message, request.model.profile, converted)
        return converted

    def __len__(self) -> int:
        return len(self._sent.keys() | self._older.keys())


def messages(request: ModelRequest, memo: MessageCache | None = None) -> list[JsonMap]:
    """Return all messages of a request, the system prompt first."""
    memo = MessageCache() if memo is None else memo
    memo.begin()
    out: list[JsonMap] = []
    if request.system:
        out.append({"role": "system", "content": request.system})
    images: list[JsonMap] = []
    for message in request.messages:
        if images and not isinstance(message, ToolMessage):
            out.append(_image_message(images))
            images = []
        out.append(memo.convert(message, request))
        if isinstance(message, ToolMessage) and request.model.images:
            images += _image_blocks(message.content, request.images)
    if images:
        out.append(_image_message(images))
    return out


def merge_user_turns(messages: Sequence[JsonMap]) -> list[JsonMap]:
    """Return the messages with consecutive user messages merged."""
    # Some models (Mistral) reject two user messages in a row.
    out: list[JsonMap] = []
    for message in messages:
        if out and message["role"] == "user" == out[-1]["role"]:
            out[-1] = {"role": "user", "content": _join_content(out[-1]["content"], message["content"])}
        else:
            out.append(message)
    return out


def _join_content(first: JsonValue, second: JsonValue) -> JsonValue:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{SEPARATOR}{second}"
    return [*_as_blocks(first), *_as_blocks(second)]


def _as_blocks(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def tools(schemas: Sequence[ToolSchema]) -> list[JsonMap]:
    """Convert tool schemas to function definitions."""
    return [
        {
            "type": "function",
            "function": {
                "name": schema.name,
                "description": schema.description,
                "parameters": schema.parameters,
            },
        }
        for schema in schemas
    ]


def data_url(image: ImageContent, images: Mapping[str, bytes]) -> str | None:
    """Return an image as a data URL; None if the request does not contain its bytes."""
    content = images.get(image.blob_sha256)
    if content is None:
        return None
    return f"data:{image.media_type};base64,{base64.b64encode(content).decode('ascii')}"


def plain_text(content: Sequence[Content], *, mark_images: bool) -> str:
    """Return the text of the content. If `mark_images` is True, the text contains a note for each image."""
    pieces = []
    for item in content:
        if isinstance(item, TextContent):
            pieces.append(text_preview(item.text))
        elif mark_images:
            pieces.append(IMAGE_LEFT_OUT)
    return "\n".join(pieces)


def _convert_message(message: Message, request: ModelRequest) -> JsonMap:
    match message:
        case UserMessage(content=content):
            return {"role": "user", "content": _convert_content(content, request)}
        case SummaryMessage(text=text):
            return {"role": "user", "content": text_preview(text)}
        case ToolMessage():
            text = plain_text(message.content, mark_images=not request.model.images)
            return {"role": "tool", "tool_call_id": message.call_id, "content": text}
        case AssistantMessage():
            return _convert_answer(message, request.model.profile)


def _convert_content(content: Sequence[Content], request: ModelRequest) -> JsonValue:
    if not any(isinstance(item, ImageContent) for item in content) or not request.model.images:
        return plain_text(content, mark_images=True)
    out: list[JsonValue] = []
    for item in content:
        if isinstance(item, TextContent):
            out.append({"type": "text", "text": text_preview(item.text)})
        else:
            out += _image_blocks((item,), request.images) or [{"type": "text", "text": IMAGE_LEFT_OUT}]
    return out


def _image_blocks(content: Sequence[Content], images: Mapping[str, bytes]) -> list[JsonMap]:
    urls = [data_url(item, images) for item in content if isinstance(item, ImageContent)]
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls if url]


def _image_message(images: list[JsonMap]) -> JsonMap:
    return {"role": "user", "content": [{"type": "text", "text": "Images of the results above:"}, *images]}


def _text_only(message: AssistantMessage) -> str | None:
    parts = message.parts
    if len(parts) != 1 or not isinstance(parts[0], TextPart):
        return None
    return text_preview(parts[0].text)


def _convert_answer(message: AssistantMessage, profile: str) -> JsonMap:
    text = "".join(text_previews(message.parts))
    calls: list[JsonMap] = [
        {
            "id": part.call_id,
            "type": "function",
            "function": {"name": part.name, "arguments": json.dumps(part.arguments, ensure_ascii=False)},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    out: JsonMap = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        out["tool_calls"] = list(calls)
    if message.model == profile:
        out.update(_reasoning_fields(message))
    return out


def _reasoning_fields(message: AssistantMessage) -> JsonMap:
    """Return an answer's reasoning in the fields that the server used."""
    blocks: list[JsonValue] = []
    texts: dict[str, str] = {}
    details: list[JsonValue] = []
    for part in message.parts:
        if not isinstance(part, ReasoningPart) or part.opaque is None:
            continue
        if part.opaque.get("block"):
            blocks.append(_thinking_block(part, part.opaque))
        field, part_details = part.opaque.get("field"), part.opaque.get("details")
        if isinstance(field, str) and part.text:
            texts[field] = texts.get(field, "") + text_preview(part.text)
        details += part_details if isinstance(part_details, list) else []
    lists: JsonMap = {"thinking_blocks": blocks, "reasoning_details": details}
    return {**texts, **{name: values for name, values in lists.items() if values}}


def _thinking_block(part: ReasoningPart, opaque: JsonMap) -> JsonMap:
    """Return an Anthropic thinking block as litellm expects it: unchanged, with its signature."""
    if opaque["block"] == "redacted_thinking":
        return {"type": "redacted_thinking", "data": opaque.get("data")}
    signature = "" if part.signature is None else text_preview(part.signature)
    return {"type": "thinking", "thinking": text_preview(part.text), "signature": signature}


BRIDGE_TEXT: Final = "I have read the results."
"""Text of an assistant message that is inserted between a tool result and a user message."""
_STRICT_FAMILY: Final = re.compile(r"(?:mi|mini|magi|code|dev|pix|vox)stral|mixtral", re.IGNORECASE)
_SHORT_ID: Final = re.compile(r"[0-9A-Za-z]{9}")


def has_strict_template(model: str) -> bool:
    """Return True if the named model needs `adapt_to_strict_template`."""
    return _STRICT_FAMILY.search(model) is not None


def adapt_to_strict_template(messages: Sequence[JsonMap]) -> list[JsonMap]:
    """Return copies of the messages for strict chat templates, such as those of Mistral's models.

    In the copies, an assistant message stands between a tool result and a user message, and each call id has exactly
    nine letters and digits.
    """
    out: list[JsonMap] = []
    for message in messages:
        if out and message["role"] == "user" and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": BRIDGE_TEXT})
        out.append(_with_short_ids(message))
    return out


def _with_short_ids(message: JsonMap) -> JsonMap:
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        return {**message, "tool_calls": [_shorten_call_id(call) for call in calls]}
    if message["role"] == "tool":
        return {**message, "tool_call_id": _short_id(message["tool_call_id"])}
    return message


def _shorten_call_id(call: JsonValue) -> JsonValue:
    return {**call, "id": _short_id(call["id"])} if isinstance(call, dict) else call


def _short_id(call_id: JsonValue) -> str:
    text = str(call_id)
    return (
        text if _SHORT_ID.fullmatch(text) else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:9]
    )
