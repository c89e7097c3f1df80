"""L3: checks a table of programs that somebody wrote: every fault with the line it stands in.

Invariant: a text of any size and content is answered within a second, with faults and never with an exception.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from tui_agent.errors import ConfigError
from tui_agent.policy.catalog.catalog import Catalog, Layer, keys_of, read_tables
from tui_agent.policy.catalog.entries import Table, TableFault, validate
from tui_agent.policy.catalog.model import Decision, Example

MAX_EXAMPLES: Final = 300
MAX_FAULTS: Final = 50
"""Further faults are not told."""
_AT_LINE: Final = re.compile(r"at line (\d+)")

Judge: TypeAlias = Callable[[str, Catalog], tuple[Decision, str]]
"""Decides about a command line by a catalog, under the profile `ask` in an empty workspace: the decision and its reason."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault: `place` is the source with a line ("programs.toml:12"), `reason` says what is wrong."""

    place: str
    reason: str


def check_table(text: str, source: str, judge: Judge) -> list[Problem]:
    """Check a table of `[programs.NAME]` with all its examples."""
    lines = text.splitlines()
    problems = []
    for fault in islice(_faults(text, source, judge), MAX_FAULTS):
        told = _AT_LINE.search(fault.reason)
        line = int(told[1]) if told else _line_of(lines, fault.keys)
        problems.append(Problem(f"{source}:{line}" if line else source, str(fault)))
    return problems


def _faults(text: str, source: str, judge: Judge) -> Iterator[TableFault]:
    """Yield faults; those of one kind hide what they make meaningless."""
    try:
        tables, _ = read_tables(text)
    except TableFault as fault:
        yield fault
        return
    wrong = [
        TableFault((*keys_of(name), *fault.keys), fault.reason)
        for name, table in tables.items()
        for fault in validate(table)[1]
    ]
    yield from wrong
    if wrong:
        return
    try:
        catalog = Catalog([Layer("user", source, text)])
    except ConfigError as error:
        cause = error.__cause__
        yield cause if isinstance(cause, TableFault) else TableFault((), str(error))
        return
    yield from _failed_examples(tables, catalog, judge)


def _failed_examples(tables: Mapping[str, Table], catalog: Catalog, judge: Judge) -> Iterator[TableFault]:
    examples = [
        ((*keys_of(name), "examples", str(place)), Example.model_validate(raw))
        for name, table in tables.items()
        for place, raw in enumerate(table.get("examples", ()))
    ]
    for keys, example in examples[:MAX_EXAMPLES]:
        decision, reason = judge(example.line, catalog)
        if decision != example.decision or example.because not in reason:
            wanted = (
                f"{example.decision} because {example.because!r}" if example.because else example.decision
            )
            yield TableFault(
                keys, f"the example {example.line!r} should be {wanted}, not {decision}: {reason}"
            )
    if len(examples) > MAX_EXAMPLES:
        yield TableFault((), f"only the first {MAX_EXAMPLES} examples are tried")


def _line_of(lines: list[str], keys: tuple[str, ...]) -> int:
    """Return the number of the line in which the last key stands behind those in front of it. Where it is not found, as a
    missing one, that of the key before; 0 for none."""
    found = 0
    for place, key in enumerate(keys):
        # The index of a table in an array: the header in front of it is found so many times more.
        count, name, further = (int(key), keys[place - 1], 1) if key.isdigit() else (1, key, 0)
        for _ in range(count):
            start = max(found - 1 + further, 0)
            later = (number for number in range(start, len(lines)) if _stands_in(name, lines[number]))
            number = next(later, None)
            if number is None or (further and not lines[number].startswith("[[")):
                return found
            found = number + 1
    return found


def _stands_in(key: str, line: str) -> bool:
    """Return True if a line of TOML has this key, or the header of a table does."""
    return key in line and bool(re.search(rf"""(?:^|[\[.{{,\s])["']?{re.escape(key)}["']?\s*[\].=]""", line))
