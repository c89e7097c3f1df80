"""search_notes: searches the notes on this project."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

from .note_ranking import MAX_BYTES, MAX_NOTES, SearchResult, search

MAX_LISTED_NOTES = 3


class SearchNotesArgs(api.FrozenModel):
    """Arguments of search_notes."""

    query: str = Field(min_length=1, max_length=1000)
    max_results: Annotated[int, api.at_most(20)] = Field(default=5, ge=1)


class SearchNotes(api.SessionTool):
    """Tool that searches the notes and returns the best matching paragraphs."""

    subject = "notes"

    def __init__(self, folder: Path) -> None:
        self.spec = api.load_spec(
            "search_notes", __file__, SearchNotesArgs, verb="notes", parallel_safe=True, needs={"notes"}
        )
        self._folder = folder

    def target(self, args: SearchNotesArgs) -> str:
        return args.query

    async def run(self, args: SearchNotesArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the matching pieces of notes, each with `file:line`, best first."""
        result = await asyncio.to_thread(search, self._folder, args.query, args.max_results)
        pieces = [
            f"{snippet.file}:{snippet.line}{f' — {snippet.title}' if snippet.title else ''}\n{snippet.text}"
            for snippet in result.snippets
        ]
        text = "\n\n".join([*(pieces or [_explain_empty(result)]), *_search_limits(result)])
        count = len(pieces)
        files = list(dict.fromkeys(snippet.file for snippet in result.snippets))
        return api.text_result(
            text,
            summary=api.format_count(count, "snippet") if count else "none",
            display=(api.TextBlock(text=ctx.blobs.put_text(text)),) if count else (),
            data={"files": list(files), "scores": [snippet.score for snippet in result.snippets]},
        )


def _explain_empty(result: SearchResult) -> str:
    if not result.notes:
        return "There are no notes on this project yet."
    if not result.words:
        return (
            "The query has only words that are too common. Use words that only the right note would contain."
        )
    searched = result.notes - result.skipped
    return f"No note contains any of these words ({api.format_count(searched, 'note')} searched)."


def _search_limits(result: SearchResult) -> list[str]:
    lines = []
    if result.skipped:
        lines.append(
            f"[The oldest {api.format_number(result.skipped)} of {api.format_number(result.notes)} notes were not searched: one search reads at most "
            f"{api.format_number(MAX_NOTES)} notes and {api.format_bytes(MAX_BYTES)}.]"
        )
    if result.truncated:
        lines.append(
            f"[Searched only the first {api.format_bytes(api.NOTE_BYTES)} of {_join_names(result.truncated)}.]"
        )
    if result.unreadable:
        lines.append(f"[Unreadable: {_join_names(result.unreadable)}.]")
    return lines


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - MAX_LISTED_NOTES
    return ", ".join(names[:MAX_LISTED_NOTES]) + (f" and {api.format_number(more)} more" if more > 0 else "")
