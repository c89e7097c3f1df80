"""L3: which operand of a call has which meaning.

Invariant: a word that may become several or none shifts no other operand without a doubt.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from tui_agent.policy.catalog.model import Meaning
from tui_agent.policy.interpreter.patterns import prefix_of
from tui_agent.policy.interpreter.report import Doubt, Value

TAKES_ALL: Final = frozenset({"command", "find", "fd", "xargs", "test"})
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True)
class Operands:
    """`used` are the operands with their meanings; `rest` the words that one meaning takes as a whole (`command`), `taker`
    that meaning; `missing` the meaning of the first place that no operand fills, None where all are filled."""

    used: tuple[tuple[Meaning, Value], ...] = ()
    taker: Meaning | None = None
    rest: tuple[Value, ...] = ()
    missing: Meaning | None = None
    doubts: tuple[Doubt, ...] = ()


def assign_operands(name: str, expected: Sequence[str], operands: Sequence[Value]) -> Operands:
    """Assign a meaning to each operand. `name` is the program's, for the reasons of doubts."""
    plan = [(cast(Meaning, item.rstrip(".?")), item[len(item.rstrip(".?")) :]) for item in expected]
    used: list[tuple[Meaning, Value]] = []
    doubts: list[Doubt] = []
    missing: Meaning | None = None
    spare = len(operands) - sum(not suffix and meaning not in TAKES_ALL for meaning, suffix in plan)
    at = 0
    for place, (meaning, suffix) in enumerate(plan):
        if meaning in TAKES_ALL:
            rest = tuple(operands[at:])
            return Operands(tuple(used), meaning, rest, missing or (None if rest else meaning), tuple(doubts))
        behind = sum(not other for _, other in plan[place + 1 :])
        if meaning == "assignment" and place + 1 < len(plan):
            count = sum(1 for _ in _leading_assignments(operands[at:]))
            spare -= count
        elif suffix == "...":
            count = max(0, len(operands) - at - behind)
        else:
            count = 1 if at < len(operands) and (not suffix or spare > 0) else 0
            spare -= count if suffix else 0
        taken = operands[at : at + count]
        at += count
        missing = missing or (meaning if not taken and meaning != "assignment" else None)
        used += [(meaning, value) for value in taken]
        alone = suffix != "..." and (len(operands) > 1 or place + 1 < len(plan))
        hides = runs_command(expected)
        doubts += [_shift_doubt(name, value, hides=hides) for value in taken if value.many and alone]
    doubts += [
        Doubt("operand", f"{value.source or 'an empty word'} is one operand too many for {name}")
        for value in operands[at:]
    ]
    used += [("text", value) for value in operands[at:]]
    return Operands(tuple(used), None, (), missing, tuple(doubts))


def runs_command(expected: Sequence[str]) -> bool:
    """Return True if a word too many could be the command that a program runs."""
    return not {"command", "xargs"}.isdisjoint(expected)


def _leading_assignments(operands: Sequence[Value]) -> Iterator[Value]:
    for value in operands:
        if not _ASSIGNED.match(prefix_of(value)):
            return
        yield value


def _shift_doubt(name: str, value: Value, *, hides: bool) -> Doubt:
    return Doubt("value", f"{value.source} may become several words of {name}, or none", hides)
