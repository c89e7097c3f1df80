"""Attachments of a message, stored as blobs."""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.errors import ConfigError
from tui_agent.ports.log import Blobs
from tui_agent.protocol.commands import Attachment
from tui_agent.protocol.parts import ImageContent

MAX_BYTES = 20_000_000
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def load_attachments(blobs: Blobs, wanted: Sequence[Attachment]) -> tuple[ImageContent, ...]:
    """Read and store images. Raises `ConfigError` if one cannot be read or has an unsupported type."""
    return tuple(_store_image(blobs, attachment) for attachment in wanted)


def _store_image(blobs: Blobs, attachment: Attachment) -> ImageContent:
    path = Path(attachment.path)
    if attachment.media_type not in IMAGE_TYPES:
        raise ConfigError(
            f"{path.name} is {attachment.media_type}.", hint="Models accept PNG, JPEG, GIF and WebP."
        )
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} is not a file, or is larger than {MAX_BYTES // 1_000_000} MB.")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    return ImageContent(
        media_type=attachment.media_type, blob_sha256=blobs.put_bytes(data), size=len(data), name=path.name
    )
