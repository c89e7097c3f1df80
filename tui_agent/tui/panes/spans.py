"""A trace's spans as rows: what is shown, in which order, under which name. Used by the side pane and the screen.

Invariant: pure; failed and denied spans are never hidden by a fold that the user did not make.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_agent.tui.text import clean_line, named
from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.units import format_duration, format_elapsed, format_tokens

if TYPE_CHECKING:
    from tui_agent.folds.trace.fold import Span, SpanState, TraceView

FAULTS = {
    "transport": "no connection",
    "timeout": "no answer in time",
    "rate limit": "rate limited",
    "rate_limit": "rate limited",
    "auth": "key refused",
    "overflow": "context too long",
    "malformed": "answer not readable",
    "refusal": "refused",
    "cut": "answer cut off",
    "empty": "empty answer",
    "invalid request": "request refused",
    "invalid_request": "request refused",
    "script": "script does not fit",
}
"""Faults of models as people say them."""
ROW = 1000
"""Characters of a name that a row can show at most."""
LOUD = ("failed", "denied", "interrupted", "running", "waiting")
MAX_DEPTH = 12
_STATE_ROLE: "dict[SpanState, Role]" = {
    "queued": "t3",
    "running": "accent",
    "waiting": "warning",
    "done": "success",
    "failed": "error",
    "denied": "warning",
    "interrupted": "warning",
}


def state_symbol(span: "Span", symbols: Symbols) -> tuple[str, Role]:
    """Symbol and colour of a span's state."""
    if span.kind == "subtask" and span.state in ("done", "running"):
        return symbols.subtask, "accent"
    symbol = {
        "queued": symbols.queued,
        "running": symbols.running,
        "waiting": symbols.waiting,
        "done": symbols.done,
        "failed": symbols.failed,
        "denied": symbols.stopped,
        "interrupted": symbols.stopped,
    }[span.state]
    return symbol, _STATE_ROLE[span.state]


def is_group(span: "Span") -> bool:
    """Turns and iterations have a fold mark instead of a state."""
    return span.kind in ("turn", "iteration")


def label(span: "Span", view: "TraceView", *, folded: bool, full: bool = False) -> str:
    """The span's name in its row."""
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
            task = clean_line(span.detail.strip().partition("\n")[0])[:ROW]
            ended = clean_line(span.outcome) if span.state not in ("running", "done") else ""
            return f"subtask {task}" if full else ", ".join(filter(None, (ended, task))) or "subtask"
        case "tool" if not full:
            verb, _, target = span.name.partition(" ")
            return named(f"{verb} {short_target(target)}".strip()[:ROW])
        case "tool":
            return named(span.name)
        case _:
            return name


def fault_words(text: str) -> str:
    """`transport, try 2` → `no connection, try 2`; anything else as it is."""
    kind, comma, rest = text.partition(",")
    return FAULTS.get(kind, kind) + comma + rest


def short_target(target: str) -> str:
    """The last part of a path, anything else as it is."""
    path, _, rest = target.partition("  ")
    if "/" not in path or " " in path:
        return target
    return path.rstrip("/").rsplit("/", 1)[-1] + (f"  {rest}" if rest else "")


def descendants(span: "Span", view: "TraceView") -> Iterator[int]:
    """Indices of everything below a span, in order."""
    stack = list(reversed(span.children))
    while stack:
        index = stack.pop()
        yield index
        stack.extend(reversed(view.spans[index].children))


def loud(span: "Span", view: "TraceView") -> bool:
    """Whether it, or anything below it, failed, was denied or still runs."""
    return span.state in LOUD or any(view.spans[index].state in LOUD for index in descendants(span, view))


def visible(view: "TraceView", folds: Mapping[int, bool], roots: Sequence[int]) -> list[int]:
    """The spans to show under these roots, given which are folded (True) or opened (False) by hand or by the pane.

    What nobody folded or opened stands open, but for subtasks that went well. What is folded is not looked at: of a long
    session it is packed.
    """
    shown: list[int] = []
    stack = list(reversed(roots))
    while stack:
        index = stack.pop()
        shown.append(index)
        if folds.get(index):
            continue
        span = view.spans[index]
        if not is_folded(span, view, folds):
            stack.extend(reversed(span.children))
    return shown


def is_folded(span: "Span", view: "TraceView", folds: Mapping[int, bool]) -> bool:
    """Whether its children are hidden."""
    if not span.children:
        return False
    by_hand = folds.get(span.index)
    if by_hand is not None:
        return by_hand
    return span.kind == "subtask" and not loud(span, view)


def tokens(span: "Span", count: int | None) -> str:
    """What it sent or got; `~` stands before an estimate."""
    return "" if count is None else f"{'~' if span.estimated else ''}{format_tokens(count)}"


def took(span: "Span", now: float) -> str:
    """Its duration, or how long it has been running."""
    if span.duration_ms is not None:
        return format_duration(span.duration_ms / 1000)
    if span.state in ("running", "waiting"):
        return format_elapsed(now - span.start)
    return "" if span.end is None else format_duration(span.end - span.start)
