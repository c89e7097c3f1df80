"""search_notes: what earlier sessions on this project left behind."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    NOTE_BYTES,
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
    counted,
)

from .searching import MAX_BYTES, MAX_NOTES, Found, search

MOST_NAMED = 3


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
        pieces = [
            f"{one.file}:{one.line}{f' — {one.title}' if one.title else ''}\n{one.text}"
            for one in found.snippets
        ]
        text = "\n\n".join([*(pieces or [_nothing(found)]), *_unsearched(found)])
        count = len(pieces)
        files = list(dict.fromkeys(one.file for one in found.snippets))
        return ToolResult(
            ok=True,
            content=(TextContent(text=text),),
            summary="none" if not count else "1 snippet" if count == 1 else f"{count} snippets",
            display=(TextBlock(text=ctx.blobs.keep(text)),) if count else (),
            data={"files": list(files), "scores": [one.score for one in found.snippets]},
        )


def _nothing(found: Found) -> str:
    if not found.notes:
        return "There are no notes on this project yet."
    if not found.words:
        return "The query has only words that are in every text. Search for what a note would name."
    searched = found.notes - found.left_out
    return f"No note holds any of these words ({counted(searched, 'note')} searched)."


def _unsearched(found: Found) -> list[str]:
    """What the search could not look at, in a line each."""
    said = []
    if found.left_out:
        said.append(
            f"[The oldest {found.left_out:,} of {found.notes:,} notes were not searched: one search reads at most "
            f"{MAX_NOTES:,} notes and {MAX_BYTES // 1_000_000} MB.]"
        )
    if found.cut:
        said.append(f"[Only the first {NOTE_BYTES // 1000} KB were searched of {_few(found.cut)}.]")
    if found.no_text:
        said.append(f"[No readable text: {_few(found.no_text)}.]")
    return said


def _few(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def make(description: str, folder: Path) -> SearchNotes:
    """The tool over a folder, with its description for the model."""
    SearchNotes.spec = ToolSpec(
        name="search_notes", description=description, args=SearchNotesArgs, verb="notes", parallel_safe=True
    )
    return SearchNotes(folder)
