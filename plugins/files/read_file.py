"""read_file: a file's lines with their numbers, or an image."""

import asyncio
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    EnvironmentFault,
    FileContent,
    FileRead,
    Frozen,
    ImageBlock,
    ImageContent,
    Preview,
    Reads,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    counted,
)

from .text import decode, image_type, kind_of, printable, size_words

MAX_LINES = 2000
MAX_CHARS = 50_000
MAX_LINE_CHARS = 2000
MAX_IMAGE_BYTES = 5_000_000


class ReadFileArgs(Frozen):
    """Arguments of read_file."""

    path: str
    offset: int = Field(default=1, ge=1, description="first line, counted from 1")
    limit: int = Field(default=MAX_LINES, ge=1, le=MAX_LINES, description="how many lines")


class ReadFile:
    """Reads text by lines, images whole; records what was seen, so that it may be edited."""

    spec: ClassVar[ToolSpec]

    def target(self, args: ReadFileArgs) -> str:
        """The path, with the lines where not all are asked for."""
        if args.offset == 1 and args.limit == MAX_LINES:
            return args.path
        return f"{args.path}:{args.offset}-{args.offset + args.limit - 1}"

    def effects(self, args: ReadFileArgs) -> tuple[Effect, ...]:
        """Reads the file."""
        return (Reads(path=args.path),)

    async def preview(self, args: ReadFileArgs, env: Environment) -> Preview:
        """Nothing beyond the path."""
        return Preview(())

    async def run(self, args: ReadFileArgs, ctx: ToolContext) -> ToolResult:
        """The lines asked for; see the module's limits."""
        content = await _content(args.path, ctx.env)
        if image_type(content.data):
            return await _image(content, ctx)
        return await asyncio.to_thread(_text, content, args, ctx)


async def _content(path: str, env: Environment) -> FileContent:
    try:
        return await env.read(path)
    except EnvironmentFault as fault:
        found = await _what_is_there(path, env)
        if found == "directory":
            raise ToolError(f"{path} is a folder.", hint="Use list_directory.") from fault
        if found == "nothing":
            raise ToolError(f"There is no file {path}.", hint=await _near(path, env)) from fault
        raise


async def _what_is_there(path: str, env: Environment) -> str:
    try:
        found = await env.stat(path)
    except EnvironmentFault:
        return "unknown"
    return "nothing" if found is None else found.kind


async def _near(path: str, env: Environment) -> str:
    """A hint at files of a similar name in the same folder."""
    wanted = PurePosixPath(path)
    try:
        beside = [item.path for item in await env.listdir(str(wanted.parent))]
    except EnvironmentFault:
        return "Its folder does not exist either; look with list_directory or glob."
    names = {PurePosixPath(item).name: item for item in beside}
    near = get_close_matches(wanted.name, list(names), n=3, cutoff=0.6)
    return f"Did you mean {', '.join(printable(names[name]) for name in near)}?" if near else ""


async def _image(content: FileContent, ctx: ToolContext) -> ToolResult:
    size = len(content.data)
    if size > MAX_IMAGE_BYTES:
        raise ToolError(
            f"The image {content.path} is too big: {size_words(size)}, the limit is {size_words(MAX_IMAGE_BYTES)}.",
            hint="Make a smaller copy of it first.",
        )
    media = image_type(content.data)
    sha = await asyncio.to_thread(ctx.blobs.put, content.data)
    name = PurePosixPath(content.path).name
    said = f"{content.path}: {media}, {size_words(size)}"
    return ToolResult(
        ok=True,
        content=(
            TextContent(text=said),
            ImageContent(media_type=media, blob_sha256=sha, size=size, name=name),
        ),
        summary=f"{media.removeprefix('image/')}, {size_words(size)}",
        display=(ImageBlock(media_type=media, blob_sha256=sha, size=size, name=name),),
        events=(_seen(content, ctx, 1, 1, whole=True),),
    )


def _text(content: FileContent, args: ReadFileArgs, ctx: ToolContext) -> ToolResult:
    decoded = decode(content.data)
    if decoded is None:
        raise ToolError(
            f"{content.path} is no text: {kind_of(content.data)}, {size_words(len(content.data))}.",
            hint="Look at it with a command that understands it.",
        )
    lines = decoded.shown.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    if args.offset > max(total, 1):
        raise ToolError(
            f"{content.path} has only {counted(total, 'line')}; offset {args.offset} is behind its end."
        )
    shown, clipped = _numbered(lines, args.offset, min(args.limit, total - args.offset + 1))
    last = args.offset + len(shown) - 1
    notes = [f"[{decoded.note}]"] if decoded.note else []
    if "\r\n" in decoded.text:
        notes.append("[lines end with CRLF]")
    if clipped:
        notes.append(f"[{counted(clipped, 'long line')} cut at {MAX_LINE_CHARS} characters]")
    if last < total:
        notes.append(f"[lines {args.offset}-{last} of {total}; read on with offset={last + 1}]")
    elif total == 0:
        notes.append("[the file is empty]")
    body = "\n".join([*shown, *notes])
    whole = args.offset == 1 and last == total and not clipped
    block = ctx.blobs.keep(body)
    return ToolResult(
        ok=True,
        content=(TextContent(text=body),),
        summary=counted(len(shown), "line"),
        display=(TextBlock(text=block),),
        data={"path": content.path, "first": args.offset, "last": last, "lines": total},
        events=(_seen(content, ctx, args.offset, max(last, args.offset), whole=whole),),
    )


def _numbered(lines: list[str], first: int, count: int) -> tuple[list[str], int]:
    """Up to `count` lines with their numbers, as many as the limit of characters allows, and how many were cut."""
    width = len(str(first + count - 1))
    shown: list[str] = []
    clipped = 0
    room = MAX_CHARS
    for number in range(first, first + count):
        line = lines[number - 1].removesuffix("\r")
        if len(line) > MAX_LINE_CHARS:
            line = f"{line[:MAX_LINE_CHARS]}… (+{len(line) - MAX_LINE_CHARS} characters)"
            clipped += 1
        room -= len(line) + width + 2
        if room < 0 and shown:
            break
        shown.append(f"{number:>{width}}\t{line}")
    return shown, clipped


def _seen(content: FileContent, ctx: ToolContext, first: int, last: int, *, whole: bool) -> FileRead:
    return FileRead(
        path=content.path,
        digest=content.digest,
        size=len(content.data),
        first_line=first,
        last_line=last,
        whole=whole,
        call_id=ctx.call_id,
    )


def make(description: str) -> ReadFile:
    """The tool with its description for the model."""
    ReadFile.spec = ToolSpec(
        name="read_file", description=description, args=ReadFileArgs, verb="read", parallel_safe=True
    )
    return ReadFile()
