"""repo_map: ranks the repository's files for a question."""

from pydantic import Field

import tui_agent.plugin_api as api

MAX_TOKENS = 8000
UNSENT: api.JsonMap = {"unsent": True}
"""Marks arguments that models are not offered, because they cost bytes in every request. A call may pass them."""


class RepoMapArgs(api.FrozenModel):
    """Arguments of repo_map. Models are offered only `query`."""

    query: str | None = None
    max_tokens: int = Field(default=1200, ge=100, le=MAX_TOKENS, json_schema_extra=UNSENT)
    refresh: bool = Field(default=False, json_schema_extra=UNSENT)


class RepoMapTool(api.BaseTool):
    """Tool that returns the repository map as text: the files that matter for a question, with their symbols."""

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "repo_map",
            __file__,
            RepoMapArgs,
            verb="map",
            timeout=150.0,
            parallel_safe=True,
            needs={"repomap"},
        )

    def target(self, args: RepoMapArgs) -> str:
        return args.query or "the whole repository"

    def effects(self, args: RepoMapArgs) -> tuple[api.Effect, ...]:
        """Return the effect of reading the whole workspace."""
        return (api.ReadEffect(path=".", recursive=True),)

    async def run(self, args: RepoMapArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the repository map, and the events that record its use."""
        if ctx.repomap is None:
            raise api.ToolError("This workspace has no map.")
        request = api.MapRequest(
            query=args.query,
            max_tokens=args.max_tokens,
            refresh=args.refresh,
            recent=tuple(ctx.state.explored_paths)[-20:],
        )
        shown_map = await ctx.repomap.render(request)
        return api.text_result(
            shown_map.text,
            summary=f"{len(shown_map.files):,} of {api.format_count(shown_map.total, 'file')}"
            + (", partial" if shown_map.partial else ""),
            display=(api.TextBlock(text=shown_map.text),),
            data={"files": len(shown_map.files), "total": shown_map.total, "partial": shown_map.partial},
            events=(
                *_built_events(shown_map, refresh=args.refresh),
                api.RepomapUsed(
                    query=args.query or "", tokens=shown_map.tokens, files=shown_map.files, injected=False
                ),
            ),
        )


def _built_events(shown_map: api.RenderedMap, *, refresh: bool) -> tuple[api.RepomapBuilt, ...]:
    if not refresh:
        return ()
    files, skipped, duration_ms = shown_map.total, shown_map.skipped, shown_map.duration_ms
    return (
        api.RepomapBuilt(files=files, skipped=skipped, partial=shown_map.partial, duration_ms=duration_ms),
    )
