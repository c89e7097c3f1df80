"""Conversion of cells' outputs: to text for the model and the user, and to images."""

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple

import tui_agent.plugin_api as api

from .notebook_file import join_lines

MAX_IMAGES = 4
MAX_IMAGE_BYTES = 5_000_000
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Image(NamedTuple):
    """An image in an output."""

    data: bytes
    media_type: str


def output_text(output: dict[str, Any]) -> str:
    """Return an output as text. Each image is replaced by its type and size."""
    match output.get("output_type"):
        case "stream":
            return api.strip_control_sequences(join_lines(output.get("text", "")))
        case "error":
            trace = output.get("traceback")
            text = "\n".join(map(str, trace)) if isinstance(trace, list) else ""
            return api.strip_control_sequences(text or f"{output.get('ename')}: {output.get('evalue')}")
        case "execute_result" | "display_data":
            data = output.get("data")
            formats = data if isinstance(data, dict) else {}
            images = [
                f"[{image.media_type}, {api.format_bytes(len(image.data))}]"
                for image in output_images([output])
            ]
            if images:
                return "\n".join(images)
            if "text/plain" in formats:
                return api.strip_control_sequences(join_lines(formats["text/plain"]))
            return f"[{', '.join(map(str, formats))}]"
        case _:
            return "[unknown output]"


def output_images(outputs: Iterable[dict[str, Any]]) -> list[Image]:
    """Return the images in these outputs. Images that models cannot read, and very large images, are left out."""
    images = []
    for output in outputs:
        value = output.get("data")
        data = value if isinstance(value, dict) else {}
        for media_type in _IMAGE_TYPES:
            try:
                raw = base64.b64decode(join_lines(data.get(media_type, "")))
            except ValueError:
                continue
            if 0 < len(raw) <= MAX_IMAGE_BYTES and api.image_type(raw) == media_type:
                images.append(Image(raw, media_type))
    return images


def image_parts(
    images: Iterable[Image], ctx: api.ToolContext
) -> tuple[list[api.ImageContent], list[api.ImageBlock]]:
    """Store at most `MAX_IMAGES` images; return them as content for the model and as blocks for the user.

    This call blocks.
    """
    contents, blocks = [], []
    for number, image in enumerate(list(images)[:MAX_IMAGES], 1):
        fields = {
            "media_type": image.media_type,
            "blob_sha256": ctx.blobs.put_bytes(image.data),
            "size": len(image.data),
            "name": f"output-{number}.{image.media_type.partition('/')[2]}",
        }
        contents.append(api.ImageContent.model_validate(fields))
        blocks.append(api.ImageBlock.model_validate(fields))
    return contents, blocks


def shorten(text: str, limit: int) -> str:
    """Leave out the middle of a text longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return (
        f"{text[:half]}\n… ({api.format_number(len(text) - 2 * half)} characters left out) …\n{text[-half:]}"
    )
