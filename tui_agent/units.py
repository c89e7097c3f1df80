"""Formatting of durations, times, tokens, costs, shares and sizes in texts.

Invariant: each kind of number has one format in every text that a person or the model reads.

Examples: tokens `11.8k`, sizes `1.9 KB`, shares `21 %`, other counts `1,234`. Data formats such as JSON and CSV get the
raw numbers.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias


def format_duration(seconds: float) -> str:
    """Format a duration: `9 ms`, `0.4 s`, `16.6 s`, `51 s`, `1 min 14 s`, `2 h 05 min`."""
    seconds = max(0.0, seconds)
    if seconds < 0.0995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 19.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def format_milliseconds(ms: float | None) -> str:
    """Format a duration given in milliseconds; return an empty string for 0 and None."""
    return format_duration(ms / 1000) if ms else ""


def format_elapsed(seconds: float) -> str:
    """Format a still growing duration in whole seconds, rounded down: `32 s`, `1 min 14 s`."""
    completed = int(max(0.0, seconds))
    return f"{completed} s" if completed < 60 else format_duration(float(completed))


def format_time_limit(seconds: float) -> str:
    """Format a time limit in seconds, in the form that settings and options use: `120 s`, `0.5 s`."""
    return f"{seconds:g} s"


def format_clock(seconds: float) -> str:
    """Format seconds as `1:27` or `1:02:05`."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def format_time(time: float) -> str:
    """Format a Unix time as `2026-01-31 13:45:00` in this machine's time zone; `-` for 0."""
    return datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d %H:%M:%S") if time else "-"


def format_minute(time: float) -> str:
    """Format a Unix time as `2026-01-31 13:45` in this machine's time zone."""
    return format_time(time)[:16]


def format_day(time: float) -> str:
    """Format the day of a Unix time as `2026-01-31` in this machine's time zone."""
    return format_time(time)[:10]


def format_time_of_day(time: float, digits: int | None = None) -> str:
    """Format a Unix time as `13:45`; with `digits` 0 as `13:45:00`, with `digits` 3 as `13:45:00.000`."""
    timespec = {None: "minutes", 0: "seconds", 3: "milliseconds"}[digits]
    return datetime.fromtimestamp(time).time().isoformat(timespec)


def format_recent_time(time: float, now: float) -> str:
    """Format a Unix time as `13:45` if it is on the same day as `now`, otherwise as `2026-01-31 13:45`."""
    return format_time_of_day(time) if format_day(time) == format_day(now) else format_minute(time)


def file_time_stamp(time: float) -> str:
    """Return a Unix time as part of a file's name: `20260131-134500`."""
    return datetime.fromtimestamp(time).strftime("%Y%m%d-%H%M%S")


def format_average(value: float) -> str:
    """Format an average count of anything but tokens: `2.5`, `3,912`."""
    return f"{value:,.1f}".removesuffix(".0")


def format_number(count: float) -> str:
    """Format a count of anything but tokens: `96`, `3,912`."""
    return f"{count:,.0f}"


KILO = 1000
"""A column of token counts is shown in thousands if its total is at least this number."""


def to_hundreds(count: int) -> int:
    """Return `count` in hundreds, rounded like `format_thousands`.

    For 7,149, `format_thousands` returns `7.1k`, so the result is 71.
    """
    return round(float(f"{count / KILO:.1f}") * 10)


def format_tokens(count: float) -> str:
    """Format a number of tokens, with one decimal below 100 thousand: `96`, `3.9k`, `200k`, `1.2M`."""
    if count < 999.5:
        return str(round(count))
    if count < 99_950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}M"


def format_thousands(count: int) -> str:
    """Format a count in thousands, always with one decimal, for columns that must add up: `3.9k`, `0.0k`."""
    return f"{count / 1000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.2f}M"


