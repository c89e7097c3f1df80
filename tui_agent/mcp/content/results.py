"""Conversion of MCP servers' results to results of tools: text, images and structured data, all cleaned."""

import base64
import binascii

import mcp_types as types
from pydantic import JsonValue
from pydantic_core import to_json

from tui_agent.mcp.content.outside_text import clean_line, clean_text
from tui_agent.ports.log import Blobs
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.display_blocks import DisplayBlock, ImageBlock, TextBlock
from tui_agent.protocol.parts import Content, ImageContent, TextContent, image_type
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.protocol.unicode_text import format_count

MAX_DATA_BYTES = 256_000
"""Maximum size of a structured result in `data`; of a larger result, only the text is kept."""
MAX_IMAGE_BYTES = 20_000_000
_SHOWN_CHARS = 4_000


def as_tool_result(result: types.CallToolResult, blobs: Blobs) -> ToolResult:
    """Convert a server's result to a tool's result, with images as blobs."""
    content = [as_content(block, blobs) for block in result.content]
    structured: JsonValue = result.structured_content
    encoded = b"" if structured is None else to_json(structured, inf_nan_mode="null")
    if encoded and not any(isinstance(part, TextContent) for part in content):
        content.append(TextContent(text=clean_text(encoded.decode())))
    data: JsonMap = {"structured": structured} if encoded and len(encoded) <= MAX_DATA_BYTES else {}
    if not content:
        content.append(TextContent(text="(no content)"))
    text = str(next((part.text for part in content if isinstance(part, TextContent)), "")).strip()
    lines = text.count("\n") + 1
    summary = clean_line(text, 60) if lines == 1 else format_count(lines, "line")
    return ToolResult(
        ok=not result.is_error,
        content=tuple(content),
        summary=summary,
        display=tuple(map(_block, content)),
        data=data,
    )


def as_content(block: types.ContentBlock, blobs: Blobs) -> Content:
    """Convert a content block of a server to content for the model."""
    match block:
        case types.TextContent(text=text):
            return TextContent(text=clean_text(text))
        case types.ImageContent(data=data):
            return _store_image(data, "the server sent an image that cannot be used", blobs)
        case types.AudioContent(mime_type=kind):
            return TextContent(text=f"[audio, {clean_line(kind, 40)}: not supported]")
        case types.ResourceLink(uri=uri):
            return TextContent(text=f"[resource: {clean_line(str(uri))}]")
        case types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text)):
            return TextContent(text=f"{clean_line(str(uri))}:\n{clean_text(text)}")
        case types.EmbeddedResource(resource=types.BlobResourceContents(uri=uri, blob=data)):
            return _store_image(data, f"resource {clean_line(str(uri))}: binary, not shown", blobs)
        case _:
            return TextContent(text="[content of an unknown kind]")


def _store_image(encoded: str, otherwise: str, blobs: Blobs) -> Content:
    """Store an image (base64) as a blob and return its reference, or `otherwise` for an unsupported format."""
    try:
        data = base64.b64decode(encoded, validate=True) if len(encoded) <= MAX_IMAGE_BYTES * 4 // 3 else b""
    except (binascii.Error, ValueError):
        data = b""
    kind = image_type(data)
    if not kind:
        return TextContent(text=f"[{otherwise}]")
    return ImageContent(media_type=kind, blob_sha256=blobs.put_bytes(data), size=len(data))


def _block(part: Content) -> DisplayBlock:
    if isinstance(part, ImageContent):
        return ImageBlock(media_type=part.media_type, blob_sha256=part.blob_sha256, size=part.size)
    return TextBlock(text=clean_text(str(part.text), _SHOWN_CHARS))
