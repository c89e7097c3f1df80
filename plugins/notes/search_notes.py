"""search_notes: what earlier sessions on this project left behind."""

import asyncio
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    Internal,
    Preview,
    TextBlock,
    TextContent,
    ToolContext,
    ToolResult,
    ToolSpec,
)

from .folder import search


class SearchNotesArgs(Frozen):
    """Arguments of search_notes."""

    query: str = Field(min_length=1, max_length=1000)
    max_results: int = Field(default=5, ge=1, le=20)


class SearchNotes:
    """Ranks paragraphs of notes by the query's words."""

    spec: ClassVar[ToolSpec]

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def target(self, args: SearchNotesArgs) -> str:
        """The query."""
        return args.query

    def effects(self, args: SearchNotesArgs) -> tuple[Effect, ...]:
        """Only the notes, which are the product's own."""
        return (Internal(what="notes"),)

    async def preview(self, args: SearchNotesArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: SearchNotesArgs, ctx: ToolContext) -> ToolResult:
        """Snippets with file:line, the best first."""
        found = await asyncio.to_thread(search, self._folder, args.query, args.max_results)
        if not found:
            return ToolResult(
                ok=True, content=(TextContent(text="No note holds any of these words."),), summary="none"
            )
        text = "\n\n".join(f"{one.file}:{one.line}\n{one.text}" for one in found)
        files = list(dict.fromkeys(one.file for one in found))
        return ToolResult(
            ok=True,
            content=(TextContent(text=text),),
            summary="1 snippet" if len(found) == 1 else f"{len(found)} snippets",
            display=(TextBlock(text=ctx.blobs.keep(text)),),
            data={"files": list(files), "scores": [one.score for one in found]},
        )


def make(description: str, folder: Path) -> SearchNotes:
    """The tool over a folder, with its description for the model."""
    SearchNotes.spec = ToolSpec(
        name="search_notes", description=description, args=SearchNotesArgs, verb="notes", parallel_safe=True
    )
    return SearchNotes(folder)
