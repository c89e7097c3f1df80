"""The catalog of known programs: looks up their entries in the product's files and in additional tables.

Invariant: a table of a project or plugin can only add effects to a known program.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_entry import Entry, Table, TableFault, make_entry, place_of, validate
from tui_agent.policy.catalog.catalog_schema import Effect, meaning_of
from tui_agent.policy.catalog.variable_lists import load_variables
from tui_agent.policy.toml_text import parse_toml

PROGRAMS = Path(__file__).parent / "programs"
_FILE_NAMES = {".": "source", "[": "test", ":": "true"}
"""Maps a program's name to its file in the catalog, if the name cannot be a file name (`[`)."""
_CAUTIOUS_KEYS = frozenset({"effects", "subcommands", "why"})
"""Keys that a project's or plugin's table may have for a known program."""
_MAX_LIKES = 8
_READING = frozenset({"read", "list"})
_READS_BELOW_MISSING = (
    "reads_below is missing: write true if the program reads everything below its folder arguments, "
    "else false"
)

Origin: TypeAlias = Literal["plugin", "user", "project"]
"""Kind of source of a table of programs. The catalog adds the tables in this order."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A TOML table of programs that is used in addition to the product's files.

    `source`: the file or plugin of the table.
    """

    origin: Origin
    source: str
    text: str


Shelf: TypeAlias = Callable[[str], tuple[Table, str] | None]
"""Function that looks up an entry by its full name ("git log"). Returns (table, source), or None."""


class Catalog:
    """All programs that the policy knows. A catalog never changes.

    Raise `ConfigError` if an added table is faulty. A lookup raises `TableFault` if a product file is faulty.
    """

    def __init__(self, layers: Iterable[Layer] = ()) -> None:
        self._entries: dict[str, Entry | None] = {}
        self._cautions: dict[str, list[tuple[frozenset[Effect], str]]] = {}
        self._shelves: list[Shelf] = [_read_file]
        self.variables = load_variables()
        for layer in sorted(layers, key=lambda layer: get_args(Origin).index(layer.origin)):
            try:
                for fault in self._add(layer):
                    raise fault
            except TableFault as fault:
                place = place_of(fault, layer.text, layer.source)
                hint = (
                    "" if layer.origin == "plugin" else f"; see `tui-agent policy check-table {layer.source}`"
                )
                raise ConfigError(f"{place}: {fault}{hint}.") from fault

    @classmethod
    def with_faults(cls, layer: Layer) -> tuple["Catalog", list[TableFault]]:
        """Return (catalog of the product's files and `layer`, faults in `layer`).

        Looking up a faulty entry raises `TableFault`.
        """
        catalog = cls()
        return catalog, list(catalog._add(layer))

    def entry(self, name: str) -> Entry | None:
        """Return the entry of a program ("wc") or subcommand ("git log"), or None if there is no entry."""
        if name not in self._entries:
            entry = self._resolve([name], self._shelves, _MAX_LIKES)
            self._entries[name] = None if entry is None else self._with_cautions(entry)
        return self._entries[name]

    def subcommand(self, entry: Entry, words: Sequence[str]) -> Entry | None:
        """Return the entry of the subcommand in the first one or two `words`, or None."""
        variants = (self.variant(entry, " ".join(words[:count])) for count in (2, 1) if count <= len(words))
        return next(filter(None, variants), None)

    def variant(self, entry: Entry, name: str) -> Entry | None:
        """Return another entry of the same program, or None.

        `name`: the entry's name without the program ("branch --list").
        """
        entries = (self.entry(f"{member.partition(' ')[0]} {name}") for member in entry.family)
        return next(filter(None, entries), None)

    def _resolve(self, names: Sequence[str], shelves: Sequence[Shelf], likes: int) -> Entry | None:
        """Return the entry of the first name that the lookup functions `shelves` find, or None.

        `likes`: maximum number of references to other entries (the key `like`) to follow.
        """
        for name, (place, shelf) in product(names, enumerate(shelves, 1)):
            table_and_source = shelf(name)
            if table_and_source is None:
                continue
            table, source = table_and_source
            like, base = str(table.get("like", "")), None
            if like:
                if not likes:
                    raise TableFault((name, "like"), "it refers to itself")
                program, blank, _ = name.partition(" ")
                candidates = [f"{program} {like}", like] if blank else [like]
                # An entry that is `like` its own name extends the entry that it replaces.
                behind = shelves[place:] if like == name else self._shelves
                base = self._resolve(candidates, behind, likes - 1)
                if base is None:
                    raise TableFault(("like",), f'there is no program "{like}"')
            return make_entry(name, source, table, base)
        return None

    def _with_cautions(self, entry: Entry) -> Entry:
        names = dict.fromkeys((entry.name, entry.name.partition(" ")[0]))
        for effects, source in (caution for name in names for caution in self._cautions.get(name, ())):
            known = entry.program.model_copy(update={"effects": entry.program.effects | effects})
            entry = replace(entry, program=known, place=f"{entry.place}, {source}")
        return entry

    def _add(self, layer: Layer) -> Iterator[TableFault]:
        """Add a table of programs and yield its faults. Raise `TableFault` if the table cannot be read at all."""
        tables, harmless = read_tables(layer.text)
        if harmless and layer.origin != "user":
            yield TableFault(
                ("environment",),
                "only programs.toml in your configuration folder can declare variables harmless",
            )
        self.variables = self.variables.with_harmless(harmless)
        own: dict[str, tuple[Table, str]] = {}
        for name, table in tables.items():
            unknown = layer.origin == "plugin" and self.entry(name.partition(" ")[0]) is None
            if layer.origin == "user" or unknown:
                own[name] = table, f"{layer.source}: programs.{name}"
            else:
                effects, faults = _read_caution(name, table)
                yield from _locate(name, faults)
                self._cautions.setdefault(name, []).append((effects, layer.source))
        # The user's entries replace those of the product. A plugin's entries only fill gaps.
        self._shelves = [*self._shelves, own.get] if layer.origin == "plugin" else [own.get, *self._shelves]
        # A cached entry can be `like` one that the new table replaces.
        self._entries.clear()
        wrong = {name: validate(table)[1] for name, (table, _) in own.items()}
        for name, (table, _) in own.items():
            # An entry that is `like` a faulty one would only repeat its faults.
            if wrong[name] or not wrong.get(str(table.get("like"))):
                yield from _locate(name, wrong[name] or self._find_faults(name, table))

    def _find_faults(self, name: str, table: Table) -> list[TableFault]:
        """Return the faults of an entry that depend on its inherited keys."""
        try:
            entry = self.entry(name)
        except TableFault as fault:
            return [fault]
        meanings = {meaning_of(operand) for operand in table.get("operands", ())}
        if entry is not None:
            meanings |= {option.means for option in entry.program.options.values()}
        missing = entry is not None and meanings & _READING and "reads_below" not in entry.table
        return [TableFault((), _READS_BELOW_MISSING)] if missing else []


