"""The trace pane as rows: the newest turn with its calls and subtasks, and one row for each older turn.

A span is a unit of work with a duration, e.g. a turn, a tool call or a subtask.

Invariant: the newest rows are always visible, and only rows that fit are drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.untrusted_text import clean_line, fit, reveal_line
from tui_agent.tui.widgets.rows import Part, Pen, cells, state_mark
from tui_agent.units import format_cost, format_duration, format_elapsed, format_tokens

if TYPE_CHECKING:  # the views are loaded after the first paint
    from tui_agent.folds.trace.spans import Span, TraceView

FAULTS = {
    "transport": "no connection",
    "timeout": "no answer in time",
    "rate limit": "rate limited",
    "auth": "key refused",
    "overflow": "context too long",
    "malformed": "answer not readable",
    "refusal": "refused",
    "cut": "answer cut off",
    "empty": "empty answer",
    "invalid request": "request refused",
    "script": "script does not match",
}
"""Maps the kind of a model error to its name in messages to the user."""
MAX_NAME_LENGTH = 1000
"""Maximum length of a span's name, in characters."""
NOTABLE_STATES = ("failed", "denied", "interrupted", "running", "waiting")


def state_symbol(span: "Span", symbols: Symbols) -> tuple[str, Role]:
    """Return the symbol for the state of a span, and the symbol's colour role."""
    if span.kind == "subtask" and span.state in ("done", "running"):
        return symbols.subtask, "accent"
    return state_mark(span.state, symbols)


def is_group(span: "Span") -> bool:
    """Return True for turns and iterations. A row of a turn or iteration has a fold mark, but no state symbol."""
    return span.kind in ("turn", "iteration")


def label(span: "Span", *, folded: bool, full: bool = False) -> str:
    """Return the name of a span for its row in the trace.

    `folded`: True to add the summary of an iteration. `full`: True to show the whole name of a call.
    """
    name = clean_line(span.name)
    match span.kind:
        case "model":
            if full:
                return name if name.startswith("model") else f"model {name}"
            if span.tokens_out is not None and span.state == "done":
                return f"model, {format_tokens(span.tokens_out)} out"
            outcome = fault_words(clean_line(span.outcome))
            return f"model, {outcome}" if outcome else "model"
        case "iteration":
            summary = clean_line(span.outcome) if folded else ""
            return f"{name}, {summary}" if summary else name
        case "subtask":
            task = clean_line(span.detail.strip().partition("\n")[0])[:MAX_NAME_LENGTH]
            ended = clean_line(span.outcome) if span.state not in ("running", "done") else ""
            return f"subtask {task}" if full else ", ".join(filter(None, (ended, task))) or "subtask"
        case "tool" if not full:
            verb, _, target = span.name.partition(" ")
            return reveal_line(f"{verb} {short_target(target)}".strip()[:MAX_NAME_LENGTH])
        case "tool":
            return reveal_line(span.name)
        case _:
            return name


def fault_words(text: str) -> str:
    """Replace the name of a model error by plain words: `transport, try 2` → `no connection, try 2`."""
    kind, comma, rest = text.partition(",")
    words = kind.replace("_", " ")
    return FAULTS.get(words, words) + comma + rest


def short_target(target: str) -> str:
    """Return the last part of a path. Return any other target unchanged."""
    path, _, rest = target.partition("  ")
    if "/" not in path or " " in path:
        return target
    return path.rstrip("/").rsplit("/", 1)[-1] + (f"  {rest}" if rest else "")


def descendants(span: "Span", view: "TraceView") -> Iterator[int]:
    """Yield the indices of all spans below `span` in the tree, from top to bottom."""
    stack = list(reversed(span.children))
    while stack:
        index = stack.pop()
        yield index
        stack.extend(reversed(view.spans[index].children))


def is_notable(span: "Span", view: "TraceView") -> bool:
    """Return True if the span or one of its descendants failed, was denied or is still running."""
    return span.state in NOTABLE_STATES or any(
        view.spans[index].state in NOTABLE_STATES for index in descendants(span, view)
    )


def visible_spans(view: "TraceView", folds: Mapping[int, bool], roots: Sequence[int]) -> list[int]:
    """Return the indices of `roots` and the visible spans below them, from top to bottom.

    `folds`: maps a span's index to True if it was folded, False if it was unfolded. By default, only successful
    subtasks are folded.
    """
    shown: list[int] = []
    stack = list(reversed(roots))
    while stack:
        index = stack.pop()
        shown.append(index)
        # The span of a row that the user folded is not looked up: a session has thousands of old turns.
        if folds.get(index):
            continue
        span = view.spans[index]
        if not is_folded(span, view, folds):
            stack.extend(reversed(span.children))
    return shown


def is_folded(span: "Span", view: "TraceView", folds: Mapping[int, bool]) -> bool:
    """Return True if the span has children that are hidden."""
    if not span.children:
        return False
    by_hand = folds.get(span.index)
    if by_hand is not None:
        return by_hand
    return span.kind == "subtask" and not is_notable(span, view)


