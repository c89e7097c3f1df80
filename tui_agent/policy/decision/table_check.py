"""The check of a user's TOML table of programs, including its examples.

Invariant: a file of any size and content yields faults, never an exception.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Final, TypeAlias

from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog import Catalog, Layer, keys_of, read_tables
from tui_agent.policy.catalog.catalog_entry import Table, TableFault, place_of, validate
from tui_agent.policy.catalog.catalog_schema import Decision, Example
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

MAX_EXAMPLES: Final = 300
MAX_FAULTS: Final = 50
"""Maximum number of faults reported for one table."""
_PROJECT_FOLDER: Final = ".tui_agent"

Judge: TypeAlias = Callable[[str, Catalog], tuple[Decision, str]]
"""Function that judges a command line with a catalog. Returns (verdict, reason)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a table of programs.

    `place`: the source of the table, with a line ("programs.toml:12").
    `reason`: an explanation of the fault.
    """

    place: str
    reason: str


def check_table(text: str, source: str, judge: Judge) -> list[Problem]:
    """Check a TOML table of `[programs.NAME]` entries, including their examples."""
    try:
        tables, harmless = read_tables(text)
    except TableFault as fault:
        return [Problem(place_of(fault, text, source), str(fault))]
    if not tables and not harmless:
        return [Problem(source, "the table is empty")]
    projects = PurePath(source).parent.name == _PROJECT_FOLDER or any(
        "why" in table for table in tables.values()
    )
    catalog, faults = Catalog.with_faults(Layer("project" if projects else "user", source, text))
    failed = () if projects else _failed_examples(tables, catalog, judge)
    problems = [
        Problem(place_of(fault, text, source), str(fault))
        for fault in islice(chain(faults, failed), MAX_FAULTS)
    ]
    shown = projects or not tables or any("examples" in table for table in tables.values())
    return problems if problems or shown else [Problem(source, "the table has no examples")]


def _failed_examples(tables: Mapping[str, Table], catalog: Catalog, judge: Judge) -> Iterator[TableFault]:
    """Yield a fault for each example in these tables with an unexpected verdict from `judge`."""
    programs = ((name, validate(table)[0]) for name, table in tables.items())
    examples = [
        ((*keys_of(name), "examples", str(place)), example)
        for name, program in programs
        for place, example in enumerate(program.examples if program is not None else ())
    ]
    for keys, example in examples[:MAX_EXAMPLES]:
        try:
            reason = describe_difference(example, *judge(example.line, catalog))
        except TableFault:
            continue  # The fault of the entry is already reported.
        if reason:
            yield TableFault(keys, reason)
    if len(examples) > MAX_EXAMPLES:
        yield TableFault((), f"only the first {MAX_EXAMPLES} examples are tried")


def describe_difference(example: Example, decision: Decision, reason: str) -> str:
    """Describe how a verdict differs from the verdict of an example, or return an empty string."""
    if decision != example.decision:
        return f"the example {example.line!r} should be {example.decision}, not {decision}: {reason}"
    if example.because not in reason:
        return f"the example {example.line!r} is {decision}, but for another reason than {example.because!r}: {reason}"
    return ""


def check_table_path(path: Path) -> list[Problem]:
    """Check a TOML file that describes programs. Return its faults, each with its line."""
    try:
        text = read_small(path)
    except ConfigError as error:
        return [Problem(str(path), str(error).replace(str(path), "it", 1))]
    if text is None:
        return [Problem(str(path), "there is no such file")]
    return check_table(text, str(path), _judge)


def _judge(line: str, catalog: Catalog) -> tuple[Decision, str]:
    facts = PolicyFacts("/workspace", "ask")
    decision = RulePolicy(catalog=catalog).decide("run_command", (RunEffect(script=line),), facts)
    return decision.verdict, decision.reason
