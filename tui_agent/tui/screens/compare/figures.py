"""The figures in a comparison of two sessions, such as time, cost and tokens, and the difference in each figure.

Invariant: the screen, the table on standard output and the Markdown export use the same words.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from tui_agent.folds.comparison.compared_branch import Beat, Side
from tui_agent.folds.comparison.fold import FileDifference, LastSharedEvent
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_average, format_cost, format_duration, format_number, format_tokens

MIN_RATIO, MIN_WHOLE_RATIO = 1.1, 10.0
"""The smallest ratio to show, and the ratio from which decimals are left out."""


class Cell(NamedTuple):
    """A value of one of the two compared sessions.

    - `amount`: the value as a number, for the length of its bar
    - `note`: difference from the other session's value, in words
    - `added`, `removed`: the numbers of added and removed lines
    """

    text: str
    amount: float = 0.0
    note: str = ""
    added: int = 0
    removed: int = 0


class Figure(NamedTuple):
    """A row of the comparison, with a value for each session.

    `full_amount`: the amount at which a bar is full; 0 for a row without bars.
    """

    label: str
    left: Cell
    right: Cell
    full_amount: float = 0.0


def final_sums(side: Side) -> Beat:
    """Return the figures of a compared session, such as cost and tokens, at its end."""
    return Beat(
        side.duration_ms,
        "end",
        side.last_seq,
        side.cost_usd,
        side.iterations,
        side.tokens_in,
        side.tokens_out,
        side.asked_count,
        side.denied_count,
        side.user_denied_count,
        len(side.files),
        side.added,
        side.removed,
        side.cost_precision,
    )


def sums_at(side: Side, ms: float) -> Beat:
    """Return the figures of a compared session `ms` milliseconds after the fork point.

    If the session ended earlier, return the figures at its end.
    """
    if not side.timeline or ms >= side.timeline[-1].at_ms:
        return final_sums(side)
    cost = None if side.cost_usd is None else 0.0
    count = bisect_right(side.timeline, ms, key=lambda beat: beat.at_ms)
    if not count:  # before the first event
        return Beat(max(0.0, ms), "end", 0, cost)
    beat = side.timeline[count - 1]
    return replace(beat, at_ms=ms, cost_usd=cost if beat.cost_usd is None else beat.cost_usd)


def build_figures(left: Side, right: Side, now: tuple[Beat, Beat] | None = None) -> list[Figure]:
    """Return the rows of the comparison's table.

    `now`: the figures of both sessions at one moment; by default, at the end of each session.
    """
    ends = final_sums(left), final_sums(right)
    own, other = now or ends
    return [
        Figure(
            label,
            cell(left, own, other),
            cell(right, other, own),
            max(cell(left, *ends).amount, cell(right, ends[1], ends[0]).amount),
        )
        for label, cell in _ROWS
    ]


def describe_tools(side: Side) -> str:
    """Return the number of tool calls in total and by tool: `7: edit_file 3, run_tests 2`."""
    counts = ", ".join(f"{name} {count}" for name, count in side.tools.items())
    return f"{sum(side.tools.values())}: {counts}" if counts else "none"


def describe_model(side: Side) -> str:
    """Return the model, effort and policy of a compared session: `claude-sonnet-4-5 high, policy ask`."""
    effort = f" {side.effort}" if side.effort and side.effort != "none" else ""
    model = f"{side.model or 'no model'}{effort}"
    return f"{model}, policy {side.policy}" if side.policy else model


def describe_fork_point(point: LastSharedEvent | None) -> tuple[str, str]:
    """Describe the common beginning of two sessions.

    Return two texts: a description such as `both start at event 88, after `, and the last common message or action in
    quotation marks (or an empty text).
    """
    if point is None:
        return "no common start: the whole sessions are compared", ""
    words = f"both start at event {point.seq}"
    return (f"{words}, after ", f'"{point.after}"') if point.after else (words, "")


def describe_missing(file: FileDifference, side: Side) -> str:
    """Return the reason why a file has no diff for one of the compared sessions."""
    return "not changed" if all(file.path != other.path for other in side.files) else "same content"


_DrawCell: TypeAlias = Callable[[Side, Beat, Beat], Cell]
"""A function that draws one cell of the table: (session, its numbers, the other's numbers)."""


def _time(side: Side, own: Beat, other: Beat) -> Cell:
    return Cell(format_duration(own.at_ms / 1000), own.at_ms, _describe_ratio(own.at_ms, other.at_ms))


def _cost(side: Side, own: Beat, other: Beat) -> Cell:
    if own.cost_usd is None:
        return Cell("not known" if own.tokens_in or own.tokens_out else "none")
    ratio = _describe_ratio(own.cost_usd, other.cost_usd or 0.0)
    note = "local model" if side.local and not own.cost_usd else ratio
    return Cell(format_cost(own.cost_usd, own.cost_precision), own.cost_usd, note)


def _iterations(side: Side, own: Beat, other: Beat) -> Cell:
    more = own.iterations - other.iterations
    return Cell(str(own.iterations), own.iterations, f"{more} more" if more > 0 else "")


def _tokens(side: Side, own: Beat, other: Beat) -> Cell:
    total, other_total = own.tokens_in + own.tokens_out, other.tokens_in + other.tokens_out
    text = f"{format_tokens(own.tokens_in)} / {format_tokens(own.tokens_out)}"
    return Cell(text, total, _describe_ratio(total, other_total))


def _questions(side: Side, own: Beat, other: Beat) -> Cell:
    count = format_count(own.asked, "time") if own.asked else "never"
    by_user, unasked = own.denied_by_user, own.denied - own.denied_by_user
    phrases = (count, f"{by_user} denied" if by_user else "", f"policy denied {unasked}" if unasked else "")
    return Cell(", ".join(filter(None, phrases)))


def _files(side: Side, own: Beat, other: Beat) -> Cell:
    return Cell(str(own.files) if own.files else "none", added=own.added, removed=own.removed)


def _describe_ratio(own: float, other: float) -> str:
    ratio = own / other if other > 0 else 0.0
    format_ratio = format_number if ratio >= MIN_WHOLE_RATIO else format_average
    return f"{format_ratio(ratio)} times" if ratio >= MIN_RATIO else ""


_ROWS: tuple[tuple[str, _DrawCell], ...] = (
    ("Time", _time),
    ("Cost", _cost),
    ("Iterations", _iterations),
    ("Tokens in / out", _tokens),
    ("Asked you", _questions),
    ("Files", _files),
)
