"""Every entry of the catalog is valid, has an example that is not allowed, and its examples are judged as it says.

pytest tests/unit/policy/catalog/test_examples.py -k "git or wc"     only the entries of these programs
"""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from tui_agent.policy.catalog.catalog import PROGRAMS, Catalog
from tui_agent.policy.catalog.catalog_entry import Entry, TableFault
from tui_agent.policy.catalog.catalog_schema import Example
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.table_check import describe_difference
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

CATALOG = Catalog()
POLICY = RulePolicy(catalog=CATALOG)
FACTS = PolicyFacts("/workspace", "ask")


@cache
def entry_names() -> list[str]:
    """Names of all entries, subcommands behind their program's ("git log")."""
    files = sorted(PROGRAMS.rglob("*.toml"))
    return [str(file.relative_to(PROGRAMS).with_suffix("")).replace("/", " ") for file in files]


def program_of(name: str) -> str:
    return name.partition(" ")[0]


def file_of(name: str) -> Path:
    return PROGRAMS / f"{name.replace(' ', '/', 1)}.toml"


def faults_of(name: str) -> list[str]:
    """All that is wrong with an entry, each with its file."""
    place = file_of(name).relative_to(PROGRAMS)
    try:
        entry = CATALOG.entry(name)
    except (TableFault, tomllib.TOMLDecodeError) as error:
        return [f"{place}: {error}"]
    assert entry is not None, f"{place} is not found by its name"
    faults = [(fault, example) for example in entry.program.examples if (fault := judge_example(example))]
    numbers = line_numbers(file_of(name)) if faults else {}
    return [
        *(f"{place}: {fault}" for fault in missing_examples(entry)),
        *(f"{place}:{numbers.get(example.line, 1)}: {fault}" for fault, example in faults),
    ]


def line_numbers(file: Path) -> dict[str, int]:
    """The line in which each example of a file stands, by its text."""
    found: dict[str, int] = {}
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if text.startswith("line = "):
            found[tomllib.loads(text)["line"]] = number
    return found


def judge_example(example: Example) -> str:
    """Return how the policy judges an example, where it is not as the example says; else nothing."""
    decision = POLICY.decide("run_command", (RunEffect(script=example.line),), FACTS)
    return describe_difference(example, decision.verdict, decision.reason)


def missing_examples(entry: Entry) -> list[str]:
    if entry.table.get("like") and not entry.program.examples:
        return []
    decisions = {example.decision for example in entry.program.examples}
    return [] if decisions - {"allow"} else ["it has no example that is asked about or denied"]


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted({program_of(name) for name in entry_names()}))
def test_entries_are_valid(program: str) -> None:
    faults = [fault for name in entry_names() if program_of(name) == program for fault in faults_of(name)]
    assert not faults, "\n" + "\n".join(faults)


def test_every_folder_belongs_to_a_program_that_has_further_entries() -> None:
    folders = {name.partition(" ")[0] for name in entry_names() if " " in name}
    lost = []
    for folder in sorted(folders):
        entry = CATALOG.entry(folder)
        if entry is None or not (
            entry.program.subcommands or any(option.entry for option in entry.options.values())
        ):
            lost.append(folder)
    assert not lost
