"""Which plugins there are and where they lie, without importing any.

Invariant: the order is fixed: bundled, entry points, user, project, `--plugin-dir`; within one place by name.
A project's own folder is never looked at: `project` is a copy of what was trusted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.errors import PluginError
from tui_agent.plugin_host.manifest import MANIFEST, read_manifest, usable_name

Source: TypeAlias = Literal["bundled", "user", "project", "entry_point", "option"]

ENTRY_POINTS = "tui_agent.plugins"


@dataclass(frozen=True, slots=True)
class PluginPlaces:
    """Where to look. `project` holds the plugins of the project as they were trusted; None where it is not."""

    bundled: Path | None = None
    user: Path | None = None
    project: Path | None = None
    extra: tuple[Path, ...] = field(default=())
    entry_points: bool = True
    only_bundled: bool = False
    notes: Path | None = None
    """Where this project's notes lie; None where there is no project, as in a check."""


@dataclass(frozen=True, slots=True)
class Found:
    """One plugin, not yet imported. `path` is its folder or its one file; `entry` names an installed module."""

    name: str
    source: Source
    path: Path | None = None
    entry: str = ""
    version: str = ""
    api: int | None = None
    description: str = ""
    fault: str = ""
    """Why it cannot be loaded, already known without importing it."""


def discover(places: PluginPlaces) -> list[Found]:
    """Every plugin in load order. The same name twice stays twice: the loader refuses the later one."""
    found = list(_in_folder(places.bundled, "bundled"))
    if places.only_bundled:
        return found
    if places.entry_points:
        found += _installed()
    found += _in_folder(places.user, "user")
    found += _in_folder(places.project, "project")
    for folder in places.extra:
        found += _given(folder)
    return found


def found_at(path: Path, source: Source) -> Found:
    """The plugin in this folder or file, with what its manifest says."""
    if path.is_file():
        return _named(Found(path.stem, source, path))
    try:
        manifest = read_manifest(path, path.name)
    except PluginError as error:
        return Found(path.name, source, path, fault=str(error))
    if not (path / "__init__.py").is_file():
        return Found(
            manifest.name, source, path, fault=f"{path} has no __init__.py with a function register."
        )
    return _named(
        Found(
            manifest.name,
            source,
            path,
            version=manifest.version,
            api=manifest.api,
            description=manifest.description,
        )
    )


def _named(found: Found) -> Found:
    if usable_name(found.name):
        return found
    fault = f"The name {found.name!r} is not usable: small letters, digits and _, beginning with a letter."
    return Found(found.name, found.source, found.path, found.entry, fault=fault)


def _is_plugin(path: Path) -> bool:
    if path.name.startswith((".", "_")):
        return False
    if path.is_dir():
        return (path / "__init__.py").is_file() or (path / MANIFEST).is_file()
    return path.suffix == ".py" and path.is_file()


def _in_folder(folder: Path | None, source: Source) -> Iterator[Found]:
    if folder is None:
        return
    try:
        entries = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        yield Found(folder.name, source, folder, fault=f"{folder} cannot be listed: {error.strerror}.")
        return
    for path in entries:
        if _is_plugin(path):
            yield found_at(path, source)


def _given(folder: Path) -> list[Found]:
    """`--plugin-dir` names one plugin or a folder of plugins."""
    if not folder.exists():
        return [Found(folder.name, "option", folder, fault=f"{folder} does not exist.")]
    if _is_plugin(folder):
        return [found_at(folder, "option")]
    return list(_in_folder(folder, "option"))


def _installed() -> list[Found]:
    entries = sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return [
        _named(
            Found(
                entry.name,
                "entry_point",
                entry=entry.value,
                version=entry.dist.version if entry.dist is not None else "",
            )
        )
        for entry in entries
    ]
