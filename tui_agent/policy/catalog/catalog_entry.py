"""A catalog entry for one program, built from the program's TOML table and the entry to inherit from.

Invariant: an entry is complete and valid: each spelling belongs to one option, and each operand has a meaning.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from tui_agent.policy.catalog.catalog_schema import Option, Program

Table: TypeAlias = Mapping[str, Any]
"""The TOML table of a program, not yet validated."""

_INHERITED_APART = frozenset({"about", "certain_outputs", "examples", "flags", "like", "options"})
_REASONS = {"extra_forbidden": "this key is not known", "missing": "this key is missing"}
_LISTS = frozenset({"tuple_type", "frozen_set_type"})
_MAX_SHOWN = 60


class TableFault(ValueError):
    """A fault in a table of programs.

    `keys`: the TOML keys that lead from the program's entry to the fault.
    """

    def __init__(self, keys: tuple[str, ...], reason: str) -> None:
        super().__init__(": ".join((*(".".join(keys),)[: bool(keys)], reason)))
        self.keys = keys
        self.reason = reason


@dataclass(frozen=True)
class Entry:
    """The catalog entry of a program or subcommand.

    `name`: the full name ("git log").
    `place`: the source file ("programs/git/log.toml").
    `options`: maps each spelling to its option, including inherited options. Spellings of one option share one object.
    `family`: the name of this entry, then the names of the entries that it inherits from, nearest first. The entry has
    the subcommands of its whole family.
    `table`: the keys that other entries can inherit.
    """

    name: str
    place: str
    program: Program
    options: Mapping[str, Option] = field(default_factory=dict)
    family: tuple[str, ...] = ()
    table: Table = field(default_factory=dict)

    @property
    def takes_no_words(self) -> bool:
        """True if the entry describes only a call without further words, not even options."""
        return self.program.option_style == "none" and not self.program.operands


def make_entry(name: str, place: str, table: Table, base: Entry | None) -> Entry:
    """Build a program's entry from its TOML table. Raise `TableFault` if the table is not valid.

    `base`: the entry to inherit from, or None.
    """
    keys = {**({} if base is None else base.table), **table}
    program, faults = validate(keys)
    if program is None:
        raise faults[0]
    options = _collect_options(program)
    _check_operands(program)
    inherited_keys = {key: value for key, value in keys.items() if key not in _INHERITED_APART}
    family = (name, *(() if base is None else base.family))
    return Entry(
        name, place, program, {**({} if base is None else base.options), **options}, family, inherited_keys
    )


def validate(table: Table) -> tuple[Program | None, list[TableFault]]:
    """Convert a TOML table to a program. If the table is faulty, return None and all faults."""
    try:
        return Program.model_validate(table), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    return None, [
        TableFault(tuple(map(str, detail["loc"])), _reason(detail["type"], detail["msg"], detail["input"]))
        for detail in details
    ]


def _reason(kind: str, message: str, value: object) -> str:
    if kind in _LISTS:
        short = isinstance(value, str) and len(value) < _MAX_SHOWN
        return f'write a list: ["{value}"]' if short else "write a list"
    reason = _REASONS.get(kind, message)
    return reason[:1].lower() + reason[1:]


def _collect_options(program: Program) -> dict[str, Option]:
    options: dict[str, Option] = {}
    groups = [("flags", item, Option(word="none")) for item in program.flags]
    groups += [("options", item, option) for item, option in program.options.items()]
    for key, item, option in groups:
        for spelling in item.split() or [item]:
            _check_spelling(program, key, item, spelling)
            if spelling in options:
                raise TableFault((key, item), f"{spelling} is listed twice")
            options[spelling] = option
    return options


def _check_spelling(program: Program, key: str, item: str, spelling: str) -> None:
    letter = program.option_style == "tar" and len(spelling) == 1
    if "=" in spelling or not (letter or (spelling[:1] in ("-", "+") and spelling.strip("-+"))):
        raise TableFault((key, item), f"{spelling} is not an option: it must begin with - or + and have no =")


def _check_operands(program: Program) -> None:
    if sum(operand.endswith("...") for operand in program.operands) > 1:
        raise TableFault(("operands",), "only one operand may end with `...`")


_AT_LINE: Final = re.compile(r"at line (\d+)")


def place_of(fault: TableFault, text: str, source: str) -> str:
    """Return a fault's source and line ("programs.toml:12"), or its source if the line is not found."""
    named = _AT_LINE.search(fault.reason)
    line = int(named[1]) if named else _line_of(text.splitlines(), fault.keys)
    return f"{source}:{line}" if line else source


def _line_of(lines: list[str], keys: tuple[str, ...]) -> int:
    """Follow `keys` from table to table, and return the line number of the last key found."""
    last_line = 0
    for place, key in enumerate(keys):
        # An index into an array of tables: skip that many further headers of the same name.
        count, name, further = (int(key), keys[place - 1], 1) if key.isdigit() else (1, key, 0)
        for _ in range(count):
            start = max(last_line - 1 + further, 0)
            later = (number for number in range(start, len(lines)) if _sets_key(name, lines[number]))
            number = next(later, None)
            if number is None or (further and not lines[number].startswith("[[")):
                return last_line
            last_line = number + 1
    return last_line


def _sets_key(key: str, line: str) -> bool:
    """Return True if a line of TOML assigns a value to `key`, or is a table header with `key` in the name."""
    return key in line and bool(re.search(rf"""(?:^|[\[.{{,\s])["']?{re.escape(key)}["']?\s*[\].=]""", line))
