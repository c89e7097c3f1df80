"""The rows of a comparison in words: time, cost, tokens and the rest, with amounts for bars and what stands out.

Invariant: pure, and drawn by nobody here: the screen, the table on standard output and the Markdown tell the same.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from tui_agent.folds.comparison.fold import FileDifference, ForkPoint
from tui_agent.folds.comparison.side import Side
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_cost, format_duration, format_tokens

MUCH, VERY_MUCH = 1.1, 10.0
"""A ratio below the first is not told; from the second on it is told without a decimal."""


class Sums(NamedTuple):
    """The figures of one side at a moment. `local`: its model runs on this machine."""

    ms: float = 0.0
    cost_usd: float | None = None
    iterations: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    asked: int = 0
    denied: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    local: bool = False


class Cell(NamedTuple):
    """One side of a row. `amount` is what its bar stands for, `note` says how it differs from the other side;
    `added` and `removed` are lines."""

    text: str
    amount: float = 0.0
    note: str = ""
    added: int = 0
    removed: int = 0


class Figure(NamedTuple):
    """One row. `most` is the largest amount that either side comes to; 0 for a row without bars."""

    label: str
    left: Cell
    right: Cell
    most: float = 0.0


def at_end(side: Side) -> Sums:
    """What a side came to."""
    return Sums(
        side.duration_ms,
        side.cost_usd,
        side.iterations,
        side.tokens_in,
        side.tokens_out,
        side.asked_count,
        side.denied_count,
        len(side.files),
        side.added,
        side.removed,
        side.local,
    )


def at_time(side: Side, ms: float) -> Sums:
    """What a side had come to so long after the fork point; what it came to once it is over."""
    if not side.timeline or ms >= side.timeline[-1].at_ms:
        return at_end(side)
    cost = None if side.cost_usd is None else 0.0
    found = bisect_right(side.timeline, ms, key=lambda beat: beat.at_ms)
    if not found:
        return Sums(max(0.0, ms), cost, local=side.local)
    beat = side.timeline[found - 1]
    return Sums(
        ms,
        cost if beat.cost_usd is None else beat.cost_usd,
        beat.iterations,
        beat.tokens_in,
        beat.tokens_out,
        beat.asked,
        beat.denied,
        beat.files,
        beat.added,
        beat.removed,
        side.local,
    )


def figures(left: Side, right: Side, now: tuple[Sums, Sums] | None = None) -> list[Figure]:
    """The rows of numbers in their fixed order, at the end or at another moment."""
    ends = at_end(left), at_end(right)
    return [_figure(label, of, now or ends, ends) for label, of in _ROWS]


def tools(side: Side) -> str:
    """`7: edit_file 3, run_tests 2`."""
    each = ", ".join(f"{name} {count}" for name, count in side.tools.items())
    return f"{sum(side.tools.values())}: {each}" if each else "none"


def who(side: Side) -> str:
    """`claude-sonnet-4-5 high, policy ask`."""
    effort = f" {side.effort}" if side.effort and side.effort != "none" else ""
    model = f"{side.model or 'no model'}{effort}"
    return f"{model}, policy {side.policy}" if side.policy else model


def beginning(point: ForkPoint | None) -> tuple[str, str]:
    """What both have in common: words of ours, and words of theirs."""
    if point is None:
        return "they share nothing: all of both is compared", ""
    said = f"both start at event {point.seq}"
    return (f"{said}, after ", f'"{point.after}"') if point.after else (said, "")


def missing(one: FileDifference, side: Side) -> str:
    """What to say of a file of which a side has no hunks."""
    return "not changed" if all(one.path != file.path for file in side.files) else "the same content"


def _figure(label: str, of: "_CellOf", now: tuple[Sums, Sums], ends: tuple[Sums, Sums]) -> Figure:
    most = max(of(*ends).amount, of(ends[1], ends[0]).amount)
    return Figure(label, of(*now), of(now[1], now[0]), most)


_CellOf = Callable[[Sums, Sums], Cell]


def _time(own: Sums, other: Sums) -> Cell:
    return Cell(format_duration(own.ms / 1000), own.ms, _times(own.ms, other.ms))


def _cost(own: Sums, other: Sums) -> Cell:
    if own.cost_usd is None:
        return Cell("not known" if own.tokens_in or own.tokens_out else "none")
    note = "local model" if own.local and not own.cost_usd else _times(own.cost_usd, other.cost_usd or 0.0)
    return Cell(format_cost(own.cost_usd), own.cost_usd, note)


def _iterations(own: Sums, other: Sums) -> Cell:
    more = own.iterations - other.iterations
    return Cell(str(own.iterations), own.iterations, f"{more} more" if more > 0 else "")


def _tokens(own: Sums, other: Sums) -> Cell:
    spent, others = own.tokens_in + own.tokens_out, other.tokens_in + other.tokens_out
    text = f"{format_tokens(own.tokens_in)} / {format_tokens(own.tokens_out)}"
    return Cell(text, spent, _times(spent, others))


def _asked(own: Sums, other: Sums) -> Cell:
    asked = format_count(own.asked, "time") if own.asked else "never"
    return Cell(f"{asked}, {own.denied} denied" if own.denied else asked)


def _files(own: Sums, other: Sums) -> Cell:
    return Cell(str(own.files) if own.files else "none", added=own.added, removed=own.removed)


def _times(own: float, other: float) -> str:
    ratio = own / other if other > 0 else 0.0
    return f"{ratio:.{0 if ratio >= VERY_MUCH else 1}f} times" if ratio >= MUCH else ""


_ROWS: tuple[tuple[str, _CellOf], ...] = (
    ("Time", _time),
    ("Cost", _cost),
    ("Iterations", _iterations),
    ("Tokens in / out", _tokens),
    ("Asked you", _asked),
    ("Files", _files),
)
