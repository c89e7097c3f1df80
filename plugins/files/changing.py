"""What write_file and edit_file share: the base that a change stands on, and how a change is shown."""

import asyncio
import hashlib
from dataclasses import dataclass

from tui_agent.plugin_api import (
    DiffBlock,
    Environment,
    FileContent,
    LineDiff,
    Preview,
    SessionStateView,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    line_diff,
)

from .text import decode, language_of

MAX_DIFF_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that is worked out but not made. `before` is None for a new file."""

    path: str
    before: FileContent | None
    data: bytes
    diff: LineDiff

    def block(self) -> DiffBlock:
        return DiffBlock(
            path=self.path,
            diff=self.diff.text,
            added=self.diff.added,
            removed=self.diff.removed,
            language=language_of(self.path),
        )


def must_be_known(content: FileContent, state: SessionStateView) -> None:
    """Refuse a change of a file that was not read, or is no longer what was read."""
    # In the log a byte of a name that is no UTF-8 is a sign.
    named = content.path.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    known = state.read_files.get(named)
    if known is None:
        raise ToolError(f"{content.path} has not been read in this session.", hint="Read it first.")
    if known.digest != content.digest:
        raise ToolError(f"{content.path} has changed since it was read.", hint="Read it again.")


async def changed(path: str, before: FileContent | None, data: bytes) -> FileChange:
    """The change with its diff, worked out in a thread."""
    return FileChange(path, before, data, await asyncio.to_thread(_diff, before, data))


def _diff(before: FileContent | None, data: bytes) -> LineDiff:
    old = b"" if before is None else before.data
    was, now = decode(old), decode(data)
    if was is None or now is None or len(old) + len(data) > MAX_DIFF_BYTES:
        return LineDiff("", data.count(b"\n"), old.count(b"\n"))
    return line_diff(was.shown, now.shown)


def preview_of(change: FileChange) -> Preview:
    """The diff to approve; bound to the exact bytes before and after."""
    base = "" if change.before is None else change.before.digest
    return Preview((change.block(),), content=f"{base} {hashlib.sha256(change.data).hexdigest()}")


async def apply(change: FileChange, ctx: ToolContext) -> str:
    """Write it, on the condition that the file still is what the change was worked out from; the new digest."""
    expect = None if change.before is None else change.before.digest
    return (await ctx.env.write(change.path, change.data, expect)).digest


def result_of(change: FileChange, said: str, ctx: ToolContext) -> ToolResult:
    """What the model and the user are told of a change that was made."""
    block = change.block()
    kept = block.model_copy(update={"diff": ctx.blobs.keep(change.diff.text)})
    return ToolResult(
        ok=True,
        content=(TextContent(text=said),),
        summary=f"+{block.added} -{block.removed}",
        display=(kept,),
        data={"path": change.path, "added": block.added, "removed": block.removed, "size": len(change.data)},
    )


async def existing(path: str, env: Environment) -> FileContent | None:
    """The file as it is; None where nothing is."""
    found = await env.stat(path)
    if found is None:
        return None
    if found.kind == "directory":
        raise ToolError(f"{path} is a folder.")
    return await env.read(path)
