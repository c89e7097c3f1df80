"""edit_file: replace an exact piece of a file."""

import asyncio

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    Environment,
    FileContent,
    Frozen,
    Preview,
    SessionStateView,
    StaleFile,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    Writes,
    counted,
    tool_description,
)

from .file_changes import FileChange, apply, changed, existing, must_be_known, preview_of, result_of
from .mismatch import explain
from .text import SNIFF, decode, encode, kind_of, printable
from .text_match import find, line_of, replaced

MAX_BYTES = 20_000_000


class EditFileArgs(Frozen):
    """Arguments of edit_file."""

    path: str
    old_text: str
    new_text: str
    replace_all: bool = Field(default=False, description="replace every occurrence")


class EditFile(BaseTool):
    """Replaces text that occurs exactly once in a file that was read and has not changed since."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="edit_file", description=tool_description(__file__), args=EditFileArgs, verb="edit"
        )

    def target(self, args: EditFileArgs) -> str:
        """Return the path."""
        return args.path

    def effects(self, args: EditFileArgs) -> tuple[Effect, ...]:
        """Return the write of the file."""
        return (Writes(path=args.path),)

    async def foresee(self, args: EditFileArgs, env: Environment, state: SessionStateView) -> None:
        """Raise a `ToolError` if the file was not read, or has changed since."""
        must_be_known(await _read_base(args, env), state)

    async def preview(self, args: EditFileArgs, env: Environment) -> Preview:
        """Return the diff that the edit would make."""
        return preview_of((await _compute_edit(args, await _read_base(args, env)))[0])

    async def run(self, args: EditFileArgs, ctx: ToolContext) -> ToolResult:
        """Make the edit and return its result."""
        content = await _read_base(args, ctx.env)
        must_be_known(content, ctx.state)
        change, places = await _compute_edit(args, content)
        try:
            await apply(change, ctx)
        except StaleFile as stale:
            raise ToolError(f"{content.path} was not changed: {stale}") from stale
        where = ", ".join(map(str, places[:10])) + (", …" if len(places) > 10 else "")
        message = f"Edited {content.path} at line {where}: +{change.diff.added} -{change.diff.removed} lines."
        if len(places) > 1:
            message = message.replace("at line", f"({counted(len(places), 'place')}) at lines")
        return result_of(change, message, ctx)


async def _read_base(args: EditFileArgs, env: Environment) -> FileContent:
    if not args.old_text:
        raise ToolError("old_text is empty.", hint="Use write_file to create or replace a whole file.")
    if args.old_text == args.new_text:
        raise ToolError("old_text and new_text are the same: nothing would change.")
    content = await existing(args.path, env)
    if content is None:
        raise ToolError(f"File not found: {args.path}.", hint="Create it with write_file.")
    if decode(content.data[:SNIFF]) is None:
        raise _binary_error(content)
    return content


def _binary_error(content: FileContent) -> ToolError:
    return ToolError(f"{content.path} is not text ({kind_of(content.data)}) and cannot be edited.")


async def _compute_edit(args: EditFileArgs, content: FileContent) -> tuple[FileChange, list[int]]:
    data, places = await asyncio.to_thread(_replace_text, args, content)
    return await changed(content.path, content, data), places


def _replace_text(args: EditFileArgs, content: FileContent) -> tuple[bytes, list[int]]:
    """Return the new bytes and the line numbers of the changed places."""
    decoded = decode(content.data)
    if decoded is None:
        raise _binary_error(content)
    matches = find(decoded.text, args.old_text)
    if not matches:
        raise ToolError(
            f"old_text was not found in {printable(content.path)}.\n{explain(decoded.shown, args.old_text)}"
        )
    places = [line_of(decoded.text, match.start) for match in matches]
    if len(matches) > 1 and not args.replace_all:
        where = ", ".join(map(str, places[:20])) + (", …" if len(places) > 20 else "")
        raise ToolError(
            f"old_text occurs {len(matches)} times in {printable(content.path)}: lines {where}.",
            hint="Add surrounding lines until it is unique, or set replace_all=true.",
        )
    data = encode(decoded, replaced(decoded.text, matches, args.new_text))
    if data is None:
        raise ToolError(f"new_text contains a character that {content.path} ({decoded.note}) cannot encode.")
    if len(data) > MAX_BYTES:
        raise ToolError(f"{content.path} would grow to {len(data):,} bytes; the limit is {MAX_BYTES:,}.")
    return data, places
