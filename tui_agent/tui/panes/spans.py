"""Selection and naming of the spans in a trace, for the side pane and the trace screen.

A span is a unit of work with a duration: a turn, an iteration, a call of a model or tool, or a subtask.

Invariant: all functions are pure; failed and denied spans are hidden only in spans that the user folded.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_agent.tui.text import clean_line, reveal_line
from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import state_mark
from tui_agent.units import format_duration, format_elapsed, format_tokens

if TYPE_CHECKING:
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
"""Names of model errors in messages to the user."""
MAX_NAME_LENGTH = 1000
"""Maximum number of characters of a span's name; no row of the screen is wider."""
NOTABLE_STATES = ("failed", "denied", "interrupted", "running", "waiting")
MAX_DEPTH = 12


def state_symbol(span: "Span", symbols: Symbols) -> tuple[str, Role]:
    """Return the symbol for the state of a span, and the symbol's colour role."""
    if span.kind == "subtask" and span.state in ("done", "running"):
        return symbols.subtask, "accent"
    return state_mark(span.state, symbols)


def is_group(span: "Span") -> bool:
    """Return True for turns and iterations, which have a fold mark instead of a state symbol."""
    return span.kind in ("turn", "iteration")


def label(span: "Span", *, folded: bool, full: bool = False) -> str:
    """Return the name of a span for its row in the trace.

    The name of a folded iteration ends with a summary of the iteration. With `full`, the name of a call is not
    shortened.
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
    """Return the last part if the target of a call is a path; return any other target unchanged."""
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
    """Return the indices of the spans to show from `roots` downwards, from top to bottom.

    `folds` maps spans to True (folded by the user or the pane) or False (unfolded). Other spans are unfolded, except
    successful subtasks. Spans inside a folded span are not read, because a long session stores its spans packed.
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
    """Return True if the span has children and they are hidden."""
    if not span.children:
        return False
    by_hand = folds.get(span.index)
    if by_hand is not None:
        return by_hand
    return span.kind == "subtask" and not is_notable(span, view)


def tokens(span: "Span", count: int | None) -> str:
    """Format the token count of a span, e.g. `~1.2k`; `~` marks an estimate, and None becomes an empty string."""
    return "" if count is None else f"{'~' if span.estimated else ''}{format_tokens(count)}"


def duration(span: "Span", now: float) -> str:
    """Format the span's duration; for a running span, the time since its start."""
    if span.duration_ms is not None:
        return format_duration(span.duration_ms / 1000)
    if span.state in ("running", "waiting"):
        return format_elapsed(now - span.start)
    return "" if span.end is None else format_duration(span.end - span.start)
