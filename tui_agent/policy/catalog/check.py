"""L3: checks a table of programs that somebody wrote: every fault with the line it stands in.

Invariant: a text of any size and content is answered within a second, with faults and never with an exception.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Final, TypeAlias

from tui_agent.policy.catalog.catalog import CAUTIOUS_KEYS, Catalog, cautious_effects, keys_of, read_tables
from tui_agent.policy.catalog.entries import Table, TableFault, validate
from tui_agent.policy.catalog.fault_lines import place_of
from tui_agent.policy.catalog.model import Decision, Example

MAX_EXAMPLES: Final = 300
MAX_FAULTS: Final = 50
"""Further faults are not told."""
_PROJECT_FOLDER: Final = ".tui_agent"

Judge: TypeAlias = Callable[[str, Catalog], tuple[Decision, str]]
"""Decides about a command line by a catalog, under the profile `ask` in an empty workspace: the decision and its reason."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault: `place` is the source with a line ("programs.toml:12"), `reason` says what is wrong."""

    place: str
    reason: str


def check_table(text: str, source: str, judge: Judge) -> list[Problem]:
    """Check a table of `[programs.NAME]` with all its examples."""
    try:
        tables, harmless = read_tables(text)
    except TableFault as fault:
        return [Problem(place_of(fault, text, source), str(fault))]
    if not tables and not harmless:
        return [Problem(source, "nothing is in it")]
    if PurePath(source).parent.name == _PROJECT_FOLDER or any("why" in table for table in tables.values()):
        return _list_problems(_find_project_faults(tables), text, source)
    problems = _list_problems(_find_faults(tables, harmless, source, judge), text, source)
    if not problems and tables and not any("examples" in table for table in tables.values()):
        return [Problem(source, "no example is in it")]
    return problems


def _list_problems(faults: Iterable[TableFault], text: str, source: str) -> list[Problem]:
    return [Problem(place_of(fault, text, source), str(fault)) for fault in islice(faults, MAX_FAULTS)]


def _find_project_faults(tables: Mapping[str, Table]) -> Iterator[TableFault]:
    """Yield faults of a project's table, one for each entry."""
    for name, table in tables.items():
        try:
            cautious_effects(name, table)
        except TableFault as fault:
            reason = "a project's table may only hold effects and why"
            yield fault if set(table) <= CAUTIOUS_KEYS else TableFault(fault.keys, reason)


def _find_faults(
    tables: Mapping[str, Table], harmless: Iterable[str], source: str, judge: Judge
) -> Iterator[TableFault]:
    """Yield faults of a user's table. One in an entry hides those of its examples, and of entries like it."""
    valid: dict[str, Table] = {}
    for name, table in tables.items():
        wrong = validate(table)[1]
        yield from (TableFault((*keys_of(name), *fault.keys), fault.reason) for fault in wrong)
        if not wrong:
            valid[name] = table
    invalid = set(tables) - set(valid)
    valid = {name: table for name, table in valid.items() if table.get("like") not in invalid}
    catalog, faults = Catalog.of_faulty(valid, harmless, source)
    yield from faults
    yield from _failed_examples(valid, catalog, judge)


def _failed_examples(tables: Mapping[str, Table], catalog: Catalog, judge: Judge) -> Iterator[TableFault]:
    examples = [
        ((*keys_of(name), "examples", str(place)), Example.model_validate(raw))
        for name, table in tables.items()
        for place, raw in enumerate(table.get("examples", ()))
    ]
    for keys, example in examples[:MAX_EXAMPLES]:
        try:
            reason = describe_difference(example, *judge(example.line, catalog))
        except TableFault:
            continue  # Of a faulty entry it is already told what is wrong.
        if reason:
            yield TableFault(keys, reason)
    if len(examples) > MAX_EXAMPLES:
        yield TableFault((), f"only the first {MAX_EXAMPLES} examples are tried")


def describe_difference(example: Example, decision: Decision, reason: str) -> str:
    """Return how the judgement of an example differs from what it says, empty if it does not."""
    if decision != example.decision:
        return f"the example {example.line!r} should be {example.decision}, not {decision}: {reason}"
    if example.because not in reason:
        return f"the example {example.line!r} is {decision}, but not because {example.because!r}: {reason}"
    return ""
