"""The context screen's lower half: which tools, files and messages fill the context, and how requests differ."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.folds.context.meter import SECTION_LABELS
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.widgets.rows import Part, part
from tui_agent.units import format_cost, format_percent, format_tokens

if TYPE_CHECKING:
    from tui_agent.folds.context.ledger import LedgerRequest, LedgerSum, LedgerView
    from tui_agent.protocol.events.context import SectionName

MOST = 8
"""Rows of each table."""
_REQUESTS = 6
_LEAST = 0.0001
"""USD: the smallest price that the tables show."""
_COLUMNS = 28
"""Cells of the numbers of a row: a count, tokens, a price."""


def ledger_rows(viewer: Viewer, view: "LedgerView", width: int, price: float | None) -> list[Strip]:
    """Return the tables, largest rows first; `price` is USD per million input tokens, None if unknown."""
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
    room = max(12, width - _COLUMNS)
    rows = [viewer.gap(width), _row(viewer, width, title, "times", "tokens", "price", room, head=True)]
    for entry in sums[:MOST]:
        cost = _price(entry.tokens, price)
        rows.append(
            _row(viewer, width, entry.name, str(entry.count), format_tokens(entry.tokens), cost, room)
        )
    rest = sums[MOST:]
    if rest:
        tokens = sum(entry.tokens for entry in rest)
        cost = _price(tokens, price)
        name = f"{len(rest)} more"
        times = str(sum(entry.count for entry in rest))
        rows.append(_row(viewer, width, name, times, format_tokens(tokens), cost, room))
    return rows


def _messages(viewer: Viewer, view: "LedgerView", width: int, price: float | None) -> list[Strip]:
    room = max(12, width - _COLUMNS)
    rows = [
        viewer.gap(width),
        _row(viewer, width, "largest messages", "event", "tokens", "price", room, head=True),
    ]
    for message in view.messages[:MOST]:
        name = f"{message.sender}  {message.subject}".rstrip()
        cost = _price(message.tokens, price)
        rows.append(_row(viewer, width, name, str(message.seq), format_tokens(message.tokens), cost, room))
    return rows


def _requests(viewer: Viewer, view: "LedgerView", width: int) -> list[Strip]:
    """Return the newest requests, each with its change from the one before and its cached share."""
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


def _price(tokens: int, price: float | None) -> str:
    cost = None if price is None else tokens * price / 1_000_000
    return format_cost(cost, digits=4)


def _row(
    viewer: Viewer,
    width: int,
    name: str,
    count: str,
    tokens: str,
    cost: str,
    room: int,
    *,
    head: bool = False,
) -> Strip:
    quiet = viewer.style("t3" if head else "t2")
    left: list[Part] = [
        part(_fit_name(viewer, name, room), quiet if head else viewer.style()),
        (count.rjust(8), quiet),
        (tokens.rjust(9), quiet if head else viewer.style()),
        (cost.rjust(11), quiet),
    ]
    return viewer.line(width, left)


def _fit_name(viewer: Viewer, text: str, room: int) -> str:
    return fit(clean_line(text), room - 1, viewer.looks.symbols.ellipsis).ljust(room)
