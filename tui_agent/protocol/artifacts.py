"""Artifacts: long texts that are stored in full. The model gets only a part of each text."""

from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.stored_text import BlobText, LongText
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_bytes

ARTIFACT_PREFIX = "artifact:"


class Artifact(FrozenModel):
    """A tool result, stored in full. The model can read it with `read_file` and search it with `grep`.

    `id`: the `path` argument of these tools, such as `artifact:3f9a0c41b2d7`. `size`, `lines`: bytes and lines of the
    full text. `preview_size`: bytes sent to the model. `path`: the file with the text, relative to the session's
    folder. `sha256`: digest of this file. `tool`: tool that produced the result.
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
        """Return the id of the artifact for a text with this digest."""
        return f"{ARTIFACT_PREFIX}{sha256[:12]}"

    @classmethod
    def from_blob(cls, tool: str, text: BlobText, *, lines: int, preview_size: int) -> "Artifact":
        """Return the artifact for a tool's result that is stored as a blob."""
        digest = text.blob_sha256
        return cls(
            id=cls.id_for_sha256(digest),
            tool=tool,
            size=text.size,
            preview_size=preview_size,
            lines=lines,
            sha256=digest,
            path=f"blobs/{digest}",
            # Shortened, because the event of the call itself contains the preview too.
            text=text.model_copy(update={"preview": text.preview[:EVENT_PREVIEW_CHARS]}),
        )


def left_out_note(lines: int, size: int, artifact_id: str = "") -> str:
    """Return a note about missing lines in a shortened text, such as `[… 40 lines left out …]`.

    `artifact_id`: the artifact with the full text (empty: there is none).
    """
    missing = format_count(lines, "line") if lines > 1 else format_bytes(size)
    return f"[… {missing} left out{f': read_file or grep {artifact_id}' if artifact_id else ''} …]"


def stored_artifact_id(text: LongText) -> str:
    """Return the artifact id of a stored long text, or an empty string for a short text."""
    return Artifact.id_for_sha256(text.blob_sha256) if isinstance(text, BlobText) else ""


def shorten_text(text: str, stored: LongText, max_chars: int) -> str:
    """Shorten `text` to its first lines and a note, if it has more than `max_chars` characters.

    `stored`: the same text as the session stored it. If the session stored an artifact, the note names it.
    """
    if len(text) <= max_chars:
        return text
    head = text[:max_chars].rpartition("\n")[0] or text[:max_chars]
    note = left_out_note(text.count("\n", len(head)), len(text) - len(head), stored_artifact_id(stored))
    return f"{head}\n{note}"


EVENT_PREVIEW_CHARS = 80
"""Number of characters of the preview in an artifact's event."""
