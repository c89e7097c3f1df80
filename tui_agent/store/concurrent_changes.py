"""Finds the file changes by other sessions of a workspace. An undo does not restore these files.

Invariant: only logs written after the given time are read.
"""

from collections.abc import Iterator

from tui_agent.ports.log import OtherChange
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import FileChanged
from tui_agent.store.log_chunks import find_lines
from tui_agent.store.log_line import decode_line, payload_mark
from tui_agent.store.session_store import SessionStore


def find_changes_by_others(
    store: SessionStore, own_id: str, workspace: str, since: float
) -> Iterator[OtherChange]:
    """Yield the file changes by other sessions of a workspace after `since` (seconds since the epoch).

    Changes by persons are left out. Raise `StoreError` if the sessions cannot be listed.
    """
    states = [
        state for state in store.log_states() if state.folder.name != own_id and state.modified_at >= since
    ]
    for summary in store.index.summaries(states):
        if summary.workspace != workspace or summary.is_other_version:
            continue
        try:
            lines = list(find_lines(summary.path, payload_mark(FileChanged)))
        except OSError:
            continue  # the session has been removed meanwhile
        for line in lines:
            record = decode_line(line)
            if not isinstance(record, Envelope) or record.time < since:
                continue
            change = record.payload
            if isinstance(change, FileChanged) and change.author != "human":
                yield OtherChange(summary.title or summary.id, record.time, change)
