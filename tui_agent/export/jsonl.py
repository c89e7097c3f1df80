"""The log's own lines, for programs: redacted once more, else byte for byte as they are kept."""

from pathlib import Path

from tui_agent.export.redacted_log import Outgoing
from tui_agent.store.redaction.redactor import Redactor


def to_jsonl(folder: Path, redactor: Redactor, *, everything: bool = False) -> bytes:
    """The lines of the current branch, or all of them. Long texts stand in them by digest and beginning."""
    outgoing = Outgoing(folder, redactor, branch=not everything)
    for _ in outgoing.blobs():  # what these are called now is what the lines name
        pass
    return b"".join(outgoing.lines())
