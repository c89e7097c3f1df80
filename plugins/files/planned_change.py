"""Computes, previews and writes the change of a file by write_file or edit_file, and describes binary content."""

import asyncio
import hashlib
from dataclasses import dataclass

import tui_agent.plugin_api as api

MAX_DIFF_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class FileChange:
    """A planned change of one file. `before` is None for a new file."""

    path: str
    before: api.FileContent | None
    data: bytes
    diff: api.LineDiff

    def diff_block(self) -> api.DiffBlock:
        return api.DiffBlock(
            path=self.path, diff=self.diff.text, added=self.diff.added, removed=self.diff.removed
        )


async def compute_change(path: str, before: api.FileContent | None, data: bytes) -> FileChange:
    """Compute the change of a file from `before` to `data`."""
    return FileChange(path, before, data, await asyncio.to_thread(_diff, before, data))


def _diff(before: api.FileContent | None, data: bytes) -> api.LineDiff:
    old = b"" if before is None else before.data
    old_text, new_text = api.decode_text(old), api.decode_text(data)
    if old_text is None or new_text is None or len(old) + len(data) > MAX_DIFF_BYTES:
        return api.LineDiff("", data.count(b"\n"), old.count(b"\n"))
    return api.diff_lines(old_text.display_text, new_text.display_text)


def preview_change(change: FileChange) -> api.Preview:
    """Return the preview of a change. The user sees the diff and approves exactly the old and new bytes.

    The preview's `content` has the digests of the old and new bytes.
    """
    base = "" if change.before is None else change.before.digest
    return api.Preview((change.diff_block(),), content=f"{base} {hashlib.sha256(change.data).hexdigest()}")


async def write_change(change: FileChange, message: str, ctx: api.ToolContext) -> api.ToolResult:
    """Write the change and return the tool's result.

    Raise `ToolError` if the file no longer has the content `before`.
    """
    expect = None if change.before is None else change.before.digest
    try:
        await ctx.env.write(change.path, change.data, expect)
    except api.StaleFile as stale:
        raise api.ToolError(f"{change.path} was not changed: {stale}") from stale
    block = change.diff_block()
    stored_block = block.model_copy(update={"diff": ctx.blobs.put_text(change.diff.text)})
    return api.text_result(
        message,
        summary=api.describe_line_changes(block.added, block.removed, "-"),
        display=(stored_block,),
        data={"path": change.path, "added": block.added, "removed": block.removed, "size": len(change.data)},
    )


async def read_existing(path: str, env: api.Environment) -> api.FileContent | None:
    """Return the content of the file, or None if the file does not exist; raise `ToolError` for a folder."""
    info = await env.stat(path)
    if info is None:
        return None
    if info.kind == "directory":
        raise api.ToolError(f"{path or 'The workspace'} is a folder.")
    return await env.read(path)


def describe_binary(data: bytes) -> str:
    """Name the type of binary content, such as `a zip archive`. The first bytes decide."""
    for magic, words in (
        (b"\x7fELF", "an ELF program"),
        (b"%PDF", "a PDF"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\xca\xfe\xba\xbe", "Java or Mach-O code"),
    ):
        if data.startswith(magic):
            return words
    return "binary data"
