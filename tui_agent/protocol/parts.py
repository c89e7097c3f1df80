"""Parts of a model's answer (text, reasoning, tool calls), and the content that is sent to a model.

`model.responded.first_part` and `tool.finished.part` number the parts of a session from 0 without gaps.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.stored_text import JsonMap, LongText, text_preview


class TextContent(FrozenModel):
    """Text for a model."""

    kind: Literal["text"] = "text"
    text: LongText


class ImageContent(FrozenModel):
    """An image for a model. Its bytes are always stored as a blob."""

    kind: Literal["image"] = "image"
    media_type: str
    blob_sha256: str
    size: int
    name: str = ""


def image_type(data: bytes) -> str:
    """Return the media type of image data, or an empty string if models do not accept the data."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


Content: TypeAlias = Annotated[TextContent | ImageContent, Field(discriminator="kind")]


class ReasoningPart(FrozenModel):
    """Reasoning text that a provider returned.

    `signature` and `opaque` are sent back unchanged, and only to the same model.
    """

    kind: Literal["reasoning"] = "reasoning"
    text: LongText
    signature: LongText | None = None
    opaque: JsonMap | None = None


class TextPart(FrozenModel):
    """Text from the model for the user."""

    kind: Literal["text"] = "text"
    text: LongText


class ToolCallPart(FrozenModel):
    """A tool call requested by the model.

    `malformed`: the raw arguments of an invalid call: they are not a JSON object, or the answer ended before they were
    complete. An invalid call never runs; its result is an error.
    """

    kind: Literal["tool_call"] = "tool_call"
    call_id: CallId
    name: str
    arguments: JsonMap
    malformed: LongText | None = None


class PatchPart(FrozenModel):
    """A patch reported by an agent program. No model client of this version produces such parts."""

    kind: Literal["patch"] = "patch"
    text: LongText


ModelPart: TypeAlias = Annotated[
    ReasoningPart | TextPart | ToolCallPart | PatchPart, Field(discriminator="kind")
]


def tool_calls(parts: Iterable[ModelPart]) -> tuple[ToolCallPart, ...]:
    """Return the tool calls among these parts, in order."""
    return tuple(part for part in parts if isinstance(part, ToolCallPart))


def text_previews(parts: Iterable[ModelPart | Content]) -> list[str]:
    """Return the text of each text part. If a text is stored as a blob, return its preview instead."""
    return [text_preview(part.text) for part in parts if isinstance(part, TextPart | TextContent)]


class Usage(FrozenModel):
    """Tokens of one model call, as counted by the provider. A count is 0 if the provider did not report it.

    `input_tokens` includes `cached_tokens` (read from the provider's cache) and `cache_write_tokens`. `output_tokens`
    includes `reasoning_tokens`. `estimated`: True if tui-agent estimated the counts.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