def format_token_column(counts: Sequence[int]) -> list[str]:
    """Format token counts so that they still add up to their total.

    The counts are in thousands if the total is at least a thousand: `3.9k`, or `<0.1k` for small counts.
    """
    total = sum(counts)
    if total < KILO:
        return [str(count) for count in counts]
    hundreds = _largest_remainder(counts, to_hundreds(total))
    return [
        "<0.1k" if count and not share else format_thousands(share * KILO // 10)
        for count, share in zip(counts, hundreds, strict=True)
    ]


def format_estimate(count: int) -> str:
    """Format an estimated number of tokens without decimals: `43k`, `900`."""
    if count < 1000:
        return str(count)
    return f"{round(count / 1000)}k" if count < 999_500 else format_tokens(count)


CostPrecision: TypeAlias = Literal["exact", "estimated", "partial"]
"""How well a cost is known.

- `estimated`: at least a part is computed from estimated tokens
- `partial`: the cost of at least one request is not known, so the real cost can be higher
"""


def combine_precision(*precisions: CostPrecision) -> CostPrecision:
    """Return the precision of a sum of costs: the lowest precision of its parts."""
    if "partial" in precisions:
        return "partial"
    return "estimated" if "estimated" in precisions else "exact"


def format_cost(usd: float | None, precision: CostPrecision = "exact", *, short: bool = False) -> str:
    """Format an amount of money: `$2.26`, `$0.097`, `$0.0024`, `<$0.0001`; an empty string for None.

    An estimated amount is `~$2.26`. A sum with an unknown part is `at least $2.26`, or `≥ $2.26` if `short` is True.
    """
    if usd is None:
        return ""
    digits = 4 if 0 < usd < 0.01 else 3 if usd < 1 else 2
    amount = f"${usd:.{digits}f}"
    if precision == "partial":
        return f"{'≥' if short else 'at least'} {amount}"
    if 0 < usd < 0.00005:
        return "<$0.0001"
    return f"~{amount}" if precision == "estimated" else amount


def format_price(usd: float) -> str:
    """Format a price per million tokens: `$3`, `$0.25`, `$0.075`."""
    return f"${usd:g}"


def format_percent(fraction: float) -> str:
    """Format a fraction between 0 and 1: `21 %`."""
    return f"{round(fraction * 100)} %"


def percent_shares(counts: Sequence[int]) -> list[int]:
    """Convert counts to per cent of their total. The shares add up to 100, or are all 0."""
    return _largest_remainder(counts, 100)


def _largest_remainder(counts: Sequence[int], whole: int) -> list[int]:
    """Split `whole` into integers proportional to `counts` by the largest-remainder method; zeros if all are zero."""
    total = sum(counts)
    if total <= 0:
        return [0] * len(counts)
    exact = [count * whole / total for count in counts]
    floors = [int(value) for value in exact]
    missing = whole - sum(floors)
    by_rest = sorted(range(len(exact)), key=lambda i: (floors[i] - exact[i], i))
    for index in by_rest[:missing]:
        floors[index] += 1
    return floors


MEGABYTE = 1_000_000


def format_bytes(count: int) -> str:
    """Format a size in decimal units, with one decimal below 10: `640 B`, `1.9 KB`, `5 MB`, `118 MB`, `1.5 GB`."""
    if count < 1000:
        return f"{count} B"
    amount, units = count / 1000, ["KB", "MB", "GB"]
    while amount >= 999.5 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    number = f"{amount:.1f}".removesuffix(".0") if amount < 9.95 else f"{amount:.0f}"
    return f"{number} {units[0]}"


def format_age(seconds: float) -> str:
    """Format the time since an event, in one unit: `now`, `2 min`, `3 h`, `13 d`."""
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h"
    return f"{int(seconds // 86_400)} d"


def format_rough_duration(seconds: float) -> str:
    """Format a duration in one unit: `under a minute`, `3 min`, `2 h`, `5 d`."""
    return "under a minute" if seconds < 60 else format_age(seconds)


def format_line_changes(
    added: int, removed: int, minus: str
) -> tuple[tuple[str, Literal["success", "error"]], ...]:
    """Return the numbers of added and removed lines as texts such as `+4` and `−1`, each with its colour role.

    A number that is 0 is left out.

    `minus`: the sign for removed lines.
    """
    signs: tuple[tuple[str, int, Literal["success", "error"]], ...] = (
        ("+", added, "success"),
        (minus, removed, "error"),
    )
    return tuple((f"{sign}{count}", role) for sign, count, role in signs if count)


NO_LINES = "no lines"
"""Shown instead of line counts if no line was added or removed, e.g. for a new empty file."""


def describe_line_changes(added: int, removed: int, minus: str = "−") -> str:
    """Describe the lines added to and removed from a file: `+4 −1`, `+4`, `no lines`."""
    return " ".join(text for text, _ in format_line_changes(added, removed, minus)) or NO_LINES