def tokens(span: "Span", count: int | None) -> str:
    """Format a span's number of tokens, e.g. `~1.2k` for an estimate; empty if `count` is None."""
    return "" if count is None else f"{'~' if span.estimated else ''}{format_tokens(count)}"


def duration(span: "Span", now: float) -> str:
    """Format the span's duration; for a running span, the time since the start."""
    if span.duration_ms is not None:
        return format_duration(span.duration_ms / 1000)
    if span.state in ("running", "waiting"):
        return format_elapsed(now - span.start)
    return "" if span.end is None else format_duration(span.end - span.start)


EMPTY = "Nothing has run."
COLUMNS_FROM = 46
"""Minimum width of the pane, in cells, for separate columns of tokens and cost."""


def trace_rows(
    view: "TraceView", folds: Mapping[int, bool], looks: Looks, width: int, max_rows: int, now: float
) -> list[Strip]:
    """Return the trace as up to `max_rows` rows: a title and the spans.

    If space is short, finished iterations are folded, then the oldest rows are left out. `folds`: see `visible_spans`.
    """
    pen = Pen(looks, "s1")
    failed = f"{view.failed} failed" if view.failed else ""
    title = [pen.part("  "), pen.part("Trace", bold=True, intent="trace")]
    head = pen.line(width, title, [pen.part(failed, "error")])
    if not view.roots:
        return [head, pen.line(width, [pen.part("  " + EMPTY, "t3")])][:max_rows]
    room = max(1, max_rows - 1)
    pane_folds = folds_of_pane(view, folds, room)
    indices = visible_spans(view, pane_folds, view.roots[-room:])
    if len(indices) > room:
        # Keep the newest turn's own row visible above its newest rows.
        newest, indices = view.roots[-1], indices[-room:]
        indices = indices if newest in indices else [newest, *indices[1:]]
    return [head, *(_span_row(view.spans[index], view, pane_folds, pen, width, now) for index in indices)]


def folds_of_pane(view: "TraceView", folds: Mapping[int, bool], room: int) -> dict[int, bool]:
    """Map the spans of the pane to True (folded) or False (unfolded).

    Older turns are folded. If the newest turn does not fit into `room` rows, its successful iterations are folded too.
    """
    recent = view.roots[-max(2, room) :]
    pane_folds = {**dict.fromkeys(recent[:-1], True), **folds}
    last = view.spans[view.roots[-1]]
    shown = len(visible_spans(view, pane_folds, recent))
    for index in last.children[:-1]:
        if shown <= room:
            break
        span = view.spans[index]
        if index not in pane_folds and span.children and not is_notable(span, view):
            shown -= len(visible_spans(view, pane_folds, [index])) - 1
            pane_folds[index] = True
    return pane_folds


def _span_row(
    span: "Span", view: "TraceView", folds: Mapping[int, bool], pen: Pen, width: int, now: float
) -> Strip:
    """Draw the row of a span: fold mark, state, name, and then tokens, cost and duration in columns."""
    symbols = pen.looks.symbols
    folded = is_folded(span, view, folds)
    mark = (symbols.folded if folded else symbols.open) if span.children else " "
    toggle = [pen.part(mark, "t3", intent=f"fold {span.index}"), pen.part(" ")]
    running = span.state == "running"
    if is_group(span):
        left = [pen.part("  " + " " * min(span.depth, 1)), *toggle]
        role: Role = "t1" if span.kind == "turn" or running else "t2"
    else:
        left = [pen.part("  ")]
        symbol, symbol_role = state_symbol(span, symbols)
        # A root span that is not a turn, such as a summary, has no fold mark. Its symbol takes the mark's place.
        if span.depth or span.children:
            indent = 2 + 2 * max(0, min(span.depth, 8) - 2) if span.depth else 0
            left += [pen.part(" " * indent), *toggle]
        left.append(pen.part(f"{symbol} ", symbol_role))
        role = "t1" if running else "t3" if span.state == "queued" else "t2"
    name = label(span, folded=folded)
    right = _measures(span, pen, width, now, costs=view.has_costs)
    name = fit(name, max(6, width - cells(left) - cells(right) - 4), symbols.ellipsis)
    left.append(pen.part(name, role, bold=span.kind == "turn", intent=f"span {span.index}"))
    is_root = span.kind == "turn" or not span.depth
    if is_root and width < COLUMNS_FROM and span.cost_usd is not None:
        left.append(pen.part("   " + format_cost(span.cost_usd, span.cost_precision, short=True), "t3"))
    return pen.line(width, left, right)


def _measures(span: "Span", pen: Pen, width: int, now: float, *, costs: bool) -> list[Part]:
    time = pen.part(f" {duration(span, now)}".rjust(7), "t2" if is_group(span) else "t3")
    if width < COLUMNS_FROM:
        return [time]
    sent = "" if span.kind == "turn" else tokens(span, span.tokens_in)
    if not costs:
        return [pen.part(sent.rjust(6), "t3"), time]
    cost = format_cost(span.cost_usd, span.cost_precision, short=True)
    return [pen.part(sent.rjust(6), "t3"), time, pen.part(f" {cost}".rjust(8), "t3")]
