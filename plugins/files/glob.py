"""glob: find files by a path pattern."""

import time

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    FrozenModel,
    ReadEffect,
    TextBlock,
    ToolContext,
    ToolError,
    ToolResult,
    compile_path_pattern,
    escape_unprintable,
    format_count,
    load_spec,
    text_result,
)

MAX_RESULTS = 300
MAX_SECONDS = 20.0


class GlobArgs(FrozenModel):
    """Arguments of glob."""

    pattern: str = Field(description="e.g. src/**/*.py; without a slash it matches names in any folder")
    path: str = Field(default="", description="folder to search")


class Glob(BaseTool):
    """Finds files below a folder whose path matches a pattern; ignored files are left out."""

    def __init__(self) -> None:
        self.spec = load_spec("glob", __file__, GlobArgs, verb="find", parallel_safe=True)

    def target(self, args: GlobArgs) -> str:
        """Return the pattern, and the folder if one is given."""
        return f"{args.pattern} in {args.path}" if args.path not in ("", ".") else args.pattern

    def effects(self, args: GlobArgs) -> tuple[Effect, ...]:
        """Return a read of the names below the folder."""
        return (ReadEffect(path=args.path or ".", recursive=True),)

    async def run(self, args: GlobArgs, ctx: ToolContext) -> ToolResult:
        """Return the matching paths in order, relative to the workspace root."""
        folder = await ctx.env.stat(args.path)
        if folder is None or folder.kind == "file":
            raise ToolError(f"Folder not found: {args.path}.")
        base = "" if folder.path == "." else folder.path + "/"
        try:
            matches = compile_path_pattern(args.pattern)
        except ValueError as error:
            raise ToolError(str(error)) from error
        deadline = time.monotonic() + MAX_SECONDS
        paths: list[str] = []
        timed_out = False
        async for item in ctx.env.walk(args.path):
            if matches(item.path[len(base) :]) or matches(item.path):
                paths.append(escape_unprintable(item.path))
            if time.monotonic() > deadline:
                timed_out = True
                break
        lines = paths[:MAX_RESULTS]
        if len(paths) > MAX_RESULTS:
            lines.append(f"[{len(paths) - MAX_RESULTS:,} more; use a narrower pattern]")
        if timed_out:
            lines.append(f"[stopped after {MAX_SECONDS:g} s: some folders were not searched]")
        text = "\n".join(lines) or f"No file matches {args.pattern}."
        return text_result(
            text,
            summary=format_count(len(paths), "file"),
            display=(TextBlock(text=ctx.blobs.put_text(text)),),
            data={"files": len(paths)},
        )
