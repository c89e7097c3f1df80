"""repo_map: the files of the repository that matter for a question."""

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    FrozenModel,
    MapRequest,
    ReadEffect,
    RenderedMap,
    RepomapBuilt,
    RepomapUsed,
    TextBlock,
    ToolContext,
    ToolError,
    ToolResult,
    format_count,
    load_spec,
    text_result,
)

MAX_TOKENS = 8000


class RepoMapArgs(FrozenModel):
    """Arguments of repo_map."""

    query: str | None = Field(
        default=None, description="question, task or names; omitted: the whole repository"
    )
    max_tokens: int = Field(default=1200, ge=100, le=MAX_TOKENS, description="length of the map")
    refresh: bool = Field(default=False, description="wait until every file is in the index")


class RepoMapTool(BaseTool):
    """Ranks the files of the workspace."""

    def __init__(self) -> None:
        self.spec = load_spec(
            "repo_map",
            __file__,
            RepoMapArgs,
            verb="map",
            timeout=150.0,
            parallel_safe=True,
            needs={"repomap"},
        )

    def target(self, args: RepoMapArgs) -> str:
        """Return the question."""
        return args.query or "the whole repository"

    def effects(self, args: RepoMapArgs) -> tuple[Effect, ...]:
        """Return a read of the whole workspace."""
        return (ReadEffect(path=".", recursive=True),)

    async def run(self, args: RepoMapArgs, ctx: ToolContext) -> ToolResult:
        """Return the map as text."""
        if ctx.repomap is None:
            raise ToolError("This workspace has no map.")
        request = MapRequest(
            query=args.query,
            max_tokens=args.max_tokens,
            refresh=args.refresh,
            recent=tuple(ctx.state.explored_paths)[-20:],
        )
        shown_map = await ctx.repomap.render(request)
        return text_result(
            shown_map.text,
            summary=f"{len(shown_map.files):,} of {format_count(shown_map.total, 'file')}"
            + (", partial" if shown_map.partial else ""),
            display=(TextBlock(text=shown_map.text),),
            data={"files": len(shown_map.files), "total": shown_map.total, "partial": shown_map.partial},
            events=(
                *_built_events(shown_map, refresh=args.refresh),
                _used_event(shown_map, args.query or ""),
            ),
        )


def _built_events(shown_map: RenderedMap, *, refresh: bool) -> tuple[RepomapBuilt, ...]:
    """Return the event of a complete index if the call waited for it."""
    if not refresh:
        return ()
    files, skipped, duration_ms = shown_map.total, shown_map.skipped, shown_map.duration_ms
    return (RepomapBuilt(files=files, skipped=skipped, partial=shown_map.partial, duration_ms=duration_ms),)


def _used_event(shown_map: RenderedMap, query: str) -> RepomapUsed:
    return RepomapUsed(query=query, tokens=shown_map.tokens, files=shown_map.files, injected=False)
