"""glob: files by the pattern of their path."""

import time
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    Preview,
    Reads,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    counted,
    path_pattern,
)

from .text import printable

MAX_RESULTS = 300
MAX_SECONDS = 20.0


class GlobArgs(Frozen):
    """Arguments of glob."""

    pattern: str = Field(description="e.g. src/**/*.py; without a slash it matches names in any folder")
    path: str = Field(default="", description="folder to search")


class Glob:
    """Files below a folder whose path fits a pattern; ignored ones are left out."""

    spec: ClassVar[ToolSpec]

    def target(self, args: GlobArgs) -> str:
        """The pattern, with the folder where there is one."""
        return f"{args.pattern} in {args.path}" if args.path not in ("", ".") else args.pattern

    def effects(self, args: GlobArgs) -> tuple[Effect, ...]:
        """Reads names below the folder."""
        return (Reads(path=args.path or ".", deep=True),)

    async def preview(self, args: GlobArgs, env: Environment) -> Preview:
        """Nothing beyond the pattern."""
        return Preview(())

    async def run(self, args: GlobArgs, ctx: ToolContext) -> ToolResult:
        """The paths, in order, from the workspace's root."""
        there = await ctx.env.stat(args.path)
        if there is None or there.kind == "file":
            raise ToolError(f"There is no folder {args.path}.")
        base = "" if there.path == "." else there.path + "/"
        try:
            matches = path_pattern(args.pattern)
        except ValueError as error:
            raise ToolError(str(error)) from error
        until = time.monotonic() + MAX_SECONDS
        found: list[str] = []
        late = False
        async for item in ctx.env.walk(args.path):
            if matches(item.path[len(base) :]) or matches(item.path):
                found.append(printable(item.path))
            if time.monotonic() > until:
                late = True
                break
        lines = found[:MAX_RESULTS]
        if len(found) > MAX_RESULTS:
            lines.append(f"[{len(found) - MAX_RESULTS:,} more; use a narrower pattern]")
        if late:
            lines.append(f"[stopped after {MAX_SECONDS:g} s: not all folders were looked at]")
        text = "\n".join(lines) or f"No file fits {args.pattern}."
        return ToolResult(
            ok=True,
            content=(TextContent(text=text),),
            summary=counted(len(found), "file"),
            display=(TextBlock(text=ctx.blobs.keep(text)),),
            data={"files": len(found)},
        )


def make(description: str) -> Glob:
    """The tool with its description for the model."""
    Glob.spec = ToolSpec(name="glob", description=description, args=GlobArgs, verb="find", parallel_safe=True)
    return Glob()
