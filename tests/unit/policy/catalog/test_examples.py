"""Every entry of the catalog is valid, has examples of both kinds, and its examples come out as it says.

pytest tests/unit/policy/catalog/test_examples.py -k "git or wc"     only the entries of these programs
"""

import tomllib
from pathlib import Path

import pytest

from tui_agent.policy.catalog.catalog import PROGRAMS, Catalog
from tui_agent.policy.catalog.entries import Entry, TableFault
from tui_agent.policy.catalog.model import Effect, Example
from tui_agent.policy.interpreter.line import read_line
from tui_agent.policy.interpreter.report import Certainty, CommandReport, Doubt, FileUse
from tui_agent.protocol.effects import Runs

CATALOG = Catalog()
READABLE = ("/usr/", "/etc/os-release", "/dev/null")
"""Where everybody may read."""


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
    failed = [fault for example in entry.program.examples for fault in fault_of_example(example)]
    numbers = line_numbers(file_of(name))
    return [
        *(f"{place}: {fault}" for fault in missing_examples(entry)),
        *(f"{place}:{numbers.get(line, 1)}: {fault}" for line, fault in failed),
    ]


def line_numbers(file: Path) -> dict[str, int]:
    """The line in which each example of a file stands, by its text."""
    found: dict[str, int] = {}
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if text.startswith("line = "):
            found[tomllib.loads(text)["line"]] = number
    return found


def fault_of_example(example: Example) -> list[tuple[str, str]]:
    """The line and what is wrong, where an example does not come out as it says."""
    report = read_line(Runs(script=example.line), CATALOG)
    against = [report.refusal] if report.refusal else []
    against += [reason for command in report.commands for reason in reasons_against(command)]
    decision = "ask" if against else "allow"
    expected = "allow" if example.decision == "allow" else "ask"
    told = f"{example.line!r}: {decision}, expected {example.decision}; {'; '.join(against)}"
    if decision != expected or (expected == "ask" and example.because not in "; ".join(against)):
        return [(example.line, told + (f"; because {example.because!r}" if example.because else ""))]
    return []


def reasons_against(command: CommandReport) -> list[str]:
    """All that speaks against running a command unasked in an empty workspace."""
    effects = sorted(effect for effect in command.effects if effect is not Effect.READS)
    doubts = [doubt.reason for doubt in command.doubts if not is_void(doubt)]
    files = [f"{use.action} {use.path or '?'}" for use in command.files if not is_harmless(use)]
    folders = [f"in {folder}" for folder in command.folders if not is_inside(folder)]
    return [f"{command.name}: {reason}" for reason in (*effects, *doubts, *files, *folders)]


def is_void(doubt: Doubt) -> bool:
    """There are no files, so none whose name is a danger."""
    return doubt.value is not None and doubt.value.names_files


def is_inside(path: str | None) -> bool:
    return path is not None and not path.startswith(("/", "~", ".."))


def is_harmless(use: FileUse) -> bool:
    secret = {".env", ".netrc", ".ssh", ".git-credentials", "id_rsa"} & set(use.path.split("/"))
    if use.certainty is Certainty.UNKNOWN or use.action not in ("read", "list") or secret:
        return False
    return is_inside(use.path) or use.path.startswith(READABLE)


def missing_examples(entry: Entry) -> list[str]:
    if entry.table.get("like") and not entry.program.examples:
        return []
    decisions = {example.decision for example in entry.program.examples}
    return [] if decisions - {"allow"} else ["it has no example that is asked about or denied"]


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
