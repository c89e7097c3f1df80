"""The lower half of the context sheet: the tools, files and messages that fill the context, and how requests differ."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.style import Style
from textual.strip import Strip

from tui_agent.folds.context.meter import SECTION_LABELS
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.widgets.rows import Part, part
from tui_agent.units import format_cost, format_percent, format_tokens

if TYPE_CHECKING:
    from tui_agent.folds.context.ledger import LedgerRequest, LedgerSum, LedgerView
    from tui_agent.protocol.events.context import SectionName

MAX_ROWS = 8
"""Maximum number of rows in each table."""
_REQUESTS = 6
_COLUMNS = 28
"""Width in cells of a row's numbers: a count, tokens, a price."""


def ledger_rows(viewer: Viewer, view: "LedgerView", width: int, price: float | None) -> list[Strip]:
    """Return the tables, each sorted by size; `price` is USD per million input tokens, None if unknown."""
    if not view.messages:
        return []
    tools = _sums(viewer, "by tool and speaker", view.tools, width, price)
    files = _sums(viewer, "by file", view.files, width, price)
    return [*tools, *files, *_messages(viewer, view, width, price), *_requests(viewer, view, width)]


def _sums(
    viewer: Viewer, title: str, sums: "Sequence[LedgerSum]", width: int, price: float | None
) -> list[Strip]:
    if not sums:
        return []
    lines = [(entry.name, entry.count, entry.tokens) for entry in sums[:MAX_ROWS]]
    rest = sums[MAX_ROWS:]
    if rest:
        count, tokens = sum(entry.count for entry in rest), sum(entry.tokens for entry in rest)
        lines.append((f"{len(rest)} more", count, tokens))
    return _table(viewer, width, (title, "times"), lines, price)


def _messages(viewer: Viewer, view: "LedgerView", width: int, price: float | None) -> list[Strip]:
    lines = [
        (f"{message.sender}  {message.subject}".rstrip(), message.seq, message.tokens)
        for message in view.messages[:MAX_ROWS]
    ]
    return _table(viewer, width, ("largest messages", "event"), lines, price)


def _table(
    viewer: Viewer,
    width: int,
    heads: tuple[str, str],
    lines: Sequence[tuple[str, int, int]],
    price: float | None,
) -> list[Strip]:
    """Return a table of names, each with a count or an event number, its tokens and their price."""
    room = max(12, width - _COLUMNS)
    head, plain, quiet = viewer.style("t3"), viewer.style(), viewer.style("t2")

    def row(name: str, number: str, tokens: str, cost: str, styles: tuple[Style, Style]) -> Strip:
        name_style, figure_style = styles
        return viewer.line(
            width,
            [
                part(_fit_name(viewer, name, room), name_style),
                (number.rjust(8), figure_style),
                (tokens.rjust(9), name_style),
                (cost.rjust(11), figure_style),
            ],
        )

    rows = [viewer.gap(width), row(*heads, "tokens", "price", (head, head))]
    for name, number, tokens in lines:
        cost = None if price is None else tokens * price / 1_000_000
        figures = str(number), format_tokens(tokens), format_cost(cost, digits=4)
        rows.append(row(name, *figures, (plain, quiet)))
    return rows


def _requests(viewer: Viewer, view: "LedgerView", width: int) -> list[Strip]:
    """Return the newest requests, each with its difference from the previous one and its cached share."""
    newest = view.requests[-_REQUESTS:]
    room = max(12, width - _COLUMNS + 8)
    head = [(f"{'newest requests'.ljust(room)}{'tokens'.rjust(9)}{'cached'.rjust(11)}", viewer.style("t3"))]
    rows = [viewer.gap(width), viewer.line(width, head)]
    first = len(view.requests) - len(newest)
    for index, request in enumerate(newest, start=first):
        change = _change(viewer, view.difference(index - 1, index)) if index else "the first"
        cached = "" if request.cached_tokens is None or not request.input_tokens else _share(request)
        left: list[Part] = [
            part(
                _fit_name(viewer, request.cache_miss_reason or change, room),
                viewer.style("warning" if request.cache_miss_reason else "t1"),
            ),
            (format_tokens(request.input_tokens or request.tokens).rjust(9), viewer.style()),
            (cached.rjust(11), viewer.style("t2")),
        ]
        rows.append(viewer.line(width, left))
    return rows


def _share(request: "LedgerRequest") -> str:
    return format_percent((request.cached_tokens or 0) / (request.input_tokens or 1))


def _change(viewer: Viewer, changes: "Mapping[SectionName, int]") -> str:
    minus = viewer.looks.symbols.minus
    largest = sorted(changes.items(), key=lambda change: -abs(change[1]))[:3]
    texts = [
        f"{SECTION_LABELS[name]} {'+' if size > 0 else minus}{format_tokens(abs(size))}"
        for name, size in largest
    ]
    return ", ".join(texts) or "the same"


def _fit_name(viewer: Viewer, text: str, room: int) -> str:
    return fit(clean_line(text), room - 1, viewer.looks.symbols.ellipsis).ljust(room)
