"""repo_map: ranks the repository's files for a question."""

from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

MAX_TOKENS = 8000
UNSENT: api.JsonMap = {"unsent": True}
"""Marks an argument that models are not told about. A call can still contain the argument."""


def _effects(**arguments: object) -> tuple[api.Effect, ...]:
    return (api.ReadEffect(path=".", recursive=True),)


def _target(query: str | None, **arguments: object) -> str:
    return query or "the whole repository"


@api.tool(effects=_effects, target=_target, verb="map", timeout=150.0, parallel_safe=True, needs=["repomap"])
async def repo_map(
    ctx: api.ToolContext,
    query: str | None = None,
    max_tokens: Annotated[int, Field(ge=100, json_schema_extra=UNSENT), api.at_most(MAX_TOKENS)] = 1200,
    refresh: Annotated[bool, Field(json_schema_extra=UNSENT)] = False,
) -> api.ToolResult:
    """Rank the repository's files for a question or task, with line numbers and signatures."""
    if ctx.repomap is None:
        raise api.ToolError("This workspace has no repository map.")
    request = api.MapRequest(
        query=query,
        max_tokens=max_tokens,
        refresh=refresh,
        recent=tuple(ctx.state.explored_paths)[-20:],
    )
    shown_map = await ctx.repomap.render(request)
    return api.text_result(
        shown_map.text,
        summary=f"{api.format_number(len(shown_map.files))} of {api.format_count(shown_map.total, 'file')}"
        + (", partial" if shown_map.partial else ""),
        display=(api.TextBlock(text=shown_map.text),),
        data={"files": len(shown_map.files), "total": shown_map.total, "partial": shown_map.partial},
        events=(
            *_built_events(shown_map, refresh=refresh),
            api.RepomapUsed(
                query=query or "", tokens=shown_map.tokens, files=shown_map.files, injected=False
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
