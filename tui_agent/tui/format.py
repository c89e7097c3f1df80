"""Numbers as people read them: durations, tokens, money, shares, sizes, ages.

Invariant: pure; every figure carries its unit, and the same figure is written the same everywhere.
"""

from collections.abc import Sequence
from typing import Literal

KIB = 1024


def duration(seconds: float) -> str:
    """`9 ms`, `0.4 s`, `16.6 s`, `51 s`, `1 min 14 s`, `2 h 05 min`."""
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


def elapsed(seconds: float) -> str:
    """Time that something has been running, in whole seconds: `0 s`, `32 s`, `1 min 14 s`. `duration` is for the ended."""
    whole = int(max(0.0, seconds))
    return f"{whole} s" if whole < 60 else duration(float(whole))


KILO = 1000
"""Tokens from this count are shown in thousands."""


def tenths(count: int) -> int:
    """Return the tenths of a thousand that `kilo` writes: 71 for `7.1k`."""
    return round(float(f"{count / KILO:.1f}") * 10)


def tokens(count: int) -> str:
    """`96`, `3.9k`, `200k`, `1.2M`: one decimal below 100 thousand."""
    if count < 1000:
        return str(count)
    if count < 99_950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}M"


def kilo(count: int) -> str:
    """Thousands with one decimal always, for columns that add up: `3.9k`, `0.0k`."""
    return f"{count / 1000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.2f}M"


def adding_up(counts: Sequence[int]) -> list[str]:
    """Format a column of tokens so that the written figures add up to the total.

    Plain below a total of a thousand, else `3.9k`, and `<0.1k` for what is too little for that.
    """
    total = sum(counts)
    if total < KILO:
        return [str(count) for count in counts]
    tenths_of = _largest_remainder(counts, tenths(total))
    return [
        "<0.1k" if count and not share else kilo(share * KILO // 10)
        for count, share in zip(counts, tenths_of, strict=True)
    ]


def about(count: int) -> str:
    """A forecast, without a decimal: `43k`, `900`."""
    return str(count) if count < 1000 else f"{round(count / 1000)}k" if count < 999_500 else tokens(count)


def money(usd: float | None, *, digits: int = 3) -> str:
    """`$0.097`; empty if no price is known. With two digits, amounts below a cent get four."""
    if usd is None:
        return ""
    if digits == 2 and 0 < usd < 0.01:
        digits = 4
    return f"${usd:.2f}" if usd >= 100 else f"${usd:.{digits}f}"


def percent(fraction: float) -> str:
    """`21 %`."""
    return f"{round(fraction * 100)} %"


def shares(counts: Sequence[int]) -> list[int]:
    """Whole percentages that add up to 100 (largest remainder); all zero when there is nothing to share."""
    return _largest_remainder(counts, 100)


def _largest_remainder(counts: Sequence[int], whole: int) -> list[int]:
    """Whole numbers in the proportion of `counts` that add up to `whole`; all zero when there is nothing to share."""
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


def size(count: int) -> str:
    """`640 B`, `1.9 KB`, `118 MB`."""
    value = float(count)
    for unit in ("B", "KB", "MB"):
        if value < 1000 or unit == "MB":
            return f"{value:.1f} {unit}" if unit != "B" and value < 10 else f"{round(value)} {unit}"
        value /= KIB
    return f"{round(value)} MB"


def age(seconds: float) -> str:
    """`now`, `2 min`, `3 h`, `13 d`."""
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h"
    return f"{int(seconds // 86_400)} d"


def about_long(seconds: float) -> str:
    """A length of time in one unit: `under a minute`, `3 min`, `2 h`, `5 d`."""
    return "under a minute" if seconds < 60 else age(seconds)


def changed_lines(
    added: int, removed: int, minus: str
) -> tuple[tuple[str, Literal["success", "error"]], ...]:
    """Return added and removed lines with their roles, `+4` and `−1`, without zeros."""
    signs: tuple[tuple[str, int, Literal["success", "error"]], ...] = (
        ("+", added, "success"),
        (minus, removed, "error"),
    )
    return tuple((f"{sign}{count}", role) for sign, count, role in signs if count)
