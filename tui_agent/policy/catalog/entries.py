"""L3: one entry of the catalog, made of its TOML table and of the entry that it is `like`.

Invariant: an entry is complete and valid: each spelling belongs to one option, each operand has a meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args

from pydantic import ValidationError

from tui_agent.policy.catalog.model import Meaning, Option, Program

Table: TypeAlias = Mapping[str, Any]
"""A TOML table as `tomllib` reads it; nothing of it is trusted before `Program` took it."""

_MEANINGS = frozenset(get_args(Meaning))
_INHERITED_APART = frozenset(
    {"about", "certain_outputs", "examples", "flags", "like", "options", "subcommands"}
)
_FLAG = Option(word="none")


class TableFault(ValueError):
    """A fault in a table: where (keys from the entry on) and why, in plain words."""

    def __init__(self, keys: tuple[str, ...], reason: str) -> None:
        super().__init__(": ".join((*(".".join(keys),)[: bool(keys)], reason)))
        self.keys = keys
        self.reason = reason


@dataclass(frozen=True)
class Entry:
    """A program or subcommand (`name`: "git log") with the place of its table ("programs/git/log.toml").

    `options` holds every option by each of its spellings, those of the entry that it is `like` included; two spellings
    of one option hold the same object. `family` are the names whose subcommands it has, the nearest first. `table` holds
    the keys that an entry like this one takes over.
    """

    name: str
    place: str
    program: Program
    options: Mapping[str, Option] = field(default_factory=dict)
    family: tuple[str, ...] = ()
    table: Table = field(default_factory=dict)


def make_entry(name: str, place: str, table: Table, base: Entry | None) -> Entry:
    """Make an entry of a TOML table. Raises `TableFault`."""
    inherited = {} if base is None else base.table
    own = {key: value for key, value in table.items() if key != "subcommands" or isinstance(value, str)}
    program = _validate({**inherited, **own})
    options = _collect_options(program)
    _check_operands(program)
    kept = {key: value for key, value in {**inherited, **own}.items() if key not in _INHERITED_APART}
    if program.subcommands:
        kept["subcommands"] = program.subcommands
    family = (name, *(() if base is None else base.family))
    return Entry(name, place, program, {**({} if base is None else base.options), **options}, family, kept)


def validation_faults(table: Table) -> list[TableFault]:
    """All that is wrong with the keys and words of a table, without what it is `like`."""
    try:
        Program.model_validate(table)
    except ValidationError as error:
        return _faults(error)
    return []


def _validate(table: Table) -> Program:
    try:
        return Program.model_validate(table)
    except ValidationError as error:
        raise _faults(error)[0] from error


def _faults(error: ValidationError) -> list[TableFault]:
    details = error.errors(include_url=False, include_input=False)
    return [
        TableFault(tuple(str(key) for key in detail["loc"]), _plain_reason(detail["type"], detail["msg"]))
        for detail in details
    ]


def _plain_reason(kind: str, message: str) -> str:
    match kind:
        case "extra_forbidden":
            return "this key is not known"
        case "missing":
            return "this key is missing"
        case _:
            return message[:1].lower() + message[1:]


def _collect_options(program: Program) -> dict[str, Option]:
    found: dict[str, Option] = {}
    groups = [("flags", item, _FLAG.model_copy()) for item in program.flags]
    groups += [("options", item, option) for item, option in program.options.items()]
    for key, item, option in groups:
        spellings = item.split()
        if not spellings:
            raise TableFault((key, item), "an option needs a spelling")
        for spelling in spellings:
            _check_spelling(program, key, item, spelling)
            if spelling in found:
                raise TableFault((key, item), f"{spelling} is listed twice")
            found[spelling] = option
    return found


def _check_spelling(program: Program, key: str, item: str, spelling: str) -> None:
    letter = program.option_style == "tar" and len(spelling) == 1
    if "=" in spelling or not (letter or (spelling[0] in "-+" and spelling.strip("-+"))):
        raise TableFault((key, item), f"{spelling} is not an option: it must begin with - or + and have no =")


def _check_operands(program: Program) -> None:
    many = 0
    for place, operand in enumerate(program.operands):
        meaning = operand.removesuffix("...").removesuffix("?")
        many += operand.endswith("...")
        if meaning not in _MEANINGS:
            raise TableFault(("operands", str(place)), f'"{meaning}" is not a meaning')
    if many > 1:
        raise TableFault(("operands",), "only one operand may end in ...")
