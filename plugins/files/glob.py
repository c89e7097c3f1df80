"""glob: finds files by a path pattern."""

import time

import tui_agent.plugin_api as api

MAX_RESULTS = 300
MAX_SECONDS = 20.0


class GlobArgs(api.FrozenModel):
    """Arguments of glob."""

    pattern: str
    path: str = ""


class Glob(api.BaseTool):
    """Tool that finds the files below a folder whose path matches a pattern, except files that git ignores."""

    def __init__(self) -> None:
        self.spec = api.load_spec("glob", __file__, GlobArgs, verb="find", parallel_safe=True)

    def target(self, args: GlobArgs) -> str:
        """Return the pattern, followed by the folder if one is given, e.g. "*.py in src"."""
        return f"{args.pattern} in {args.path}" if args.path not in ("", ".") else args.pattern

    def effects(self, args: GlobArgs) -> tuple[api.Effect, ...]:
        """Return the effect of reading everything below the folder."""
        return (api.ReadEffect(path=args.path or ".", recursive=True),)

    async def run(self, args: GlobArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the matching paths, relative to the workspace."""
        folder = await ctx.env.stat(args.path)
        if folder is None or folder.kind == "file":
            raise api.ToolError(f"Folder not found: {args.path}.")
        base = "" if folder.path == "." else folder.path + "/"
        try:
            matches = api.compile_path_pattern(args.pattern)
        except ValueError as error:
            raise api.ToolError(str(error)) from error
        deadline = time.monotonic() + MAX_SECONDS
        paths: list[str] = []
        timed_out = False
        async for item in ctx.env.walk(args.path):
            if matches(item.path[len(base) :]) or matches(item.path):
                paths.append(api.escape_unprintable(item.path))
            if time.monotonic() > deadline:
                timed_out = True
                break
        lines = paths[:MAX_RESULTS]
        if len(paths) > MAX_RESULTS:
            lines.append(f"[{len(paths) - MAX_RESULTS:,} more; use a narrower pattern]")
        if timed_out:
            lines.append(f"[stopped after {MAX_SECONDS:g} s: some folders were not searched]")
        text = "\n".join(lines) or f"No file matches {args.pattern}."
        return api.text_result(
            text,
            summary=api.format_count(len(paths), "file"),
            display=(api.TextBlock(text=ctx.blobs.put_text(text)),),
            data={"files": len(paths)},
        )
