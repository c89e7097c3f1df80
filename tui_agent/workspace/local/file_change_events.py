"""Environment wrapper that records every file change.

Invariant: before a file is changed, the old and the new content are stored as blobs, with secrets redacted.
"""

from collections.abc import Awaitable, Callable

from anyio import to_thread

from tui_agent.errors import StaleFile
from tui_agent.folds.text.line_diff import count_changes
from tui_agent.folds.text.plain_text import decode_text
from tui_agent.folds.text.redaction_placeholders import find_hidden_changes
from tui_agent.ports.environment import (
    Environment,
    ExecResult,
    ExecSpec,
    FileContent,
    OutputSink,
)
from tui_agent.ports.log import Blobs, StoredFile
from tui_agent.protocol.events.files import Author, FileChanged
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.workspace.local.environment_wrapper import EnvironmentWrapper

MAX_COMPARE_BYTES = 2_000_000
"""Maximum size, in bytes, of the old and new content together for a comparison line by line.

A larger change is recorded as a replacement of all lines.
"""


class RecordingEnvironment(EnvironmentWrapper):
    """Environment for one tool call. It emits `file.changed` for each write and removal."""

    def __init__(
        self,
        inner: Environment,
        blobs: Blobs,
        emit: Callable[[Payload], None],
        call_id: CallId | None,
        run: Callable[[ExecSpec, OutputSink], Awaitable[ExecResult]] | None = None,
    ) -> None:
        """Wrap the environment `inner`; if `run` is given, it replaces the method `exec` of `inner`."""
        super().__init__(inner)
        self._blobs = blobs
        self._emit = emit
        self._call_id = call_id
        self._run = run or inner.exec

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a command in the inner environment, without recording its file changes."""
        return await self._run(spec, on_output)

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        """Write a file in the inner environment, and record the change if the content differs."""
        before = None if expected_digest is None else await self._read_expected(path, expected_digest)
        old_blob = (
            None if before is None else await to_thread.run_sync(self._blobs.put_file, path, before.data)
        )
        new_blob = await to_thread.run_sync(self._blobs.put_file, path, data)
        counts = await to_thread.run_sync(count_lines, b"" if before is None else before.data, data)
        written = await self._inner.write(path, data, expected_digest)
        if before is None or before.data != data:
            self._record(written.path, before, data, written.mode, (old_blob, new_blob), counts)
        return written

    async def remove(self, path: str, expected_digest: str) -> None:
        """Remove a file in the inner environment, and record the change."""
        before = await self._read_expected(path, expected_digest)
        old_blob = await to_thread.run_sync(self._blobs.put_file, path, before.data)
        counts = await to_thread.run_sync(count_lines, before.data, b"")
        await self._inner.remove(path, expected_digest)
        self._record(before.path, before, None, None, (old_blob, None), counts)

    async def _read_expected(self, path: str, expect: str) -> FileContent:
        if await self._inner.stat(path) is None:
            raise StaleFile(f"{path} no longer exists.", hint="List the folder again.")
        content = await self._inner.read(path)
        if content.digest != expect:
            raise StaleFile(f"{path} has changed since it was read.", hint="Read it again.")
        return content

    def _record(
        self,
        path: str,
        before: FileContent | None,
        after: bytes | None,
        mode: int | None,
        stored: tuple[StoredFile | None, StoredFile | None],
        counts: tuple[int, int],
    ) -> None:
        sizes = 0 if before is None else len(before.data), len(after or b"")
        event = file_changed(path, stored, sizes, counts, mode=mode, author="agent", call_id=self._call_id)
        self._emit(event)


def file_changed(
    path: str,
    stored: tuple[StoredFile | None, StoredFile | None],
    sizes: tuple[int, int],
    counts: tuple[int, int],
    *,
    mode: int | None,
    author: Author,
    call_id: CallId | None,
) -> FileChanged:
    """Return the event for a change of a file.

    - `stored`: the content before and after the change
    - `sizes`: the sizes before and after the change, in bytes
    - `counts`: numbers of added and removed lines
    """
    old, new = stored
    return FileChanged(
        path=path,
        before=old and old.blob,
        after=new and new.blob,
        before_sha256=old and old.original_sha256,
        after_sha256=new and new.original_sha256,
        before_size=sizes[0],
        after_size=sizes[1],
        mode=mode,
        author=author,
        added=counts[0],
        removed=counts[1],
        call_id=call_id,
        hidden_changes=find_hidden_changes(old.placeholder_lines, new.placeholder_lines)
        if old and new
        else (),
    )


def count_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the numbers of added and removed lines, or (0, 0) for binary content."""
    old, new = decode_text(before), decode_text(after)
    if old is None or new is None:
        return 0, 0
    if len(before) + len(after) > MAX_COMPARE_BYTES:
        return new.text.count("\n"), old.text.count("\n")
    return count_changes(old.text, new.text)
