"""The session's changed files as plain lines.

Invariant: the diffs compare the contents recorded in the session, not the files on disk.
"""

import asyncio
from contextlib import suppress

from tui_agent.errors import BlobNotFound
from tui_agent.folds.base import current_branch, fold
from tui_agent.folds.comparison.files import diff_contents
from tui_agent.folds.session.changed_files import ChangedFile, FilesChanged
from tui_agent.folds.session.generated_files import format_folders
from tui_agent.ports.session import AppSession
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import reveal_line
from tui_agent.tui.transcript.diff import parse_diff

_SIGNS = {"+": "added, ", "-": "removed, ", " ": "", "@": "…"}


class ChangedFileLines:
    """Keeps the events about files, and describes the changes of the current branch."""

    def __init__(self, session: AppSession) -> None:
        self._session = session
        self._records: list[Record] = []

    def keep(self, record: Envelope) -> None:
        """Keep an event if it is needed to find the changed files."""
        if isinstance(record.payload, FileChanged | CheckpointTaken | CheckpointRestored | SessionHeadMoved):
            self._records.append(record)

    async def lines(self) -> list[str]:
        """Return the changed files with their diffs, as lines to print."""
        view = fold(FilesChanged(), current_branch(self._records))
        lines = [f"{format_count(len(view.files), 'changed file')} {format_folders(view.folders)}".rstrip()]
        for file in view.files:
            lines += await self._file_lines(file)
        return lines

    async def _file_lines(self, file: ChangedFile) -> list[str]:
        contents: dict[str, bytes] = {}
        for digest in filter(None, (file.before, file.after)):
            with suppress(BlobNotFound):
                contents[digest] = await self._session.read_blob(digest)
        diff, note = await asyncio.to_thread(diff_contents, file, contents.get)
        if diff is None or note:
            return [f"{reveal_line(file.path)}, {note}"]
        head = f"{reveal_line(file.path)}, {diff.added} added, {diff.removed} removed"
        parsed = await asyncio.to_thread(parse_diff, diff.text)
        return [head, *(f"line {line.number}, {_SIGNS[line.sign]}{line.text}" for line in parsed)]
