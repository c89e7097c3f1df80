"""repo_map: where to look for something in the repository."""

from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    MapShown,
    MapWish,
    Preview,
    Reads,
    RepomapBuilt,
    RepomapUsed,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    counted,
)

MOST_TOKENS = 8000


class RepoMapArgs(Frozen):
    """Arguments of repo_map."""

    query: str | None = Field(default=None, description="question, task or names; none: the whole repository")
    max_tokens: int = Field(default=1200, ge=100, le=MOST_TOKENS, description="length of the map")
    refresh: bool = Field(default=False, description="wait until every file is in the index")


class RepoMapTool:
    """The files of the workspace, ranked."""

    spec: ClassVar[ToolSpec]

    def target(self, args: RepoMapArgs) -> str:
        """The question."""
        return args.query or "the whole repository"

    def effects(self, args: RepoMapArgs) -> tuple[Effect, ...]:
        """Reads every file that may be shown."""
        return (Reads(path=".", deep=True),)

    async def preview(self, args: RepoMapArgs, env: Environment) -> Preview:
        """Nothing beyond the question."""
        return Preview(())

    async def run(self, args: RepoMapArgs, ctx: ToolContext) -> ToolResult:
        """The map, as text."""
        if ctx.repomap is None:
            raise ToolError("There is no map of this workspace.")
        wish = MapWish(
            query=args.query,
            max_tokens=args.max_tokens,
            refresh=args.refresh,
            recent=tuple(ctx.state.explored)[-20:],
        )
        found = await ctx.repomap.shown(wish)
        return ToolResult(
            ok=True,
            content=(TextContent(text=found.text),),
            summary=f"{len(found.files):,} of {counted(found.total, 'file')}"
            + (", partial" if found.partial else ""),
            display=(TextBlock(text=found.text),),
            data={"files": len(found.files), "total": found.total, "partial": found.partial},
            events=(*_built(found, refresh=args.refresh), _used(found, args.query or "")),
        )


def _built(found: MapShown, *, refresh: bool) -> tuple[RepomapBuilt, ...]:
    """The index has every file now, where that was waited for."""
    if not refresh:
        return ()
    files, skipped, took = found.total, found.skipped, found.duration_ms
    return (RepomapBuilt(files=files, skipped=skipped, partial=found.partial, duration_ms=took),)


def _used(found: MapShown, query: str) -> RepomapUsed:
    return RepomapUsed(query=query, tokens=found.tokens, files=found.files, injected=False)


def make(description: str) -> RepoMapTool:
    """The tool with its description."""
    RepoMapTool.spec = ToolSpec(
        name="repo_map",
        description=description,
        args=RepoMapArgs,
        verb="map",
        timeout=150.0,
        parallel_safe=True,
        needs=frozenset(("repomap",)),
    )
    return RepoMapTool()
