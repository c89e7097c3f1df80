"""glob: finds files by a path pattern."""

import time

import tui_agent.plugin_api as api

MAX_RESULTS = 300
MAX_SECONDS = 20.0


def _effects(pattern: str, path: str) -> tuple[api.Effect, ...]:
    return (api.ReadEffect(path=path or ".", recursive=True),)


def _target(pattern: str, path: str) -> str:
    """Return the pattern, followed by the call's folder (if any), such as "*.py in src"."""
    return f"{pattern} in {path}" if path not in ("", ".") else pattern


@api.tool(effects=_effects, target=_target, verb="find", parallel_safe=True)
async def glob(ctx: api.ToolContext, pattern: str, path: str = "") -> api.ToolResult:
    """Find files by a pattern such as src/**/*.{js,ts}; without a slash, by name in any folder."""
    folder = await ctx.env.stat(path)
    if folder is None or folder.kind == "file":
        hint = await api.suggest_paths(path, ctx.env, "folder")
        raise api.ToolError(f"Folder not found: {path}.", hint=hint)
    base = "" if folder.path == "." else folder.path + "/"
    relative = api.relative_path_pattern(pattern, ctx.env.resolve(path))
    hint = api.other_folder_hint(pattern, path, "pattern")
    if relative is None:
        raise api.ToolError(f"{pattern} is outside {path if base else 'the workspace'}.", hint=hint)
    try:
        matches = api.compile_path_pattern(relative)
    except ValueError as error:
        raise api.ToolError(str(error)) from error
    deadline = time.monotonic() + MAX_SECONDS
    paths: list[str] = []
    timed_out = False
    async for item in ctx.env.walk(path):
        if matches(item.path[len(base) :]) or matches(item.path):
            paths.append(api.escape_unprintable(item.path))
        if time.monotonic() > deadline:
            timed_out = True
            break
    lines = paths[:MAX_RESULTS]
    if len(paths) > MAX_RESULTS:
        lines.append(f"[{api.format_number(len(paths) - MAX_RESULTS)} more; use a narrower pattern]")
    if timed_out:
        lines.append(f"[stopped after {api.format_time_limit(MAX_SECONDS)}: some folders were not searched]")
    is_elsewhere = relative.startswith("/") and relative == pattern.strip()
    text = "\n".join(lines) or f"No file matches {pattern}.{f' {hint}' if is_elsewhere else ''}"
    return api.text_result(
        text,
        summary=api.format_count(len(paths), "file"),
        display=(api.TextBlock(text=ctx.blobs.put_text(text)),),
        data={"files": len(paths)},
    )
