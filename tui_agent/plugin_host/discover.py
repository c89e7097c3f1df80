"""Discovery of plugins without importing them.

Invariant: a project's own folder is never read, only a copy of its trusted files.
"""

import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tui_agent.errors import PluginError
from tui_agent.fast_dataclass import dataclass

if TYPE_CHECKING:
    from tui_agent.config.settings.settings import Config

Source: TypeAlias = Literal["bundled", "user", "project", "entry_point", "option"]
ENTRY_POINTS = "tui_agent.plugins"
MANIFEST = "plugin.toml"
FOLDS = "folds.py"
"""Name of the file with a plugin's panes and their folds. The folds compute the panes' data."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_KNOWN = frozenset({"name", "version", "api", "description", "enabled", "themes", "panes"})


def is_valid_name(name: str) -> bool:
    """Return True for at most 40 lower-case letters, digits and `_`, starting with a letter."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class PluginPlaces:
    """The folders to search for plugins, and the settings, keys and notes folder that the plugins get.

    `project`: folder with a copy of the project's trusted plugins, or None.
    """

    bundled: Path | None = None
    user: Path | None = None
    project: Path | None = None
    extra: tuple[Path, ...] = field(default=())
    entry_points: bool = True
    only_bundled: bool = False
    notes: Path | None = None
    """The folder with notes on the project, or None if there is no project."""
    config: "Config | None" = None
    """The configuration with the settings of the plugins. None if a plugin is only checked."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Maps the name of a variable, such as `ACME_API_KEY`, to the user's key."""


@dataclass(frozen=True, slots=True)
class FoundPlugin:
    """A plugin that was found but not imported.

    - `path`: the plugin's folder or file.
    - `entry`: the module to import, if an installed package provides the plugin; otherwise empty.
    """

    name: str
    source: Source
    path: Path | None = None
    entry: str = ""
    version: str = ""
    api: int | None = None
    description: str = ""
    enabled: bool = True
    """False if the plugin is off until the user enables it."""
    themes: tuple[str, ...] = ()
    """The plugin's theme files, or folders of theme files, relative to its folder."""
    panes: tuple[str, ...] = ()
    """The names of the plugin's panes, which are functions in its `folds.py`."""
    fault: str = ""
    """Why the plugin cannot be loaded, if this is known before the import."""

    @property
    def has_no_code(self) -> bool:
        """True if the plugin has themes or panes, but nothing that the engine imports."""
        offers = bool(self.themes or self.panes)
        return offers and self.path is not None and not (self.path / "__init__.py").is_file()


def is_plugin_on(plugin: FoundPlugin, disabled: Collection[str], enabled: Collection[str]) -> bool:
    """Return True if a plugin is used.

    `disabled`, `enabled`: names of plugins that the user turned off or on.
    """
    return plugin.name not in disabled and (plugin.enabled or plugin.name in enabled)


def discover(places: PluginPlaces) -> list[FoundPlugin]:
    """Return every plugin in the order of loading. Of several plugins with the same name, the first is loaded."""
    plugins = list(_plugins_in(places.bundled, "bundled"))
    if places.only_bundled:
        return plugins
    if places.entry_points:
        plugins += _installed_plugins(tuple(sys.path))
    plugins += _plugins_in(places.user, "user")
    plugins += _plugins_in(places.project, "project")
    for folder in places.extra:
        plugins += plugins_at(folder)
    return plugins


