"""L3: the catalog: looks up what is known of a program, in the product's files and in tables that are added to them.

Invariant: a file is read when its program is first asked for; a user's entry stands in place of the product's, a plugin's
counts only for other programs, and what a project or plugin says of known ones only adds effects.
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.errors import ConfigError
from tui_agent.policy.catalog.entries import Entry, Table, TableFault, make_entry
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.catalog.variables import Variables
from tui_agent.policy.toml_text import parse_toml

PROGRAMS = Path(__file__).parent / "programs"
_FILE_NAMES = {".": "source", "[": "test", ":": "true"}
"""Programs whose names are no good names of files."""
_MAX_LIKES = 8
_CAUTIOUS_KEYS = frozenset({"effects", "subcommands", "why"})

Origin: TypeAlias = Literal["plugin", "user", "project"]


@dataclass(frozen=True, slots=True)
class Layer:
    """A table in addition to the product's. `source` names it in reasons: a file, or a plugin."""

    origin: Origin
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class _Shelf:
    """Tables by name ("git log"); `source` empty: the files of the product."""

    source: str
    tables: dict[str, Table]

    def table(self, name: str) -> tuple[Table, str] | None:
        """The table of an entry and its place."""
        if self.source:
            table = self.tables.get(name)
            return None if table is None else (table, f"{self.source}: programs.{name}")
        return _read_file(name)


class Catalog:
    """All that is known of programs. Immutable; raises `ConfigError` for a fault in a layer when it is made, `TableFault`
    for one in a file of the product when that is read."""

    def __init__(self, layers: Iterable[Layer] = ()) -> None:
        self._entries: dict[str, Entry | None] = {}
        self._cautions: dict[str, list[tuple[frozenset[Effect], str]]] = {}
        self._shelves = [_Shelf("", {})]
        self.variables = Variables.load()
        by_origin = sorted(layers, key=lambda layer: ("plugin", "user", "project").index(layer.origin))
        for layer in by_origin:
            try:
                self._add(layer)
            except TableFault as fault:
                raise ConfigError(f"{layer.source}: {fault}.") from fault

    def entry(self, name: str) -> Entry | None:
        """Return what is known of a program ("wc") or a subcommand by its whole name ("git log"), None if nothing is."""
        if name not in self._entries:
            found = self._resolve(name, self._shelves, _MAX_LIKES)
            self._entries[name] = None if found is None else self._with_cautions(found)
        return self._entries[name]

    def subcommand(self, entry: Entry, words: Sequence[str]) -> Entry | None:
        """Return the entry of the subcommand that the first word names, or the first two."""
        longest = 2 if entry.program.subcommands == "two" else 1
        for count in range(min(longest, len(words)), 0, -1):
            for program in entry.family:
                found = self.entry(f"{program} {' '.join(words[:count])}")
                if found is not None:
                    return found
        return None

    def variant(self, entry: Entry, name: str) -> Entry | None:
        """Return the entry of the same program's folder that an option of this one names ("branch --list")."""
        for member in entry.family:
            found = self.entry(f"{member.partition(' ')[0]} {name}")
            if found is not None:
                return found
        return None

    def _resolve(self, name: str, shelves: Sequence[_Shelf], likes: int) -> Entry | None:
        for place, shelf in enumerate(shelves):
            found = shelf.table(name)
            if found is None:
                continue
            table, source = found
            like = table.get("like")
            base = None
            if isinstance(like, str):
                if likes == 0:
                    raise TableFault((name, "like"), "it refers to itself")
                behind = shelves[place + 1 :] if like == name else self._shelves
                base = self._base(name, like, behind, likes - 1)
            return make_entry(name, source, own_keys(table), base)
        return None

    def _base(self, name: str, like: str, shelves: Sequence[_Shelf], likes: int) -> Entry:
        program, blank, _ = name.partition(" ")
        sibling = self._resolve(f"{program} {like}", shelves, likes) if blank else None
        found = sibling or self._resolve(like, shelves, likes)
        if found is None:
            raise TableFault(("like",), f'there is no program "{like}"')
        return found

    def _with_cautions(self, entry: Entry) -> Entry:
        program = entry.name.partition(" ")[0]
        cautions = [*self._cautions.get(entry.name, ())]
        if program != entry.name:
            cautions += self._cautions.get(program, ())
        for effects, source in cautions:
            known = entry.program.model_copy(update={"effects": entry.program.effects | effects})
            entry = replace(entry, program=known, place=f"{entry.place}, {source}")
        return entry

    def _add(self, layer: Layer) -> None:
        tables, harmless = read_tables(layer.text)
        if harmless and layer.origin != "user":
            raise TableFault(("environment",), "only your own file may call variables harmless")
        own = dict(tables)
        if layer.origin != "user":
            own = {}
            for name, table in tables.items():
                if layer.origin == "plugin" and self.entry(name.partition(" ")[0]) is None:
                    own[name] = table
                else:
                    self._cautions.setdefault(name, []).append((_cautious_effects(name, table), layer.source))
        shelf = _Shelf(layer.source, own)
        self._shelves = [*self._shelves, shelf] if layer.origin == "plugin" else [shelf, *self._shelves]
        self.variables = self.variables.with_harmless(harmless)
        self._entries.clear()
        for name in own:
            try:
                self.entry(name)
            except TableFault as fault:
                raise TableFault((*keys_of(name), *fault.keys), fault.reason) from fault


