"""Artifacts: tool results stored in full while the model sees only the beginning and end, or one line."""

from tui_agent.protocol.base import BlobText, Frozen
from tui_agent.protocol.unicode_text import counted


class Artifact(Frozen):
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
    whole: BlobText

    @staticmethod
    def id_of(sha256: str) -> str:
        """Return the id of the artifact that stores a text with this digest."""
        return f"art_{sha256[:12]}"

    @classmethod
    def of(cls, tool: str, whole: BlobText, *, lines: int, preview_size: int) -> "Artifact":
        """Return the artifact for a stored text."""
        digest = whole.blob_sha256
        return cls(
            id=cls.id_of(digest),
            tool=tool,
            size=whole.size,
            preview_size=preview_size,
            lines=lines,
            sha256=digest,
            path=f"blobs/{digest}",
            whole=whole.model_copy(update={"preview": whole.preview[:PREVIEW]}),
        )

    @property
    def about(self) -> str:
        """A one-line description for the model."""
        return f"artifact {self.id}: {counted(self.size, 'byte')}, {counted(self.lines, 'line')}"


PREVIEW = 80
"""Characters of the text that the event itself holds."""
