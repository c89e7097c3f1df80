"""list_directory: the entries of one folder."""

import tui_agent.plugin_api as api

MAX_ENTRIES = 500
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)


class ListDirectoryArgs(api.FrozenModel):
    """Arguments of list_directory."""

    path: str = "."


class ListDirectory(api.BaseTool):
    """Tool that lists a folder: subfolders first, with a trailing slash, then files with their size."""

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "list_directory", __file__, ListDirectoryArgs, verb="list", parallel_safe=True
        )

    def target(self, args: ListDirectoryArgs) -> str:
        return args.path or "."

    def effects(self, args: ListDirectoryArgs) -> tuple[api.Effect, ...]:
        return (api.ReadEffect(path=args.path or "."),)

    async def run(self, args: ListDirectoryArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the entries of the folder, without version control folders and caches."""
        try:
            items = await ctx.env.listdir(args.path or ".")
        except api.EnvironmentFault as fault:
            info = await ctx.env.stat(args.path)
            if info is None:
                raise api.ToolError(f"Folder not found: {args.path}.", hint="Find it with glob.") from fault
            if info.kind == "file":
                raise api.ToolError(f"{args.path} is a file.", hint="Use read_file.") from fault
            raise
        entries = [item for item in items if _base_name(item) not in SKIPPED_FOLDERS]
        entries.sort(key=lambda item: item.kind != "directory")
        lines = [_format_entry(item) for item in entries[:MAX_ENTRIES]]
        if len(entries) > MAX_ENTRIES:
            lines.append(f"[{len(entries) - MAX_ENTRIES:,} more entries; use glob to narrow it down]")
        text = "\n".join(lines) or "[the folder is empty]"
        return api.text_result(
            text,
            summary=api.format_count(len(entries), "entry", "entries"),
            display=(api.TextBlock(text=ctx.blobs.put_text(text)),),
            data={"path": args.path, "entries": len(entries)},
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