@cache
def built_in_catalog() -> Catalog:
    """Return the catalog of the product's files alone."""
    return Catalog()


def read_tables(text: str) -> tuple[dict[str, Table], tuple[str, ...]]:
    """Read a user's, plugin's or project's TOML: its tables by whole name ("git log"), and the variables that it calls
    harmless. Raises `TableFault`."""
    try:
        data = parse_toml(text)
    except ValueError as error:
        raise TableFault((), str(error)) from error
    for key in sorted(set(data) - {"programs", "environment"}):
        raise TableFault((key,), "this key is not known; programs stand in [programs.NAME]")
    environment = _as_table(("environment",), data.get("environment", {}))
    harmless = environment.get("harmless", [])
    if set(environment) - {"harmless"} or not isinstance(harmless, list):
        raise TableFault(("environment",), "it may only hold a list of names, harmless")
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
    """Return the keys under which an entry stands in a user's file."""
    program, blank, subcommand = name.partition(" ")
    return ("programs", program, "subcommands", subcommand) if blank else ("programs", program)


def own_keys(table: Table) -> Table:
    """A table with `subcommands` as a word, where they are tables below it."""
    inner = table.get("subcommands")
    if not isinstance(inner, dict):
        return table
    return {**table, "subcommands": "two" if any(" " in name for name in inner) else "one"}


def _cautious_effects(name: str, table: Table) -> frozenset[Effect]:
    keys = keys_of(name)
    for key in sorted(set(table) - _CAUTIOUS_KEYS):
        raise TableFault((*keys, key), "it could allow more; of a known program only effects can be added")
    try:
        return frozenset(Effect(effect) for effect in table.get("effects", ()))
    except (ValueError, TypeError) as error:
        raise TableFault((*keys, "effects"), str(error)) from error


@cache
def _read_file(name: str) -> tuple[Table, str] | None:
    program, blank, subcommand = name.partition(" ")
    program = _FILE_NAMES.get(program, program)
    folder = f"{program}/" if blank else ""
    if f"{subcommand if blank else program}.toml" not in _file_names(folder):
        return None
    place = f"{folder}{subcommand if blank else program}.toml"
    try:
        return tomllib.loads((PROGRAMS / place).read_text(encoding="utf-8")), f"programs/{place}"
    except tomllib.TOMLDecodeError as error:
        raise TableFault((), f"programs/{place} is not valid TOML: {error}") from error


@cache
def _file_names(folder: str) -> frozenset[str]:
    """The names in a folder of the product, read once: on some systems asking for `GIT.toml` would find `git.toml`."""
    path = PROGRAMS / folder
    known = not folder or folder.rstrip("/") in _file_names("")
    return frozenset(file.name for file in path.iterdir()) if known else frozenset()