@cache
def built_in_catalog() -> Catalog:
    """Return the catalog of the product's files only."""
    return Catalog()


def read_tables(text: str) -> tuple[dict[str, Table], tuple[str, ...]]:
    """Parse a table of programs from TOML text that a user, plugin or project wrote.

    Return (tables by the program's full name ("git log"), names of harmless environment variables). Raise `TableFault`
    if the text is not a valid table.
    """
    try:
        data = parse_toml(text)
    except ValueError as error:
        raise TableFault((), str(error)) from error
    for key in sorted(set(data) - {"programs", "environment"}):
        raise TableFault((key,), "this key is not known; write programs as [programs.NAME]")
    environment = _as_table(("environment",), data.get("environment", {}))
    harmless = environment.get("harmless", [])
    if set(environment) - {"harmless"} or not isinstance(harmless, list):
        raise TableFault(("environment",), "the only key allowed here is `harmless`, a list of names")
    tables: dict[str, Table] = {}
    for name, table in _as_table(("programs",), data.get("programs", {})).items():
        tables[name] = _as_table(("programs", name), table)
        inner = tables[name].get("subcommands")
        for word, own in inner.items() if isinstance(inner, dict) else ():
            tables[f"{name} {word}"] = _as_table(("programs", name, "subcommands", word), own)
    return tables, tuple(str(name) for name in harmless)


def _as_table(keys: tuple[str, ...], value: object) -> Table:
    if not isinstance(value, dict):
        raise TableFault(keys, "this must be a table")
    return value


def keys_of(name: str) -> tuple[str, ...]:
    """Return the TOML keys of a program's entry in a user's file.

    Example: "git log" gives ("programs", "git", "subcommands", "log").
    """
    program, blank, subcommand = name.partition(" ")
    return ("programs", program, "subcommands", subcommand) if blank else ("programs", program)


def _locate(name: str, faults: Iterable[TableFault]) -> Iterator[TableFault]:
    return (TableFault((*keys_of(name), *fault.keys), fault.reason) for fault in faults)


def _read_caution(name: str, table: Table) -> tuple[frozenset[Effect], list[TableFault]]:
    """Return the effects that the table adds to a known program, and the table's faults."""
    reason = "this key is not allowed: for a known program, a table can only add effects"
    more = [TableFault((key,), reason) for key in sorted(set(table) - _CAUTIOUS_KEYS)]
    program, faults = validate({"about": name, "effects": table.get("effects", [])})
    return frozenset() if program is None else program.effects, [*more, *faults]


@cache
def _read_file(name: str) -> tuple[Table, str] | None:
    program, _, subcommand = name.partition(" ")
    program = _FILE_NAMES.get(program, program)
    folder, file = (f"{program}/", f"{subcommand}.toml") if subcommand else ("", f"{program}.toml")
    if file not in _file_names(folder):
        return None
    place = f"{folder}{file}"
    try:
        return tomllib.loads((PROGRAMS / place).read_text(encoding="utf-8")), f"programs/{place}"
    except tomllib.TOMLDecodeError as error:
        raise TableFault((), f"programs/{place} is not valid TOML: {error}") from error


@cache
def _file_names(folder: str) -> frozenset[str]:
    """Return the file names in a folder of the product's catalog, with their exact letter case."""
    # Opening a file cannot check a name: on a case-insensitive file system, opening `GIT.toml` opens `git.toml`.
    known = not folder or folder.rstrip("/") in _file_names("")
    return frozenset(file.name for file in (PROGRAMS / folder).iterdir()) if known else frozenset()
