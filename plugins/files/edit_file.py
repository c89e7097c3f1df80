"""edit_file: an exact piece of a file replaced."""

import asyncio
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
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
)

from .changing import FileChange, apply, changed, existing, must_be_known, preview_of, result_of
from .matching import find, line_of, replaced
from .nearest import explain
from .text import SNIFF, decode, encode, kind_of, printable

MAX_BYTES = 20_000_000


class EditFileArgs(Frozen):
    """Arguments of edit_file."""

    path: str
    old_text: str
    new_text: str
    replace_all: bool = Field(default=False, description="replace every occurrence")


class EditFile:
    """Replaces text that stands exactly once in a file that was read and has not changed since."""

    spec: ClassVar[ToolSpec]

    def target(self, args: EditFileArgs) -> str:
        """The path."""
        return args.path

    def effects(self, args: EditFileArgs) -> tuple[Effect, ...]:
        """Writes the file."""
        return (Writes(path=args.path),)

    async def foresee(self, args: EditFileArgs, env: Environment, state: SessionStateView) -> None:
        """A file that was not read, or has changed since, is not changed."""
        must_be_known(await _content(args, env), state)

    async def preview(self, args: EditFileArgs, env: Environment) -> Preview:
        """The diff that the edit would make."""
        return preview_of((await _change(args, await _content(args, env)))[0])

    async def run(self, args: EditFileArgs, ctx: ToolContext) -> ToolResult:
        """Make the edit; see the class."""
        content = await _content(args, ctx.env)
        must_be_known(content, ctx.state)
        change, places = await _change(args, content)
        try:
            await apply(change, ctx)
        except StaleFile as stale:
            raise ToolError(f"{content.path} was not changed: {stale}") from stale
        where = ", ".join(map(str, places[:10])) + (", …" if len(places) > 10 else "")
        said = f"Edited {content.path} at line {where}: +{change.diff.added} -{change.diff.removed} lines."
        if len(places) > 1:
            said = said.replace("at line", f"({counted(len(places), 'place')}) at lines")
        return result_of(change, said, ctx)


async def _content(args: EditFileArgs, env: Environment) -> FileContent:
    if not args.old_text:
        raise ToolError("old_text is empty.", hint="Use write_file to create or replace a whole file.")
    if args.old_text == args.new_text:
        raise ToolError("old_text and new_text are the same: nothing would change.")
    content = await existing(args.path, env)
    if content is None:
        raise ToolError(f"There is no file {args.path}.", hint="Create it with write_file.")
    if decode(content.data[:SNIFF]) is None:
        raise _binary(content)
    return content


def _binary(content: FileContent) -> ToolError:
    return ToolError(f"{content.path} is no text ({kind_of(content.data)}): it cannot be edited.")


async def _change(args: EditFileArgs, content: FileContent) -> tuple[FileChange, list[int]]:
    data, places = await asyncio.to_thread(_edited, args, content)
    return await changed(content.path, content, data), places


def _edited(args: EditFileArgs, content: FileContent) -> tuple[bytes, list[int]]:
    """The new bytes and the line numbers of the places that changed."""
    decoded = decode(content.data)
    if decoded is None:
        raise _binary(content)
    found = find(decoded.text, args.old_text)
    if not found:
        raise ToolError(
            f"old_text does not stand in {printable(content.path)}.\n{explain(decoded.shown, args.old_text)}"
        )
    places = [line_of(decoded.text, match.start) for match in found]
    if len(found) > 1 and not args.replace_all:
        where = ", ".join(map(str, places[:20])) + (", …" if len(places) > 20 else "")
        raise ToolError(
            f"old_text stands {len(found)} times in {printable(content.path)}: lines {where}.",
            hint="Add lines around it until it is unique, or set replace_all=true.",
        )
    data = encode(decoded, replaced(decoded.text, found, args.new_text))
    if data is None:
        raise ToolError(f"new_text holds a character that {content.path} ({decoded.note}) cannot hold.")
    if len(data) > MAX_BYTES:
        raise ToolError(f"{content.path} would grow to {len(data):,} bytes; the limit is {MAX_BYTES:,}.")
    return data, places


def make(description: str) -> EditFile:
    """The tool with its description for the model."""
    EditFile.spec = ToolSpec(name="edit_file", description=description, args=EditFileArgs, verb="edit")
    return EditFile()
