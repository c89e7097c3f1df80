"""The images that the user attached to a prompt: checked, and stored as blobs."""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.errors import ConfigError, os_errors_as
from tui_agent.ports.log import Blobs
from tui_agent.protocol.commands import Attachment
from tui_agent.protocol.parts import ImageContent
from tui_agent.units import format_bytes

MAX_ATTACHMENT_BYTES = 20_000_000
ATTACHMENT_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def load_attachments(blobs: Blobs, attachments: Sequence[Attachment]) -> tuple[ImageContent, ...]:
    """Read and store images. Raise `ConfigError` if an image cannot be read or has an unsupported type."""
    return tuple(_store_image(blobs, attachment) for attachment in attachments)


def _store_image(blobs: Blobs, attachment: Attachment) -> ImageContent:
    path = Path(attachment.path)
    if attachment.media_type not in ATTACHMENT_TYPES:
        raise ConfigError(
            f"{path.name} is {attachment.media_type}.", hint="Models accept PNG, JPEG, GIF and WebP."
        )
    with os_errors_as(ConfigError, f"{path} cannot be read"):
        if not path.is_file() or path.stat().st_size > MAX_ATTACHMENT_BYTES:
            raise ConfigError(
                f"{path} is not a file, or is larger than {format_bytes(MAX_ATTACHMENT_BYTES)}."
            )
        data = path.read_bytes()
    return ImageContent(
        media_type=attachment.media_type, blob_sha256=blobs.put_bytes(data), size=len(data), name=path.name
    )
