"""Conversion of a resource that an MCP server returns: to text, or to bytes if it is binary."""

import base64
import binascii

import mcp_types as types

from tui_agent.mcp.content.outside_text import clean_line, clean_text
from tui_agent.ports.tool import ResourceContent


def as_resource(result: types.ReadResourceResult) -> ResourceContent:
    """Return the text of a resource, or the bytes of its first content if no content is text.

    Raise `ValueError` if the bytes are not valid base64.
    """
    texts = [item.text for item in result.contents if isinstance(item, types.TextResourceContents)]
    kind = clean_line(next((item.mime_type for item in result.contents if item.mime_type), ""), 80)
    if texts:
        return ResourceContent(clean_text("\n".join(texts)), media_type=kind)
    for item in result.contents:
        if isinstance(item, types.BlobResourceContents):
            try:
                data = base64.b64decode(item.blob, validate=True)
            except (binascii.Error, ValueError) as error:
                raise ValueError("a resource is not valid base64") from error
            text = "" if b"\0" in data else data.decode("utf-8", "ignore")
            if text.encode() == data:
                return ResourceContent(clean_text(text), media_type=kind)
            return ResourceContent(data=data, media_type=kind)
    return ResourceContent(media_type=kind)
