"""The assignment of meanings ("read", "host" …) to the operands of a call.

Invariant: a pattern or variable raises a doubt if its expansion can change the position of other operands.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, cast

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Meaning
from tui_agent.policy.interpreter.command_report import Doubt, Value
from tui_agent.policy.interpreter.patterns import prefix_of

TAKES_ALL: Final = frozenset({"command", "find", "fd", "xargs", "test"})
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a call, with their meanings ("read", "host" …).

    `used`: pairs (meaning, operand).
    `taker`: the meaning that takes all remaining words (`command`), or None.
    `rest`: the words that `taker` takes.
    `missing`: the meaning of the first operand that is required but missing.
    """

    used: tuple[tuple[Meaning, Value], ...] = ()
    taker: Meaning | None = None
    rest: tuple[Value, ...] = ()
    missing: Meaning | None = None
    doubts: tuple[Doubt, ...] = ()


def assign_operands(name: str, expected: Sequence[str], operands: Sequence[Value]) -> Operands:
    """Assign a meaning to each operand of a call.

    `expected`: the meanings in the program's catalog entry.
    """
    plan = [(cast(Meaning, item.rstrip(".?")), item[len(item.rstrip(".?")) :]) for item in expected]
    used: list[tuple[Meaning, Value]] = []
    doubts: list[Doubt] = []
    missing: Meaning | None = None
    left = list(operands)
    for place, (meaning, suffix) in enumerate(plan):
        if meaning in TAKES_ALL:
            missing = missing or (None if left else meaning)
            return Operands(tuple(used), meaning, tuple(left), missing, tuple(doubts))
        # Required operands that follow take precedence over an optional one.
        needed = sum(not other and follower not in TAKES_ALL for follower, other in plan[place + 1 :])
        if meaning == "assignment" and place + 1 < len(plan):
            count = len(list(takewhile(lambda value: _ASSIGNED.match(prefix_of(value)), left)))
        elif suffix:
            count = min(max(0, len(left) - needed), len(left) if suffix == "..." else 1)
        else:
            count = min(1, len(left))
        taken, left = left[:count], left[count:]
        missing = missing or (meaning if not taken and meaning != "assignment" else None)
        used += [(meaning, value) for value in taken]
        if suffix != "..." and (len(operands) > 1 or place + 1 < len(plan)):
            reason = f"may expand to several arguments of {name}, or to none"
            hides = runs_command(expected)
            doubts += [Doubt("value", f"{value.source} {reason}", hides) for value in taken if value.many]
    doubts += [
        Doubt("operand", f"{value.source or 'an empty word'} is one operand too many for {name}")
        for value in left
    ]
    used += [("text", value) for value in left]
    return Operands(tuple(used), None, (), missing, tuple(doubts))


def runs_command(expected: Sequence[str]) -> bool:
    """Return True if the program runs its operands as a command, like `env` and `xargs`."""
    return not {"command", "xargs"}.isdisjoint(expected)
