"""The context screen's lower half: which tools, files and messages fill the context, and how requests differ."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.folds.context.meter import NAMES
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
"""USD: the least that the tables write."""
_COLUMNS = 28
"""Cells of the numbers: a count, tokens, a price."""


def ledger_rows(viewer: Viewer, view: "LedgerView", width: int, price: float | None) -> list[Strip]:
    """The tables, largest first; `price` is what a million tokens of input cost, None where nobody knows."""
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
    for one in sums[:MOST]:
        cost = _price(one.tokens, price)
        rows.append(_row(viewer, width, one.name, str(one.count), format_tokens(one.tokens), cost, room))
    rest = sums[MOST:]
    if rest:
        tokens = sum(one.tokens for one in rest)
        cost = _price(tokens, price)
        name = f"{len(rest)} more"
        times = str(sum(one.count for one in rest))
        rows.append(_row(viewer, width, name, times, format_tokens(tokens), cost, room))
    return rows


def _messages(viewer: Viewer, view: "LedgerView", width: int, price: float | None) -> list[Strip]:
    room = max(12, width - _COLUMNS)
    rows = [
        viewer.gap(width),
        _row(viewer, width, "largest messages", "event", "tokens", "price", room, head=True),
    ]
    for one in view.messages[:MOST]:
        name = f"{one.who}  {one.what}".rstrip()
        cost = _price(one.tokens, price)
        rows.append(_row(viewer, width, name, str(one.seq), format_tokens(one.tokens), cost, room))
    return rows


def _requests(viewer: Viewer, view: "LedgerView", width: int) -> list[Strip]:
    """The newest requests, each with what it holds more than the one before and what came from the provider's cache."""
    newest = view.requests[-_REQUESTS:]
    room = max(12, width - _COLUMNS + 8)
    head = [(f"{'newest requests'.ljust(room)}{'tokens'.rjust(9)}{'cached'.rjust(11)}", viewer.style("t3"))]
    rows = [viewer.gap(width), viewer.line(width, head)]
    first = len(view.requests) - len(newest)
    for at, one in enumerate(newest, start=first):
        said = one.broken or (_change(viewer, view.difference(at - 1, at)) if at else "the first")
        cached = "" if one.cached_tokens is None or not one.input_tokens else _share(one)
        left: list[Part] = [
            part(_fitted(viewer, said, room), viewer.style("warning" if one.broken else "t1")),
            (format_tokens(one.input_tokens or one.tokens).rjust(9), viewer.style()),
            (cached.rjust(11), viewer.style("t2")),
        ]
        rows.append(viewer.line(width, left))
    return rows


def _share(request: "LedgerRequest") -> str:
    return format_percent((request.cached_tokens or 0) / (request.input_tokens or 1))


def _change(viewer: Viewer, changes: "Mapping[SectionName, int]") -> str:
    minus = viewer.looks.symbols.minus
    largest = sorted(changes.items(), key=lambda one: -abs(one[1]))[:3]
    said = [f"{NAMES[name]} {'+' if size > 0 else minus}{format_tokens(abs(size))}" for name, size in largest]
    return ", ".join(said) or "the same"


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
        part(_fitted(viewer, name, room), quiet if head else viewer.style()),
        (count.rjust(8), quiet),
        (tokens.rjust(9), quiet if head else viewer.style()),
        (cost.rjust(11), quiet),
    ]
    return viewer.line(width, left)


def _fitted(viewer: Viewer, text: str, room: int) -> str:
    return fit(clean_line(text), room - 1, viewer.looks.symbols.ellipsis).ljust(room)
