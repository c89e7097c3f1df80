"""Loading of plugins, with one event per plugin for the session's log.

Invariant: a plugin is in `LoadedPlugins` completely or not at all.
"""

import inspect
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import field
from functools import partial
from pathlib import Path
from types import ModuleType

from tui_agent import __version__
from tui_agent.errors import PluginError
from tui_agent.fast_dataclass import dataclass
from tui_agent.plugin_api import API_VERSION
from tui_agent.plugin_functions import DECORATED
from tui_agent.plugin_host.discover import FoundPlugin, PluginPlaces, discover, is_plugin_on
from tui_agent.plugin_host.error_text import describe_plugin_error, locate_plugin_error
from tui_agent.plugin_host.load_records import TOOK_TOO_LONG, LoadRecords, PluginLeftOut
from tui_agent.plugin_host.parallel_calls import Outcome, TimeLimitReached, run_side_by_side
from tui_agent.plugin_host.plugin_imports import (
    files_state,
    import_entry,
    import_from,
    restore_modules,
    take_modules,
    unload_modules,
)
from tui_agent.plugin_host.registered_objects import Offers
from tui_agent.plugin_host.registration import OwnedApi
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.units import format_time_limit

LOAD_LIMIT_S = 10.0
TRY_AGAIN = "To try again: /reload, or tui-agent plugins enable {}."
STAYS_IN_USE = "The previous version stays in use."


@dataclass(slots=True)
class LoadedPlugins(Offers):
    """Everything that plugins registered, and one event per plugin that was loaded or failed."""

    events: list[PluginLoaded | PluginFailed | PluginUnloaded] = field(default_factory=list)

    @property
    def loaded(self) -> list[str]:
        """Names of the plugins that were loaded."""
        return [event.plugin for event in self.events if isinstance(event, PluginLoaded)]

    @property
    def failed(self) -> list[PluginFailed]:
        """The `plugin.failed` events of the plugins that could not be loaded, with the reasons."""
        return [event for event in self.events if isinstance(event, PluginFailed)]


@dataclass(frozen=True, slots=True)
class _Registration:
    """A plugin's registered objects, and the plugin's own version (empty if unknown)."""

    api: OwnedApi
    version: str


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt to load a plugin: its outcome, and the state of the plugin's files at the attempt."""

    plugin: FoundPlugin
    files: str
    outcome: Outcome[_Registration]
    replaced_modules: Mapping[str, ModuleType]
    """The modules of the plugin's previously loaded version: name → module."""


