"""The tool `read_file`: reads numbered lines of a file or an artifact, or shows an image."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import Field

import tui_agent.plugin_api as api

from .planned_change import describe_binary

MAX_LINES = 2000
MAX_CHARS = 50_000
MAX_ARTIFACT_CHARS = 16_000
MAX_IMAGE_BYTES = 5_000_000


class ReadFileArgs(api.FrozenModel):
    """Arguments of read_file."""

    path: str
    offset: int = Field(default=1, ge=1, description="first line")
    limit: int = Field(default=MAX_LINES, ge=1)


class ReadFile(api.BaseTool):
    """Tool that reads lines of a text file or an artifact, or shows an image.

    The tool records the file's digest. edit_file and write_file use the digest to check that the model has read the
    file.
    """

    def __init__(self) -> None:
        self.spec = api.load_spec("read_file", __file__, ReadFileArgs, verb="read", parallel_safe=True)

    def target(self, args: ReadFileArgs) -> str:
        """Return the path, followed by the call's line range, if any."""
        if args.offset == 1 and args.limit == MAX_LINES:
            return args.path
        last = "" if args.limit == MAX_LINES else f"-{args.offset + args.limit - 1}"
        return f"{args.path}:{args.offset}{last}"

    def effects(self, args: ReadFileArgs) -> tuple[api.Effect, ...]:
        """Return the call's only effect: an `InternalEffect` for an artifact, a `ReadEffect` for a file."""
        if api.is_artifact(args.path):
            return (api.InternalEffect(subject="artifacts"),)
        return (api.ReadEffect(path=args.path),)

    async def run(self, args: ReadFileArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the requested lines, up to the maximum size of a result, or the image."""
        if api.is_artifact(args.path):
            rows = await api.read_artifact(args.path, ctx)
            return await asyncio.to_thread(_artifact_result, rows, args, ctx)
        content = await api.read_or_suggest(args.path, ctx.env)
        if api.image_type(content.data):
            return await _image_result(content, ctx)
        return await asyncio.to_thread(_text_result, content, args, ctx)


async def _image_result(content: api.FileContent, ctx: api.ToolContext) -> api.ToolResult:
    size = len(content.data)
    if size > MAX_IMAGE_BYTES:
        raise api.ToolError(
            f"The image {content.path} is too large: {api.format_bytes(size)}, the limit is {api.format_bytes(MAX_IMAGE_BYTES)}.",
            hint="Make a smaller copy first.",
        )
    media = api.image_type(content.data)
    sha = await asyncio.to_thread(ctx.blobs.put_bytes, content.data)
    name = PurePosixPath(content.path).name
    label = f"{content.path}: {media}, {api.format_bytes(size)}"
    return api.ToolResult(
        ok=True,
        content=(
            api.TextContent(text=label),
            api.ImageContent(media_type=media, blob_sha256=sha, size=size, name=name),
        ),
        summary=f"{media.removeprefix('image/')}, {api.format_bytes(size)}",
        display=(api.ImageBlock(media_type=media, blob_sha256=sha, size=size, name=name),),
        events=(_read_event(content, ctx, 1, 1, complete=True),),
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """Numbered lines of a file, as text for the model.

    - `first`, `last`: numbers of the first and the last line
    - `total`: number of lines in the file
    - `clipped`: number of long lines that were cut
    """

    body: str
    first: int
    last: int
    total: int
    clipped: int

    def build_result(self, ctx: api.ToolContext, data: api.JsonMap, *events: api.FileRead) -> api.ToolResult:
        return api.text_result(
            self.body,
            summary=api.format_count(self.last - self.first + 1, "line"),
            display=(api.TextBlock(text=ctx.blobs.put_text(self.body)),),
            data={**data, "first": self.first, "last": self.last, "lines": self.total},
            events=events,
        )


def _text_result(content: api.FileContent, args: ReadFileArgs, ctx: api.ToolContext) -> api.ToolResult:
    decoded = api.decode_text(content.data)
    if decoded is None:
        raise api.ToolError(
            f"{content.path} is not text: {describe_binary(content.data)}, {api.format_bytes(len(content.data))}.",
            hint="Use a command that understands this format.",
        )
    lines = decoded.display_text.split("\n")
    if lines[-1] == "":
        lines.pop()
    page = _build_page(content.path, lines, args, MAX_CHARS, api.notes_on_text(decoded))
    complete = page.first == 1 and page.last == page.total and not page.clipped
    # In an empty file, `page.last` is 0.
    event = _read_event(content, ctx, page.first, max(page.last, page.first), complete=complete)
    return page.build_result(ctx, {"path": content.path}, event)


def _artifact_result(rows: list[str], args: ReadFileArgs, ctx: api.ToolContext) -> api.ToolResult:
    artifact_id = args.path.strip()
    return _build_page(artifact_id, rows, args, MAX_ARTIFACT_CHARS).build_result(
        ctx, {"artifact_id": artifact_id}
    )


def _build_page(
    path: str, lines: list[str], args: ReadFileArgs, room: int, notes: Sequence[str] = ()
) -> _Page:
    """Build a page of the requested lines with their numbers, followed by notes about missing text.

    `room`: maximum number of characters for the lines.

    Raise `ToolError` if the first line is past the end of the file.
    """
    total = len(lines)
    if args.offset > max(total, 1):
        raise api.ToolError(
            f"{path} has only {api.format_count(total, 'line')}; offset {args.offset} is past its end."
        )
    requested = lines[args.offset - 1 :][: min(args.limit, MAX_LINES)]
    shown, clipped = api.number_lines(requested, args.offset, room)
    last = args.offset + len(shown) - 1
    notes = [*notes, *api.notes_on_cut_lines(clipped)]
    if last < total:
        notes.append(f"[lines {args.offset}-{last} of {total}; read on with offset={last + 1}]")
    elif total == 0:
        notes.append("[the file is empty]")
    return _Page("\n".join([*shown, *notes]), args.offset, last, total, clipped)


def _read_event(
    content: api.FileContent, ctx: api.ToolContext, first: int, last: int, *, complete: bool
) -> api.FileRead:
    return api.FileRead(
        path=content.path,
        digest=content.digest,
        size=len(content.data),
        first_line=first,
        last_line=last,
        complete=complete,
        call_id=ctx.call_id,
    )
