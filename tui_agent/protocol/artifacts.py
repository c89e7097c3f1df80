"""An observation that is kept whole while a model is told only its beginning and end, or a line in its place."""

from tui_agent.protocol.base import BlobText, Frozen
from tui_agent.protocol.unicode_text import counted


class Artifact(Frozen):
    """What `read_artifact` reads on in.

    `size` are the bytes of the whole and `lines` its lines; `preview_size` the bytes that the model is told. `path` is
    that of the text in the session's folder, `sha256` of what stands there. `tool` is whose result it is.
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
        """The id of the artifact that holds a text with this digest."""
        return f"art_{sha256[:12]}"

    @classmethod
    def of(cls, tool: str, whole: BlobText, *, lines: int, preview_size: int) -> "Artifact":
        """The artifact of a text that is stored."""
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
        """What it is, for a model."""
        return f"artifact {self.id}: {counted(self.size, 'byte')}, {counted(self.lines, 'line')}, SHA-256 {self.sha256}"


PREVIEW = 80
"""Characters of the text that stand in the event."""
