"""list_directory: the entries of one folder."""

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    EnvironmentFault,
    FileInfo,
    FrozenModel,
    ReadEffect,
    TextBlock,
    ToolContext,
    ToolError,
    ToolResult,
    escape_unprintable,
    format_bytes,
    format_count,
    load_spec,
    text_result,
)

MAX_ENTRIES = 500
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)


class ListDirectoryArgs(FrozenModel):
    """Arguments of list_directory."""

    path: str = Field(default=".", description="folder")


class ListDirectory(BaseTool):
    """Lists folders first, with a trailing slash, then files with their size."""

    def __init__(self) -> None:
        self.spec = load_spec("list_directory", __file__, ListDirectoryArgs, verb="list", parallel_safe=True)

    def target(self, args: ListDirectoryArgs) -> str:
        """Return the folder."""
        return args.path or "."

    def effects(self, args: ListDirectoryArgs) -> tuple[Effect, ...]:
        """Return the read of the folder."""
        return (ReadEffect(path=args.path or "."),)

    async def run(self, args: ListDirectoryArgs, ctx: ToolContext) -> ToolResult:
        """Return the entries, without version control folders and caches."""
        try:
            items = await ctx.env.listdir(args.path or ".")
        except EnvironmentFault as fault:
            info = await ctx.env.stat(args.path)
            if info is None:
                raise ToolError(f"Folder not found: {args.path}.", hint="Find it with glob.") from fault
            if info.kind == "file":
                raise ToolError(f"{args.path} is a file.", hint="Use read_file.") from fault
            raise
        entries = [item for item in items if _base_name(item) not in SKIPPED_FOLDERS]
        entries.sort(key=lambda item: item.kind != "directory")
        lines = [_format_entry(item) for item in entries[:MAX_ENTRIES]]
        if len(entries) > MAX_ENTRIES:
            lines.append(f"[{len(entries) - MAX_ENTRIES:,} more entries; use glob to narrow it down]")
        text = "\n".join(lines) or "[the folder is empty]"
        return text_result(
            text,
            summary=format_count(len(entries), "entry", "entries"),
            display=(TextBlock(text=ctx.blobs.put_text(text)),),
            data={"path": args.path, "entries": len(entries)},
        )


def _base_name(item: FileInfo) -> str:
    return item.path.rsplit("/", 1)[-1]


def _format_entry(item: FileInfo) -> str:
    name = escape_unprintable(_base_name(item))
    match item.kind:
        case "directory":
            return f"{name}/"
        case "link":
            return f"{name} -> (link)"
        case "other":
            return f"{name} (not a regular file)"
        case "file":
            return f"{name}  {format_bytes(item.size)}"
