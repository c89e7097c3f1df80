"""write_note: something for later sessions, kept with the user's consent."""

import asyncio
from difflib import unified_diff
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    NOTE_BYTES,
    DiffBlock,
    Effect,
    Environment,
    Frozen,
    Preview,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    Writes,
    replace_private,
    text_of_note,
)

from .folder import MAX_TITLE, body_of, path_of


class WriteNoteArgs(Frozen):
    """Arguments of write_note."""

    title: str = Field(min_length=1, max_length=MAX_TITLE)
    text: str = Field(min_length=1, description="Markdown")


class WriteNote:
    """Writes one note; what it writes is a file outside the workspace, and judged as that."""

    spec: ClassVar[ToolSpec]

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def target(self, args: WriteNoteArgs) -> str:
        """The title."""
        return args.title

    def effects(self, args: WriteNoteArgs) -> tuple[Effect, ...]:
        """Writes the note's file."""
        return (Writes(path=str(path_of(self._folder, args.title))),)

    async def preview(self, args: WriteNoteArgs, env: Environment) -> Preview:
        """The diff against the note that is there."""
        block, _ = await asyncio.to_thread(self._change, args.title, body_of(args.title, args.text))
        return Preview(
            (block,), content=block.diff if isinstance(block.diff, str) else block.diff.blob_sha256
        )

    async def run(self, args: WriteNoteArgs, ctx: ToolContext) -> ToolResult:
        """Write it, without what the redaction takes out."""
        if ctx.blobs.text(ctx.blobs.keep(args.title)) != args.title:
            raise ToolError(
                "The title holds a secret, and the note's file is named after it.",
                hint="Give it another one.",
            )
        kept = ctx.blobs.text(ctx.blobs.keep(body_of(args.title, args.text)))
        if len(kept.encode()) > NOTE_BYTES:
            raise ToolError(
                f"The note is larger than {NOTE_BYTES // 1000} KB.", hint="Keep what matters of it."
            )
        block, new = await asyncio.to_thread(self._change, args.title, kept)
        path = path_of(self._folder, args.title)
        try:
            await asyncio.to_thread(replace_private, path, kept)
        except OSError as error:
            raise ToolError(f"The note {path} cannot be written: {error.strerror}.") from error
        said = f"{'Kept' if new else 'Replaced'} the note {path.name}."
        return ToolResult(
            ok=True,
            content=(TextContent(text=said),),
            summary="new" if new else f"+{block.added} −{block.removed}",
            display=(block,),
            data={"path": str(path)},
        )

    def _change(self, title: str, after: str) -> tuple[DiffBlock, bool]:
        """What writing changes, and whether the note is a new one."""
        path = path_of(self._folder, title)
        before = text_of_note(path)
        lines = list(
            unified_diff(
                (before or "").splitlines(), after.splitlines(), path.name, path.name, lineterm="", n=3
            )
        )
        body = lines[2:]
        return (
            DiffBlock(
                path=str(path),
                diff="\n".join(body) + "\n" if body else "",
                added=sum(line.startswith("+") for line in body),
                removed=sum(line.startswith("-") for line in body),
            ),
            before is None,
        )


def make(description: str, folder: Path) -> WriteNote:
    """The tool over a folder, with its description for the model."""
    WriteNote.spec = ToolSpec(name="write_note", description=description, args=WriteNoteArgs, verb="note")
    return WriteNote(folder)
