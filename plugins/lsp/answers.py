"""Conversion of a language server's answers into tool results: locations with their lines, and diagnostics."""

from collections.abc import Sequence
from typing import Any

import tui_agent.plugin_api as api

from .connection import clean
from .edits import path_of

MAX_SHOWN = 100
MAX_LINE_CHARS = 200
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def describe_diagnostics(path: str, items: Sequence[Any] | None) -> api.ToolResult:
    """Return a file's diagnostics as a tool result, errors first.

    `items`: the diagnostics, or None if the server did not send them in time.
    """
    if items is None:
        return api.text_result(
            f"The language server sent no diagnostics for {path} in time.", summary="none yet"
        )
    rows = sorted(filter(None, map(_diagnostic_row, items)))
    lines = [f"{path}:{line}:{column}: {kind}: {message}" for _, line, column, kind, message in rows]
    errors = sum(row[0] == 1 for row in rows)
    summary = f"{api.format_count(errors, 'error')} of {len(rows)}" if rows else "none"
    return _list_result(lines, f"The language server found no problems in {path}.", summary)


def _diagnostic_row(item: Any) -> tuple[int, int, int, str, str] | None:
    try:
        start = item["range"]["start"]
        severity, line, column = int(item.get("severity", 1)), int(start["line"]), int(start["character"])
        code = f" [{clean(item['code'], 60)}]" if isinstance(item.get("code"), str | int) else ""
        return (
            severity,
            line + 1,
            column + 1,
            _SEVERITIES.get(severity, "hint"),
            clean(item["message"]) + code,
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


async def describe_places(
    symbol: str, answer: Any, ctx: api.ToolContext, *, is_loading: bool
) -> api.ToolResult:
    """Return the locations in a server's answer as a tool result.

    The text of each line is included if the call is allowed to read the file.
    """
    places = sorted({_place(item, ctx.env.root) for item in _as_list(answer)})
    texts: dict[str, list[str]] = {}
    for path in dict.fromkeys(path for path, _, _ in places[:MAX_SHOWN]):
        texts[path] = await _lines_of(path, ctx)
    lines = []
    for path, line, column in places:
        shown = texts.get(path, [])
        text = shown[line].strip() if 0 <= line < len(shown) else ""
        lines.append(f"{path}:{line + 1}:{column + 1}" + (f": {text[:MAX_LINE_CHARS]}" if text else ""))
    nothing = f"The language server found nothing for {symbol}."
    if is_loading:
        nothing = "The language server is still loading the project. Try again later."
    return _list_result(lines, nothing, api.format_count(len(places), "place"))


def _as_list(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [] if answer is None else [answer]


def _place(item: Any, root: str) -> tuple[str, int, int]:
    uri = item["uri"] if "uri" in item else item["targetUri"]
    start = (item["range"] if "range" in item else item["targetSelectionRange"])["start"]
    return api.escape_unprintable(path_of(uri, root)), int(start["line"]), int(start["character"])


async def _lines_of(path: str, ctx: api.ToolContext) -> list[str]:
    """Return the lines of a file in the workspace; empty if the call must not read the file."""
    if path.startswith("/") or not ctx.may_read(path):
        return []
    try:
        return (await ctx.env.read(path)).text.split("\n")
    except api.EnvironmentFault:
        return []


def _list_result(lines: Sequence[str], nothing: str, summary: str) -> api.ToolResult:
    shown = list(lines[:MAX_SHOWN])
    if len(lines) > MAX_SHOWN:
        shown.append(f"[{len(lines) - MAX_SHOWN} more not shown]")
    text = "\n".join(shown) or nothing
    return api.text_result(
        text, summary=summary, display=(api.TextBlock(text=text),), data={"count": len(lines)}
    )
