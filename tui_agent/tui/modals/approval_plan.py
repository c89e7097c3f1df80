"""Which rows of an approval stand where, so that what is approved is in sight on a screen of any size.

Invariant: pure; the beginning and the end of a command stand together or not at all, and commands that change more
than the workspace keep their row before all else that is said of it. What this view cannot show has `must` None.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.strip import Strip

LEAST = 3
"""Rows of a command that say something: its beginning, how much is left out, its end."""


class Effects(NamedTuple):
    """What is said of a call, in less and less room. `whole` tells that no command that matters is left out."""

    rows: Sequence[Strip]
    whole: bool = True


class Plan(NamedTuple):
    """`body` scrolls; `effects` stand below it. `must` counts the rows of the body that must have been in sight
    before it may be allowed; None where this view is not enough. `cut` tells that something is left out of it, `unseen`
    how many rows of the thing itself. `change` counts the rows of a change, at the beginning of the body."""

    body: Sequence[Strip]
    effects: Sequence[Strip]
    must: int | None
    cut: bool = False
    unseen: int = 0
    change: int = 0


def plan_command(
    rows: Sequence[Strip],
    effects: Sequence[Effects],
    few: Callable[[int], Sequence[Strip]],
    room: int,
    more: Callable[[int], Strip],
) -> Plan:
    """A command and its effects in `room` rows. `effects` are tried from the fullest on, then `few` of so many rows;
    `more` is the row that stands for so many others."""
    for at, one in enumerate(effects):
        enough = max(LEAST + 2, room // 2) if at < len(effects) - 1 else LEAST
        if min(len(rows), enough) + len(one.rows) <= room:
            body = _ends(rows, room - len(one.rows), more)
            unseen = _left_out(rows, room - len(one.rows))
            return Plan(body, one.rows, len(body) if one.whole else None, at > 0 or unseen > 0, unseen)
    least = min(len(rows), LEAST)
    said = few(max(0, room - least))
    most = max(1, room - len(said))
    return Plan(_ends(rows, most, more), said, None, cut=True, unseen=_left_out(rows, most))


def plan_change(subject: Sequence[Strip], rows: Sequence[Strip], effects: Sequence[Strip], room: int) -> Plan:
    """A change or a use of something, which scrolls; its effects stand below it where there is room for both."""
    body = [*subject, *rows]
    must = len(subject) + min(1, len(rows))
    if LEAST + len(effects) <= room or len(body) + len(effects) <= room:
        return Plan(body, effects, must, change=len(body))
    return Plan([*body, *effects], (), must, change=len(body))


def _left_out(rows: Sequence[Strip], room: int) -> int:
    """How many rows `_ends` leaves out."""
    return len(rows) - max(0, room - 1) if len(rows) > room else 0


def _ends(rows: Sequence[Strip], room: int, more: Callable[[int], Strip]) -> Sequence[Strip]:
    """The beginning and the end, and between them how much is left out."""
    if len(rows) <= room:
        return rows
    kept = max(0, room - 1)
    last = kept // 2
    first = kept - last
    return [*rows[:first], more(len(rows) - kept), *(rows[-last:] if last else ())]
