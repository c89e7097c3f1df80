"""Artifacts: tool results stored in full while the model sees only the beginning and end, or one line."""

from tui_agent.protocol.base import BlobText, FrozenModel
from tui_agent.protocol.unicode_text import format_count


class Artifact(FrozenModel):
    """A stored text that the model can read with `read_artifact`.

    `size` is the bytes of the full text, `lines` its lines, and `preview_size` the bytes that the model was
    sent. `path` is relative to the session's folder; `sha256` is the digest of the file there. `tool` is the
    tool that gave the result.
    """

    id: str
    tool: str
    size: int
    preview_size: int
    lines: int
    sha256: str
    path: str
    text: BlobText

    @staticmethod
    def id_for_sha256(sha256: str) -> str:
        """Return the id of the artifact that stores a text with this digest."""
        return f"art_{sha256[:12]}"

    @classmethod
    def from_blob(cls, tool: str, text: BlobText, *, lines: int, preview_size: int) -> "Artifact":
        """Return the artifact for a stored text."""
        digest = text.blob_sha256
        return cls(
            id=cls.id_for_sha256(digest),
            tool=tool,
            size=text.size,
            preview_size=preview_size,
            lines=lines,
            sha256=digest,
            path=f"blobs/{digest}",
            text=text.model_copy(update={"preview": text.preview[:EVENT_PREVIEW_CHARS]}),
        )


def left_out_note(lines: int, size: int, artifact_id: str = "") -> str:
    """Return the note that stands in a shortened text for `lines` lines of `size` bytes.

    `artifact_id` names the artifact that stores the full text, if there is one.
    """
    missing = format_count(lines, "line") if lines > 1 else format_count(size, "byte")
    return f"[… {missing} left out{f': read_artifact {artifact_id}' if artifact_id else ''} …]"


EVENT_PREVIEW_CHARS = 80
"""Characters of the text that the event itself holds."""
