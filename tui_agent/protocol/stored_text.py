"""Texts and JSON objects as stored in a log: short texts in the event itself, long texts as blobs."""

from typing import Annotated, TypeAlias

from pydantic import Field, JsonValue

from tui_agent.protocol.frozen_model import FrozenModel


class BlobText(FrozenModel):
    """A text that is too long for a log line and is stored in the session's blob folder.

    `blob_sha256`: hex SHA-256 of the UTF-8 bytes. `size`: number of these bytes. `preview`: the first characters of the
    text, at most 1,024.
    """

    blob_sha256: str
    size: int
    preview: str


LongText: TypeAlias = Annotated[str | BlobText, Field(union_mode="left_to_right")]
"""A text as stored in a log: complete up to 8 KB of UTF-8, otherwise a `BlobText`."""

JsonMap: TypeAlias = dict[str, JsonValue]
"""A JSON object. With exactly the fields of `BlobText`, it represents a long string (see `store.blobs`)."""


def text_preview(text: LongText) -> str:
    """Return the part of a text that is available without reading a blob."""
    return text if isinstance(text, str) else text.preview


def text_size(text: LongText) -> int:
    """Return the size of a text: in characters, or in bytes if it is stored as a blob."""
    return len(text) if isinstance(text, str) else text.size
