"""Export of the log's own lines for programs: redacted again, otherwise byte for byte as stored."""

from pathlib import Path

from tui_agent.export.redacted_log import Outgoing
from tui_agent.store.redaction.redactor import Redactor


def to_jsonl(folder: Path, redactor: Redactor, *, everything: bool = False) -> bytes:
    """Return the lines of the current branch, or all of them. Long texts are given by digest and preview."""
    outgoing = Outgoing(folder, redactor, branch=not everything)
    for _ in outgoing.blobs():  # redacting the blobs first gives the names that the lines refer to
        pass
    return b"".join(outgoing.lines())
