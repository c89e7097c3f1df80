"""L3: tables of programs besides the one that comes with the product: a plugin's, the user's, a trusted project's.

Invariant: a fault names its file and entry, and nothing of that file counts then. The user's entries stand in place of
the product's; a plugin's only for programs that the product does not know, else they only add caution; a project's only
ever add caution.

    [programs.deploy]              # programs.toml in the configuration folder
    does = "network"

    [programs.git]
    like = "git"                   # as it is, but for what follows
    keeps = 0

    [environment]
    safe = ["MY_PAGER_WIDTH"]      # the user's file only
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.errors import ConfigError
from tui_agent.policy.programs.stricter import KEYS, Extra
from tui_agent.policy.programs.table import Program, Raw, Table, check_entry, own_entries, programs, table

By: TypeAlias = Literal["plugin", "user", "project"]


@dataclass(frozen=True, slots=True)
class ProgramLayer:
    """One more table. `source` is how it is named in reasons and faults: a file, or a plugin."""

    by: By
    source: str
    text: str


def user_layer(path: Path) -> ProgramLayer | None:
    """The user's own table, None where there is none. Raises `ConfigError` where it cannot be read."""
    try:
        return ProgramLayer("user", str(path), path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The programs in {path} cannot be read: {error}.") from error


def merged(layers: Iterable[ProgramLayer]) -> Table:
    """The product's table with these on it; their order is that of caution, not the given one.

    Raises `ConfigError` with the layer's source and the entry.
    """
    by: dict[By, list[ProgramLayer]] = {"plugin": [], "user": [], "project": []}
    for layer in layers:
        by[layer.by].append(layer)
    own = table()
    known: dict[str, Program] = dict(own.programs)
    safe = own.safe_environment
    extras: dict[str, tuple[Extra, ...]] = {}
    for layer in by["plugin"]:
        entries, _ = _read(layer)
        new = {name: entry for name, entry in entries.items() if name not in known}
        _add(extras, layer, {name: entry for name, entry in entries.items() if name in known})
        known.update(_typed(layer, new))
    for layer in by["user"]:
        entries, more = _read(layer)
        known.update(_typed(layer, entries))
        safe |= more
        extras = {name: found for name, found in extras.items() if name.split()[0] not in entries}
    for layer in by["project"]:
        _add(extras, layer, _read(layer)[0])
    return Table(known, safe, extras, own.own_variables)


def _read(layer: ProgramLayer) -> tuple[Raw, frozenset[str]]:
    """The entries, and the variables that change nothing."""
    try:
        found = tomllib.loads(layer.text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{layer.source} is no TOML: {error}.") from error
    entries, environment = found.pop("programs", {}), found.pop("environment", {})
    if found or not isinstance(entries, dict) or not isinstance(environment, dict):
        raise ConfigError(
            f"{layer.source} has unknown keys: {', '.join(sorted(found)) or 'programs'}.",
            hint="Programs stand in [programs.NAME], variables in [environment].",
        )
    safe = environment.pop("safe", [])
    if environment or not isinstance(safe, list) or not all(isinstance(name, str) for name in safe):
        raise ConfigError(f"{layer.source}: [environment] holds one list of texts, safe.")
    if safe and layer.by != "user":
        raise ConfigError(f"{layer.source}: only the user's own file may call variables safe.")
    return entries, frozenset(safe)


def _typed(layer: ProgramLayer, entries: Raw) -> dict[str, Program]:
    try:
        return programs(entries, own_entries())
    except ValueError as error:
        raise ConfigError(f"{layer.source}: programs.{error}.") from error


def _add(extras: dict[str, tuple[Extra, ...]], layer: ProgramLayer, entries: Raw) -> None:
    for name, entry in entries.items():
        for key, extra in _extras(layer, name, entry):
            extras[key] = (*extras.get(key, ()), extra)


def _extras(layer: ProgramLayer, name: str, entry: object) -> Iterable[tuple[str, Extra]]:
    where = f"{layer.source}: programs.{name}"
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where} is no table.")
    loose = set(entry) - KEYS
    if loose or entry.get("keeps", 0) != 0 or entry.get("ruin", "always") != "always":
        whose = "A project" if layer.by == "project" else "A plugin"
        why = (
            f"{', '.join(sorted(loose))} could"
            if loose
            else "keeps other than 0 and ruin other than always could"
        )
        raise ConfigError(
            f"{where}: {why} make less of what is known of it. {whose} may only say {', '.join(sorted(KEYS))}.",
            hint="Write it into your own programs.toml.",
        )
    try:
        check_entry(name, entry)
    except ValueError as error:
        raise ConfigError(f"{layer.source}: programs.{error}.") from error
    yield (
        name,
        Extra(
            source=layer.source,
            classes=frozenset({entry["does"]} if "does" in entry else ()),
            turns=entry.get("turns", {}),
            downloads=entry.get("downloads", False),
            ruin="ruin" in entry,
            unkept="keeps" in entry,
        ),
    )
    for sub, inner in entry.get("subs", {}).items():
        yield from _extras(layer, f"{name} {sub}", inner)
