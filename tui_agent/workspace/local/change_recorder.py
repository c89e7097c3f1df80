"""An environment that records every change of a file.

Invariant: the contents before and after are blobs (without secrets) before the change is made, and the event follows the change with
nothing in between that a cancellation could split.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from anyio import to_thread

from tui_agent.errors import StaleFile
from tui_agent.folds.text.line_diff import count_changes
from tui_agent.ports.environment import (
    Environment,
    ExecResult,
    ExecSpec,
    FileContent,
    FileInfo,
    OutputSink,
    Sandbox,
)
from tui_agent.ports.log import Blobs, StoredFile
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.files import Author, FileChanged
from tui_agent.protocol.ids import CallId

COMPARE_LIMIT = 2_000_000
"""Bytes of both sides together up to which lines are compared; above it all lines count as replaced."""


class RecordingEnvironment:
    """Wraps any environment for one call: each write and remove emits `file.changed` with blobs before and after."""

    def __init__(
        self,
        inner: Environment,
        blobs: Blobs,
        emit: Callable[[Payload], None],
        call_id: CallId | None,
        author: Author = "agent",
        run: Callable[[ExecSpec, OutputSink], Awaitable[ExecResult]] | None = None,
    ) -> None:
        """`run` runs its commands where the inner environment does not itself."""
        self._inner = inner
        self._blobs = blobs
        self._emit = emit
        self._call_id = call_id
        self._author: Author = author
        self._run = run or inner.exec

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def root(self) -> str:
        return self._inner.root

    @property
    def sandbox(self) -> Sandbox:
        return self._inner.sandbox

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """As the inner environment; what a program changes is not recorded here."""
        return await self._run(spec, on_output)

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """As the inner environment."""
        return await self._inner.read(path, max_bytes)

    async def write(self, path: str, data: bytes, expect: str | None) -> FileContent:
        """As the inner environment, recorded; a write that changes nothing is not."""
        before = None if expect is None else await self._known(path, expect)
        old = None if before is None else await to_thread.run_sync(self._blobs.put_file, before.data)
        new = await to_thread.run_sync(self._blobs.put_file, data)
        counts = await to_thread.run_sync(_counts, b"" if before is None else before.data, data)
        written = await self._inner.write(path, data, expect)
        if before is None or before.data != data:
            self._record(written.path, before, data, written.mode, (old, new), counts)
        return written

    async def remove(self, path: str, expect: str) -> None:
        """As the inner environment, recorded."""
        before = await self._known(path, expect)
        old = await to_thread.run_sync(self._blobs.put_file, before.data)
        counts = await to_thread.run_sync(_counts, before.data, b"")
        await self._inner.remove(path, expect)
        self._record(before.path, before, None, None, (old, None), counts)

    async def stat(self, path: str) -> FileInfo | None:
        """As the inner environment."""
        return await self._inner.stat(path)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """As the inner environment."""
        return await self._inner.listdir(path)

    def walk(self, path: str = "", *, ignored: bool = False) -> AsyncIterator[FileInfo]:
        """As the inner environment."""
        return self._inner.walk(path, ignored=ignored)

    def resolve(self, path: str) -> str:
        """As the inner environment."""
        return self._inner.resolve(path)

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """As the inner environment."""
        return self._inner.resolve_all(paths)

    async def aclose(self) -> int:
        """Close the inner environment."""
        return await self._inner.aclose()

    async def _known(self, path: str, expect: str) -> FileContent:
        if await self._inner.stat(path) is None:
            raise StaleFile(f"{path} is no longer there.", hint="Look at the folder again.")
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
        old, new = stored
        self._emit(
            FileChanged(
                path=path,
                before=old and old.blob,
                after=new and new.blob,
                before_sha256=old and old.other_sha256,
                after_sha256=new and new.other_sha256,
                before_size=0 if before is None else len(before.data),
                after_size=0 if after is None else len(after),
                mode=mode,
                author=self._author,
                added=counts[0],
                removed=counts[1],
                call_id=self._call_id,
            )
        )


def _counts(before: bytes, after: bytes) -> tuple[int, int]:
    """(added, removed) lines; 0 and 0 where either side is binary."""
    if b"\0" in before[:8192] or b"\0" in after[:8192]:
        return 0, 0
    if len(before) + len(after) > COMPARE_LIMIT:
        return after.count(b"\n"), before.count(b"\n")
    return count_changes(before.decode("utf-8", "replace"), after.decode("utf-8", "replace"))
