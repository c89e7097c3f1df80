"""read_artifact: reads part of a tool output that was too long for the model and is stored in the session."""

import asyncio
from collections.abc import Iterator

from pydantic import Field

import tui_agent.plugin_api as api

MAX_LINES = 1_000
MAX_CHARS = 16_000
MAX_ROW_CHARS = 2_000
"""Maximum number of characters in a row of the result. A longer line is split into rows, each counted as a line."""
MAX_LISTED_ARTIFACTS = 5


class ReadArtifactArgs(api.FrozenModel):
    """Arguments of read_artifact."""

    artifact_id: str
    offset: int = Field(default=1, ge=1, description="first line")
    lines: int = Field(default=200, ge=1, le=MAX_LINES)
    pattern: str = ""


class ReadArtifact(api.SessionTool):
    """Tool that reads stored outputs of this session. Secrets in them are redacted, as in the log."""

    subject = "artifacts"

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "read_artifact", __file__, ReadArtifactArgs, verb="read", parallel_safe=True
        )

    def target(self, args: ReadArtifactArgs) -> str:
        """Return the artifact id with the pattern or the line range."""
        if args.pattern:
            return f"{args.artifact_id} {args.pattern}"
        return f"{args.artifact_id}:{args.offset}-{args.offset + args.lines - 1}"

    async def run(self, args: ReadArtifactArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the requested lines of the stored output, up to `MAX_CHARS` characters."""
        artifact = _find_artifact(args.artifact_id, ctx)
        try:
            text = await asyncio.to_thread(ctx.blobs.read_text, artifact.text)
        except api.BlobNotFound as fault:
            raise api.ToolError(
                f"The stored output {artifact.id} is missing or damaged.",
                hint="Run the call again to get the output.",
            ) from fault
        return await asyncio.to_thread(_build_result, text, args, artifact, ctx)


def _find_artifact(artifact_id: str, ctx: api.ToolContext) -> api.Artifact:
    known = ctx.state.artifacts
    artifact = known.get(artifact_id.strip())
    if artifact is None:
        newest = ", ".join(
            f"{known_artifact.id} ({known_artifact.tool})"
            for known_artifact in list(known.values())[-MAX_LISTED_ARTIFACTS:]
        )
        hint = f"The newest are: {newest}." if newest else "The session has no artifacts yet."
        raise api.ToolError(f"The session has no artifact {artifact_id!r}.", hint=hint)
    return artifact


def _build_result(
    text: str, args: ReadArtifactArgs, artifact: api.Artifact, ctx: api.ToolContext
) -> api.ToolResult:
    rows = list(_split_rows(text))
    if args.pattern:
        needle = args.pattern.casefold()
        matches = [number for number, row in enumerate(rows, 1) if needle in row.casefold()]
        numbers = [number for number in matches if number >= args.offset][: args.lines]
    else:
        matches = []
        numbers = list(range(args.offset, min(args.offset + args.lines, len(rows) + 1)))
    if not numbers:
        return _empty_result(args, artifact, len(rows), len(matches))
    rows_shown, last = _number_rows(rows, numbers)
    if args.pattern:
        notes = f"[{len(matches):,} of {api.format_count(len(rows), 'line')} of {artifact.id} {'contains' if len(matches) == 1 else 'contain'} {args.pattern!r}"
    else:
        notes = f"[lines {numbers[0]}-{last} of {len(rows)} of {artifact.id}"
    more = last < (matches[-1] if args.pattern else len(rows))
    body = "\n".join([*rows_shown, f"{notes}; read on with offset={last + 1}]" if more else f"{notes}]"])
    return api.text_result(
        body,
        summary=api.format_count(len(rows_shown), "line"),
        display=(api.TextBlock(text=ctx.blobs.put_text(body)),),
        data={"artifact_id": artifact.id, "first": numbers[0], "last": last, "lines": len(rows)},
    )


def _empty_result(
    args: ReadArtifactArgs, artifact: api.Artifact, lines: int, match_count: int
) -> api.ToolResult:
    if args.pattern and not match_count:
        message = (
            f"No line of {artifact.id} contains {args.pattern!r}; it has {api.format_count(lines, 'line')}."
        )
    else:
        message = f"{artifact.id} has {api.format_count(lines, 'line')}; line {args.offset} is past its end."
    return api.text_result(
        message, ok=False, summary="nothing", data={"artifact_id": artifact.id, "lines": lines}
    )


def _number_rows(rows: list[str], numbers: list[int]) -> tuple[list[str], int]:
    """Return as many numbered rows as `MAX_CHARS` allows, at least one, and the number of the last row."""
    width, room, numbered, last = len(str(numbers[-1])), MAX_CHARS, list[str](), numbers[0]
    for number in numbers:
        line = f"{number:>{width}}\t{rows[number - 1]}"
        room -= len(line) + 1
        if room < 0 and numbered:
            break
        numbered.append(line)
        last = number
    return numbered, last


def _split_rows(text: str) -> Iterator[str]:
    for line in text.removesuffix("\n").split("\n"):
        for start in range(0, max(len(line), 1), MAX_ROW_CHARS):
            yield line[start : start + MAX_ROW_CHARS].removesuffix("\r")