def plugin_at(path: Path, source: Source) -> FoundPlugin:
    """Return the plugin in a folder or file, with the data in its manifest."""
    if path.is_file():
        return _check_name(FoundPlugin(path.stem, source, path))
    try:
        plugin = FoundPlugin(**{"name": path.name, **_read_manifest(path)}, source=source, path=path)
    except PluginError as error:
        return FoundPlugin(path.name, source, path, fault=str(error))
    if not (path / "__init__.py").is_file() and not plugin.has_no_code:
        fault = f"{path} has no `__init__.py` that defines `register`."
        return FoundPlugin(plugin.name, source, path, fault=fault)
    if plugin.panes and not (path / FOLDS).is_file():
        return FoundPlugin(plugin.name, source, path, fault=f"{path} has panes but no {FOLDS}.")
    return _check_name(plugin)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            fields = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PluginError(f"{path} cannot be read: {error}.") from error
    unknown = sorted(set(fields) - _KNOWN)
    if unknown:
        raise PluginError(f"{path} has unknown fields: {', '.join(unknown)}.")
    if "api" in fields and type(fields["api"]) is not int:
        raise PluginError(f"{path}: api must be a whole number.")
    for key in ("name", "version", "description"):
        if not isinstance(fields.get(key, ""), str):
            raise PluginError(f"{path}: {key} must be text.")
    if type(fields.get("enabled", True)) is not bool:
        raise PluginError(f"{path}: enabled must be true or false.")
    themes = fields.get("themes", [])
    if not isinstance(themes, list) or not all(map(_is_inside, themes)):
        raise PluginError(f"{path}: themes must list files or folders inside the plugin's folder.")
    panes = fields.get("panes", [])
    if not isinstance(panes, list) or not all(
        isinstance(pane, str) and is_valid_name(pane) for pane in panes
    ):
        raise PluginError(f"{path}: panes must list names of functions in {FOLDS}.")
    return fields | {"themes": tuple(themes), "panes": tuple(panes)}


def _is_inside(name: object) -> bool:
    return isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts


def theme_files(
    folders: Iterable[Path], disabled: Collection[str] = (), enabled: Collection[str] = ()
) -> list[tuple[str, Path]]:
    """Return (plugin's name, theme file) for each theme file of the plugins in these folders."""
    plugins = [plugin for folder in folders if folder.is_dir() for plugin in plugins_at(folder)]
    return [
        file
        for plugin in plugins
        if is_plugin_on(plugin, disabled, enabled)
        for file in plugin_theme_files(plugin)
    ]


def plugin_theme_files(plugin: FoundPlugin) -> list[tuple[str, Path]]:
    """Return a plugin's theme files, each with the plugin's name."""
    paths = [] if plugin.path is None else [plugin.path / name for name in plugin.themes]
    return [
        (plugin.name, file)
        for path in paths
        for file in (sorted(path.glob("*.toml")) if path.is_dir() else [path])
    ]


def _check_name(plugin: FoundPlugin) -> FoundPlugin:
    if is_valid_name(plugin.name):
        return plugin
    fault = f"The name {plugin.name!r} is not valid. Use lower-case letters, digits and _, starting with a letter."
    return FoundPlugin(plugin.name, plugin.source, plugin.path, plugin.entry, fault=fault)


def _is_plugin(path: Path) -> bool:
    if path.name.startswith((".", "_", "test_")) or path.name in ("conftest.py", "tests"):
        return False
    if path.is_dir():
        return (path / "__init__.py").is_file() or (path / MANIFEST).is_file()
    return path.suffix == ".py" and path.is_file()


def _plugins_in(folder: Path | None, source: Source) -> Iterator[FoundPlugin]:
    if folder is None:
        return
    try:
        entries = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        yield FoundPlugin(folder.name, source, folder, fault=f"{folder} is neither a folder nor a .py file.")
        return
    except OSError as error:
        yield FoundPlugin(folder.name, source, folder, fault=f"{folder} cannot be listed: {error.strerror}.")
        return
    for path in entries:
        if _is_plugin(path):
            yield plugin_at(path, source)


def plugins_at(folder: Path) -> list[FoundPlugin]:
    """Return the plugins in `folder`, or only `folder` itself if it is a plugin.

    In the second case, the plugin is enabled even if its manifest says `enabled = false`.
    """
    if not folder.exists():
        return [FoundPlugin(folder.name, "option", folder, fault=f"{folder} was not found.")]
    if _is_plugin(folder):
        return [replace(plugin_at(folder, "option"), enabled=True)]
    return list(_plugins_in(folder, "option"))


@lru_cache(maxsize=1)
def _installed_plugins(_search_path: tuple[str, ...]) -> tuple[FoundPlugin, ...]:
    """Return the plugins that installed packages register as entry points."""
    # The result is cached, because Python cannot reliably import a distribution that is installed later.
    entries = sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return tuple(
        _check_name(
            FoundPlugin(
                entry.name,
                "entry_point",
                entry=entry.value,
                version=entry.dist.version if entry.dist is not None else "",
            )
        )
        for entry in entries
    )
