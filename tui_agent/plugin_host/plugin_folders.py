"""The folders where a session finds its plugins, with private copies of a trusted project's plugins.

Invariant: a project's plugins are loaded only from a copy with exactly the bytes that the user trusted.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.extensions.note_files import notes_folder
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project.project_files import ProjectFiles
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.settings import Config
from tui_agent.errors import PluginError, os_errors_as
from tui_agent.fast_dataclass import dataclass
from tui_agent.plugin_host.bundled_files import bundled_folder
from tui_agent.plugin_host.discover import PluginPlaces, discover, is_plugin_on

PROJECT_PLUGINS = f"{PROJECT_FOLDER}/plugins"
CACHE_FOLDER = "__pycache__"


def plugin_places(config: Config, options: SessionOptions) -> PluginPlaces:
    """Return the places to search for plugins."""
    paths = config.paths
    return PluginPlaces(
        bundled=bundled_folder("plugins"),
        user=paths.config_dir / "plugins",
        project=copy_plugins(config.project, paths.trusted_copies),
        extra=tuple(dict.fromkeys((*config.plugin_dirs, *options.plugin_dirs))),
        only_bundled=options.no_plugins,
        notes=notes_folder(config),
        config=config,
    )


@dataclass(frozen=True, slots=True)
class PanePlace:
    """A pane's plugin, and the plugin's folder."""

    plugin: str
    folder: Path


def find_panes(options: SessionOptions, environ: Mapping[str, str]) -> dict[str, PanePlace]:
    """Map each pane's name to its plugin and folder, without importing a plugin. This function blocks.

    Raise `TuiAgentError` if the configuration is not valid.
    """
    config = load_config(options, environ)
    plugins: dict[str, tuple[PanePlace, tuple[str, ...]]] = {}
    for plugin in discover(plugin_places(config, options)):
        is_on = is_plugin_on(plugin, config.plugins_disabled, config.plugins_enabled)
        if plugin.path is not None and is_on:
            plugins.setdefault(plugin.name, (PanePlace(plugin.name, plugin.path), plugin.panes))
    panes: dict[str, PanePlace] = {}
    for place, names in plugins.values():
        panes = dict.fromkeys(names, place) | panes
    return panes


def copy_plugins(files: ProjectFiles | None, root: Path) -> Path | None:
    """Copy a project's trusted plugins to a folder under `root`, and return the copy's folder.

    `files`: the project's trusted files.

    Return None if no plugin of the project is trusted. Raise `PluginError` if the copy cannot be written.
    """
    if files is None:
        return None
    prefix = f"{PROJECT_PLUGINS}/"
    contents = {
        file.name.removeprefix(prefix): file.content for file in files.files if file.name.startswith(prefix)
    }
    if not contents:
        return None
    place = root / files.key
    with os_errors_as(
        PluginError,
        f"The trusted plugins cannot be copied to {place}",
        hint="Check the folder's permissions and space.",
    ):
        if _read_copy(place) != contents:
            _write_copy(place, contents)
    return place


def _read_copy(place: Path) -> dict[str, bytes] | None:
    """Return the files of a plugin's copy, except Python's caches. Return None if there is no valid copy."""
    if not place.is_dir() or place.is_symlink():
        return None
    contents: dict[str, bytes] = {}
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name != CACHE_FOLDER]
        for name in (*names, *folders):
            path = Path(folder, name)
            if path.is_symlink():
                return None
            if path.is_file():
                contents[path.relative_to(place).as_posix()] = path.read_bytes()
    return contents


def _write_copy(place: Path, contents: Mapping[str, bytes]) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        for name, content in contents.items():
            path = fresh / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            shutil.rmtree(place)
        fresh.rename(place)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
