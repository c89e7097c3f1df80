"""read_artifact: a part of a long output that the session keeps whole."""

import asyncio
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Artifact,
    BlobMissing,
    Effect,
    Environment,
    Frozen,
    Internal,
    Preview,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    counted,
)

MOST_LINES = 1_000
MOST_CHARS = 16_000
ROW_CHARS = 2_000
"""A longer line is told in rows of so many characters, which count as lines."""
NAMED = 5


class ReadArtifactArgs(Frozen):
    """Arguments of read_artifact."""

    artifact_id: str
    offset: int = Field(default=1, ge=1, description="first line, counted from 1")
    lines: int = Field(default=200, ge=1, le=MOST_LINES)
    pattern: str = ""


class ReadArtifact:
    """Reads what is recorded, and nothing else: secrets are redacted in it as they are in the log."""

    spec: ClassVar[ToolSpec]

    def target(self, args: ReadArtifactArgs) -> str:
        """The artifact, with what is looked for in it."""
        if args.pattern:
            return f"{args.artifact_id} {args.pattern}"
        return f"{args.artifact_id}:{args.offset}-{args.offset + args.lines - 1}"

    def effects(self, args: ReadArtifactArgs) -> tuple[Effect, ...]:
        """Only what the session itself holds."""
        return (Internal(what="artifacts"),)

    async def preview(self, args: ReadArtifactArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: ReadArtifactArgs, ctx: ToolContext) -> ToolResult:
        """The lines asked for, as many as there is room for."""
        artifact = _named(args.artifact_id, ctx)
        try:
            text = await asyncio.to_thread(ctx.blobs.text, artifact.whole)
        except BlobMissing as fault:
            raise ToolError(
                f"The artifact {artifact.id} is missing, or no longer has its SHA-256 {artifact.sha256}.",
                hint="Get the output anew.",
            ) from fault
        return await asyncio.to_thread(_told, text, args, artifact, ctx)


def _named(wanted: str, ctx: ToolContext) -> Artifact:
    known = ctx.state.artifacts
    found = known.get(wanted.strip())
    if found is None:
        newest = ", ".join(f"{one.id} ({one.tool})" for one in list(known.values())[-NAMED:])
        hint = f"The newest are: {newest}." if newest else "It has none yet."
        raise ToolError(f"The session has no artifact {wanted!r}.", hint=hint)
    return found


def _told(text: str, args: ReadArtifactArgs, artifact: Artifact, ctx: ToolContext) -> ToolResult:
    rows = list(_rows(text))
    if args.pattern:
        wanted = args.pattern.casefold()
        found = [number for number, row in enumerate(rows, 1) if wanted in row.casefold()]
        numbers = [number for number in found if number >= args.offset][: args.lines]
    else:
        found = []
        numbers = list(range(args.offset, min(args.offset + args.lines, len(rows) + 1)))
    if not numbers:
        return _nothing(args, artifact, len(rows), len(found))
    shown, last = _shown(rows, numbers)
    if args.pattern:
        notes = f"[{len(found):,} of {counted(len(rows), 'line')} of {artifact.id} {'holds' if len(found) == 1 else 'hold'} {args.pattern!r}"
    else:
        notes = f"[lines {numbers[0]}-{last} of {len(rows)} of {artifact.id}"
    more = last < (found[-1] if args.pattern else len(rows))
    body = "\n".join([*shown, f"{notes}; read on with offset={last + 1}]" if more else f"{notes}]"])
    return ToolResult(
        ok=True,
        content=(TextContent(text=body),),
        summary=counted(len(shown), "line"),
        display=(TextBlock(text=ctx.blobs.keep(body)),),
        data={"artifact_id": artifact.id, "first": numbers[0], "last": last, "lines": len(rows)},
    )


def _nothing(args: ReadArtifactArgs, artifact: Artifact, lines: int, found: int) -> ToolResult:
    if args.pattern and not found:
        words = f"No line of {artifact.id} holds {args.pattern!r}; it has {counted(lines, 'line')}."
    else:
        words = f"{artifact.id} has {counted(lines, 'line')}; there is nothing from line {args.offset} on."
    return ToolResult(
        ok=False,
        content=(TextContent(text=words),),
        summary="nothing",
        data={"artifact_id": artifact.id, "lines": lines},
    )


def _shown(rows: list[str], numbers: list[int]) -> tuple[list[str], int]:
    """Lines with their numbers, as many as there is room for (one at least), and the number of the last."""
    width, room, shown, last = len(str(numbers[-1])), MOST_CHARS, list[str](), numbers[0]
    for number in numbers:
        line = f"{number:>{width}}\t{rows[number - 1]}"
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
        last = number
    return shown, last


def _rows(text: str) -> Iterator[str]:
    for line in text.removesuffix("\n").split("\n"):
        for at in range(0, max(len(line), 1), ROW_CHARS):
            yield line[at : at + ROW_CHARS].removesuffix("\r")


def make(description: str) -> ReadArtifact:
    """The tool with its description for the model."""
    ReadArtifact.spec = ToolSpec(
        name="read_artifact",
        description=description,
        args=ReadArtifactArgs,
        verb="read",
        parallel_safe=True,
    )
    return ReadArtifact()
