"""The check of one plugin by `plugins check`, before a session uses it.

Invariant: the plugin is loaded alone, as a session would load it, and unloaded afterwards.
"""

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.plugin_host.bundled_files import bundled_folder
from tui_agent.plugin_host.discover import PluginPlaces, discover, plugin_at, plugins_at
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.plugin_host.plugin_imports import unload_modules
from tui_agent.plugin_host.registered_objects import OfferedTool
from tui_agent.protocol.events.plugin import PluginLoaded

NAME_TAKEN = "{0} is the name of a bundled plugin, so a plugin of yours with this name is not loaded."
_DOOR = "tui_agent.plugin_api"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of the check of a plugin.

    `faults`: reasons why the plugin does not work.
    `notes`: advice.
    `offers`: registered objects, as in `plugin.loaded`.
    """

    name: str
    version: str
    offers: tuple[str, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if a session could use the plugin."""
        return not self.faults


ToolCheck: TypeAlias = Callable[[OfferedTool], tuple[Sequence[str], Sequence[str]]]
"""Function that tries a tool. Returns the tool's faults, and notes about the tool."""


def check_plugin(path: Path, try_tool: ToolCheck | None = None) -> CheckReport:
    """Load the plugin at `path` and check what it registers and imports. Loading runs the plugin's code.

    `try_tool`: called for each tool while the plugin is loaded.
    """
    path = path.absolute()
    if not path.exists():
        return CheckReport(path.name, "", (), (f"{path} was not found.",), ())
    names = [plugin.name for plugin in plugins_at(path)]
    if len(names) > 1:
        return CheckReport(
            path.name,
            "",
            (),
            (f"{path} has several plugins: {', '.join(names)}. Give the path of one of them.",),
            (),
        )
    plugin = plugin_at(path, "option")
    loaded = PluginHost(PluginPlaces(extra=(path,), entry_points=False)).load()
    faults = [event.message for event in loaded.failed]
    offers: tuple[str, ...] = ()
    version = plugin.version
    for event in loaded.events:
        if isinstance(event, PluginLoaded):
            offers, version = event.contributions, event.version
    if not loaded.events:
        faults.append(f"No plugin at {path}: it must be a folder with __init__.py, or one .py file.")
    if plugin.name in bundled_names() and path.parent != bundled_folder("plugins"):
        faults.append(NAME_TAKEN.format(plugin.name))
    faults += taken_names(plugin.name, offers)
    faults += _schema_faults(loaded)
    notes = _import_notes(path)
    for offer in loaded.tools:
        tool_faults, tool_notes = ((), ()) if try_tool is None else try_tool(offer)
        faults += tool_faults
        notes += tool_notes
    if not plugin.version and path.is_dir():
        notes.append("It has no version: add `version` to plugin.toml.")
    if not offers and not faults:
        notes.append("It registers nothing.")
    unload_modules(plugin.name)
    return CheckReport(plugin.name, version, offers, tuple(faults), tuple(notes))


def bundled_names() -> list[str]:
    """Return the names of all bundled plugins."""
    return [plugin.name for plugin in discover(_bundled_places())]


def _bundled_places() -> PluginPlaces:
    return PluginPlaces(bundled=bundled_folder("plugins"), only_bundled=True)


def taken_names(name: str, offers: Sequence[str]) -> list[str]:
    """Return a sentence for each item of `offers` that a bundled plugin also registers.

    `name`: the plugin that registers `offers`.
    """
    bundled = PluginHost(_bundled_places(), enabled=bundled_names()).load()
    taken = {
        offer: event.plugin
        for event in bundled.events
        if isinstance(event, PluginLoaded) and event.plugin != name
        for offer in event.contributions
        if not offer.startswith("hook:")
    }
    return [
        f"The {offer.replace(':', ' ')} is already registered by the bundled plugin {taken[offer]}."
        for offer in offers
        if offer in taken
    ]


def _schema_faults(loaded: LoadedPlugins) -> list[str]:
    faults = []
    for offer in loaded.tools:
        spec = offer.tool.spec
        if not spec.description.strip():
            faults.append(
                f"The tool {spec.name} has no description, so the model cannot know when to use it."
            )
        if not 0 < len(spec.verb) <= 9:
            faults.append(f"The verb {spec.verb!r} of the tool {spec.name} must have 1 to 9 characters.")
    return faults


def _import_notes(path: Path) -> list[str]:
    notes = []
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    for file in filter(Path.is_file, files):
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        imported = _imported_modules(tree)
        inner = [name for name in imported if name.split(".")[0] == "tui_agent" and name != _DOOR]
        notes += [f"{file.name} imports {name}; only {_DOOR} is stable for plugins." for name in inner]
        may_draw = not {path / "tui", path / "tests"}.isdisjoint(file.parents)
        if not may_draw and "textual" in {name.split(".")[0] for name in imported}:
            notes.append(
                f"{file.name} imports textual; only modules in the plugin's tui/ folder may do this."
            )
    return notes


def _imported_modules(tree: ast.AST) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inside = node.module == "tui_agent"
            names += [f"tui_agent.{alias.name}" for alias in node.names] if inside else [node.module]
    return names
