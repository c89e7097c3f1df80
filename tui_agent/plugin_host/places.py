"""The folders where a session finds its plugins, and the plugin of each pane.

Invariant: a project's plugins are found only as a copy of the files that the user trusted.
"""

from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.extensions.note_files import notes_folder
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.settings import Config
from tui_agent.fast_dataclass import dataclass
from tui_agent.plugin_host.bundled import bundled_folder
from tui_agent.plugin_host.copies import copy_plugins
from tui_agent.plugin_host.discover import PluginPlaces, discover, is_plugin_on

PROJECT_PLUGINS = f"{PROJECT_FOLDER}/plugins"


def plugin_places(config: Config, options: SessionOptions) -> PluginPlaces:
    """Return the places to search for plugins."""
    paths = config.paths
    return PluginPlaces(
        bundled=bundled_folder("plugins"),
        user=paths.config_dir / "plugins",
        project=copy_plugins(config.project, PROJECT_PLUGINS, paths.trusted_copies),
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