class PluginHost:
    """Loads the plugins of one process, all at the same time.

    - `disabled`: plugins that are listed but not imported.
    - `enabled`: plugins to import although they are off by default.
    - `limit`: time limit for all plugins together, in seconds. Bundled plugins have no time limit.
    - `records`: folder for records of failed loads (see `LoadRecords`). A plugin that ended the program or took
      too long is left out until its files change, or until the user lets tui-agent try it again.
    """

    def __init__(
        self,
        places: PluginPlaces,
        disabled: Collection[str] = (),
        enabled: Collection[str] = (),
        *,
        limit: float = LOAD_LIMIT_S,
        records: Path | None = None,
    ) -> None:
        self.configure(places, disabled, enabled)
        self._records = LoadRecords(records)
        self._limit = limit
        self._attempts: dict[str, _Attempt] = {}
        """Maps a plugin's location to the last attempt to load the plugin."""
        self._in_use: dict[str, _Attempt] = {}
        """Maps a plugin's name to the attempt that loaded the version in use now."""
        self._events: dict[str, PluginLoaded | PluginFailed] = {}
        """Maps a plugin's location to the last event about the plugin."""
        self._is_loaded = False

    def configure(self, places: PluginPlaces, disabled: Collection[str], enabled: Collection[str]) -> None:
        """Set which plugins the next `load` loads."""
        self._places = places
        self._disabled, self._enabled = frozenset(disabled), frozenset(enabled)

    def list_plugins(self) -> list[FoundPlugin]:
        """Return every plugin in the order of loading, including disabled plugins, without importing any."""
        return discover(self._places)

    def is_enabled(self, plugin: FoundPlugin) -> bool:
        """Return True if `load` would import the plugin."""
        return is_plugin_on(plugin, self._disabled, self._enabled)

    def find_left_out_reason(self, plugin: FoundPlugin) -> str:
        """Return why `load` leaves out the plugin, or an empty string."""
        return self._records.find_reason(plugin.name, files_state(plugin.path))

    def try_left_out(self) -> None:
        """Let the next `load` load the plugins that are left out because an earlier load failed."""
        for plugin in self.list_plugins():
            self._records.try_again(plugin.name)

    def try_loading(self, plugin: FoundPlugin) -> None:
        """Load one plugin and ignore the result and any error."""
        run_side_by_side([partial(self._register, plugin)], self._limit)

    def load(self) -> LoadedPlugins:
        """Load all enabled plugins. A later call reloads only plugins with changed files.

        The first result has an event for every plugin. A later result has events only for plugins that were loaded
        again, were unloaded, or have another outcome than before. If a changed plugin fails, its previous version
        stays in use.
        """
        enabled = [plugin for plugin in self.list_plugins() if self.is_enabled(plugin)]
        new = self._try_changed(enabled)
        before, self._in_use = self._in_use, {}
        events, self._events = self._events, {}
        loaded = LoadedPlugins()
        taken: dict[str, str] = {}
        for plugin in enabled:
            place = _location(plugin)
            event = self._accept(plugin, before.get(plugin.name), loaded, taken)
            self._events[place] = event
            if place in new or not _says_the_same(event, events.get(place)):
                loaded.events.append(event)
        for name in before.keys() - self._in_use.keys():
            unload_modules(name)
            if all(plugin.name != name for plugin in enabled):
                loaded.events.append(PluginUnloaded(plugin=name))
        self._attempts = {place: self._attempts[place] for place in self._events if place in self._attempts}
        self._is_loaded = True
        return loaded

    def _accept(
        self,
        plugin: FoundPlugin,
        before: _Attempt | None,
        loaded: LoadedPlugins,
        taken: dict[str, str],
    ) -> PluginLoaded | PluginFailed:
        """Add a plugin's objects to `loaded`, and return the plugin's event.

        If a new version fails, the previous version's objects are added.
        """
        place = _location(plugin)
        earlier = self._in_use.get(plugin.name)
        if earlier is not None:
            return _plugin_failure(
                plugin, f"Another plugin is already named {plugin.name}: {_location(earlier.plugin)}."
            )
        if plugin.fault:
            return _plugin_failure(plugin, plugin.fault)
        attempt = self._attempts[place]
        event = self._event(attempt, taken)
        if isinstance(event, PluginFailed):
            unload_modules(plugin.name)
            if before is None or before is attempt or _location(before.plugin) != place:
                return event
            restore_modules(attempt.replaced_modules)
            message = f"{event.message.rstrip('.')}. {STAYS_IN_USE}"
            event = event.model_copy(update={"message": message, "part": "new version"})
            attempt = before
        registration = attempt.outcome.value
        assert registration is not None
        self._in_use[plugin.name] = attempt
        names = (*registration.api.reserved, *_pane_names(attempt.plugin))
        taken.update((name, plugin.name) for name in names)
        loaded.add_all(registration.api.offers)
        return event

    def _event(self, attempt: _Attempt, taken: Mapping[str, str]) -> PluginLoaded | PluginFailed:
        plugin, outcome = attempt.plugin, attempt.outcome
        if outcome.value is None:
            error = outcome.error or PluginError("It returned nothing.")
            left_out = self._records.find_reason(plugin.name, attempt.files)
            if isinstance(error, TimeLimitReached) and not left_out:
                message = f"It was still loading after {format_time_limit(self._limit)}. Its import and its register() must be fast."
            elif isinstance(error, TimeLimitReached):
                message = f"{left_out} {TRY_AGAIN.format(plugin.name)}"
            else:
                message = describe_plugin_error(error)
            return _plugin_failure(plugin, message, locate_plugin_error(error, outcome.stack, plugin.path))
        api = outcome.value.api
        for name in (*api.reserved, *_pane_names(plugin)):
            if name in taken:
                hint = "Choose another name, or disable one of the two plugins."
                label = name.replace(":", " ")
                message = f"The {label} of {plugin.name} is already registered by {taken[name]}. {hint}"
                return _plugin_failure(plugin, message)
        return PluginLoaded(
            plugin=plugin.name,
            version=outcome.value.version,
            source=plugin.source,
            contributions=(
                *api.names,
                *_pane_names(plugin),
                *(f"theme:{Path(name).stem}" for name in plugin.themes),
            ),
            settings=tuple(api.settings),
            while_running=self._is_loaded,
        )

    def _try_changed(self, enabled: Sequence[FoundPlugin]) -> set[str]:
        """Import new and changed plugins, and return their locations."""
        names: set[str] = set()
        bundled: list[tuple[FoundPlugin, str]] = []
        external: list[tuple[FoundPlugin, str]] = []
        for plugin in enabled:
            last = self._attempts.get(_location(plugin))
            files = "" if plugin.source == "bundled" else files_state(plugin.path)
            is_changed = last is None or last.files != files or self._is_tried_again(last)
            if plugin.name not in names and not plugin.fault and is_changed:
                (bundled if plugin.source == "bundled" else external).append((plugin, files))
            names.add(plugin.name)
        if not bundled and not external:
            return set()
        # Taken out before the import, so that Python imports the changed files and not the modules that it knows.
        replaced = [take_modules(plugin.name) for plugin, _ in (*bundled, *external)]
        writes_bytecode = sys.dont_write_bytecode
        # Standard output can carry a protocol or the result of a command, which a plugin's prints must not disturb.
        with redirect_stdout(sys.stderr):
            outcomes = [Outcome(self._register(plugin)) for plugin, _ in bundled]
            sys.dont_write_bytecode = True  # do not write files into the user's folders
            try:
                functions = [partial(self._register_marked, plugin, files) for plugin, files in external]
                outcomes += run_side_by_side(functions, self._limit)
            finally:
                sys.dont_write_bytecode = writes_bytecode
        attempts = [
            _Attempt(plugin, files, outcome, modules)
            for (plugin, files), outcome, modules in zip(
                (*bundled, *external), outcomes, replaced, strict=True
            )
        ]
        took_too_long = TOOK_TOO_LONG.format(format_time_limit(self._limit))
        for attempt in attempts:
            if isinstance(attempt.outcome.error, TimeLimitReached):
                self._records.leave_out(attempt.plugin.name, attempt.files, took_too_long)
        new = {_location(attempt.plugin): attempt for attempt in attempts}
        self._attempts |= new
        return set(new)

    def _is_tried_again(self, last: _Attempt) -> bool:
        """Return True if the plugin was left out in the attempt `last`, but may now be loaded again."""
        was_left_out = isinstance(last.outcome.error, PluginLeftOut | TimeLimitReached)
        return was_left_out and not self._records.find_reason(last.plugin.name, last.files)

    def _register_marked(self, plugin: FoundPlugin, files: str) -> _Registration:
        # A suspect plugin is first tried in a child process; half of the time is left for the load itself.
        reason = self._records.check(plugin, files, self._limit / 2)
        if reason:
            raise PluginLeftOut(reason, hint=TRY_AGAIN.format(plugin.name))
        with self._records.mark(plugin.name, files):
            return self._register(plugin)

    def _register(self, plugin: FoundPlugin) -> _Registration:
        _check_version(plugin.api)
        if plugin.has_no_code:
            return _Registration(OwnedApi(plugin.name, plugin.path, self._places), plugin.version)
        module = import_entry(plugin.entry) if plugin.path is None else import_from(plugin.name, plugin.path)
        api_version = getattr(module, "PLUGIN_API", None)
        _check_version(api_version if isinstance(api_version, int) else None)
        name = plugin.entry.partition(":")[2].strip() or "register"
        register = getattr(module, name, None)
        # A copy: the thread that loads another plugin of the same package may add a submodule meanwhile.
        decorated = [item for item in list(vars(module).values()) if isinstance(item, DECORATED)]
        if not callable(register) and not decorated:
            raise PluginError(
                f"It has no function {name}(api), and no function with @tool, @hook or @command."
            )
        if inspect.iscoroutinefunction(register):
            raise PluginError(f"{name}(api) is `async def`; write `def {name}(api)`.")
        folder = plugin.path if plugin.path is None or plugin.path.is_dir() else plugin.path.parent
        api = OwnedApi(plugin.name, folder, self._places)
        try:
            for function in decorated:
                function.register(api)
            if callable(register):
                register(api)
        finally:
            api.close()
        version = plugin.version or str(getattr(module, "__version__", ""))
        return _Registration(api, version or (__version__ if plugin.source == "bundled" else ""))


def _pane_names(plugin: FoundPlugin) -> list[str]:
    return [f"pane:{name}" for name in plugin.panes]


def _says_the_same(event: PluginLoaded | PluginFailed, before: PluginLoaded | PluginFailed | None) -> bool:
    if isinstance(event, PluginLoaded):
        event = event.model_copy(update={"while_running": False})
    if isinstance(before, PluginLoaded):
        before = before.model_copy(update={"while_running": False})
    return event == before


def _check_version(api_version: int | None) -> None:
    if api_version is not None and api_version != API_VERSION:
        raise PluginError(
            f"It was written for version {api_version} of the plugin API; tui-agent has version {API_VERSION}.",
            hint="Install a newer version of the plugin."
            if api_version < API_VERSION
            else "Update tui-agent.",
        )


def _plugin_failure(plugin: FoundPlugin, message: str, where: str = "") -> PluginFailed:
    return PluginFailed(plugin=plugin.name, message=message, where=where or _location(plugin))


def _location(plugin: FoundPlugin) -> str:
    return str(plugin.path) if plugin.path is not None else f"entry point {plugin.entry}"
