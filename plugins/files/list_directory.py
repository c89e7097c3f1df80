"""list_directory: the entries of one folder."""

import tui_agent.plugin_api as api

MAX_ENTRIES = 500
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)


def _read_effects(path: str) -> tuple[api.Effect, ...]:
    return (api.ReadEffect(path=path or "."),)


@api.tool(effects=_read_effects, target=lambda path: path or ".", verb="list", parallel_safe=True)
async def list_directory(ctx: api.ToolContext, path: str = ".") -> api.ToolResult:
    """List a folder, with the size of files."""
    try:
        items = await ctx.env.listdir(path or ".")
    except api.EnvironmentFault as fault:
        info = await ctx.env.stat(path)
        if info is None:
            hint = await api.suggest_paths(path, ctx.env, "folder") or "Find it with glob."
            raise api.ToolError(f"Folder not found: {path}.", hint=hint) from fault
        if info.kind == "file":
            raise api.ToolError(f"{path} is a file.", hint="Use read_file.") from fault
        raise
    entries = [item for item in items if _base_name(item) not in SKIPPED_FOLDERS]
    entries.sort(key=lambda item: item.kind != "directory")
    lines = [_format_entry(item) for item in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        lines.append(
            f"[{api.format_number(len(entries) - MAX_ENTRIES)} more entries; use glob to narrow it down]"
        )
    text = "\n".join(lines) or "[the folder is empty]"
    return api.text_result(
        text,
        summary=api.format_count(len(entries), "entry", "entries"),
        display=(api.TextBlock(text=ctx.blobs.put_text(text)),),
        data={"path": path, "entries": len(entries)},
    )


def _base_name(item: api.FileInfo) -> str:
    return item.path.rsplit("/", 1)[-1]


def _format_entry(item: api.FileInfo) -> str:
    name = api.escape_unprintable(_base_name(item))
    match item.kind:
        case "directory":
            return f"{name}/"
        case "link":
            return f"{name} -> (link)"
        case "other":
            return f"{name} (not a regular file)"
        case "file":
            return f"{name}  {api.format_bytes(item.size)}"
