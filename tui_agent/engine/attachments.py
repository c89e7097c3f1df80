"""Attachments of a message, read and kept as blobs."""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.errors import ConfigError
from tui_agent.ports.log import Blobs
from tui_agent.protocol.commands import Attachment
from tui_agent.protocol.parts import ImageContent

MAX_BYTES = 20_000_000
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def attachments(blobs: Blobs, wanted: Sequence[Attachment]) -> tuple[ImageContent, ...]:
    """The images as content. Raises `ConfigError` where one cannot be read or is no image a model takes."""
    return tuple(_image(blobs, each) for each in wanted)


def _image(blobs: Blobs, wanted: Attachment) -> ImageContent:
    path = Path(wanted.path)
    if wanted.media_type not in IMAGE_TYPES:
        raise ConfigError(f"{path.name} is {wanted.media_type}: models take PNG, JPEG, GIF and WebP.")
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} is no file, or larger than {MAX_BYTES // 1_000_000} MB.")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    return ImageContent(
        media_type=wanted.media_type, blob_sha256=blobs.put(data), size=len(data), name=path.name
    )
