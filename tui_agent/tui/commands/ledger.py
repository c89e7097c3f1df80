"""The lower half of the context sheet: the largest tools, files and messages, and the size of the newest requests."""

from collections.abc import Mapping, Sequence

from tui_agent.folds.context.ledger import LedgerRequest, LedgerSum, LedgerView
from tui_agent.folds.context.meter import SECTION_LABELS
from tui_agent.protocol.events.context import SectionName
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.units import format_cost, format_percent, format_tokens

MAX_ROWS = 8
"""Maximum number of rows in each table."""
_REQUESTS = 6


def draw_ledger(facts: Facts, view: LedgerView, price: float | None) -> None:
    """Add tables that show what fills the context, sorted by size.

    `price`: USD per million input tokens; None if unknown.
    """
    if view.messages:
        _draw_sums(facts, "by tool and speaker", view.tools, price)
        _draw_sums(facts, "by file", view.files, price)
        lines = [
            (f"{message.sender}  {message.subject}".rstrip(), message.seq, message.tokens)
            for message in view.messages[:MAX_ROWS]
        ]
        _draw_table(facts, ("largest messages", "event"), lines, price)
        _draw_requests(facts, view)


def _draw_sums(facts: Facts, title: str, sums: Sequence[LedgerSum], price: float | None) -> None:
    if not sums:
        return
    lines = [(entry.name, entry.count, entry.tokens) for entry in sums[:MAX_ROWS]]
    if rest := sums[MAX_ROWS:]:
        count, tokens = sum(entry.count for entry in rest), sum(entry.tokens for entry in rest)
        lines.append((f"{len(rest)} more", count, tokens))
    _draw_table(facts, (title, "times"), lines, price)


def _draw_table(
    facts: Facts, heads: tuple[str, str], lines: Sequence[tuple[str, int, int]], price: float | None
) -> None:
    """Add a table to the sheet."""
    facts.gap()
    facts.figures(heads[0], "t3", (heads[1], 8, "t3"), ("tokens", 9, "t3"), ("price", 11, "t3"))
    for name, number, tokens in lines:
        cost = format_cost(None if price is None else tokens * price / 1_000_000)
        facts.figures(name, "t1", (str(number), 8, "t2"), (format_tokens(tokens), 9, "t1"), (cost, 11, "t2"))


def _draw_requests(facts: Facts, view: LedgerView) -> None:
    """Add a table of the newest requests."""
    newest = view.requests[-_REQUESTS:]
    facts.gap()
    facts.figures("newest requests", "t3", ("tokens", 9, "t3"), ("cached", 11, "t3"))
    first = len(view.requests) - len(newest)
    for index, request in enumerate(newest, start=first):
        change = _describe_change(facts, view.difference(index - 1, index)) if index else "the first"
        tokens = format_tokens(request.input_tokens or request.tokens)
        role: Role = "warning" if request.cache_miss_reason else "t1"
        name = request.cache_miss_reason or change
        facts.figures(name, role, (tokens, 9, "t1"), (_cached_share(request), 11, "t2"))


def _cached_share(request: LedgerRequest) -> str:
    if request.cached_tokens is None or not request.input_tokens:
        return ""
    return format_percent(request.cached_tokens / request.input_tokens)


def _describe_change(facts: Facts, changes: Mapping[SectionName, int]) -> str:
    minus = facts.looks.symbols.minus
    largest = sorted(changes.items(), key=lambda change: -abs(change[1]))[:3]
    texts = [
        f"{SECTION_LABELS[name]} {'+' if size > 0 else minus}{format_tokens(abs(size))}"
        for name, size in largest
    ]
    return ", ".join(texts) or "the same"
