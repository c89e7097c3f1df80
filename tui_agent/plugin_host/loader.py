"""Loading of plugins, with one event per plugin for the session's log.

Invariant: a plugin is in `LoadedPlugins` completely or not at all. Any exception it raises becomes `plugin.failed`, and
the other plugins are still loaded.
"""

import signal
import sys
import threading
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType

from tui_agent import __version__
from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.plugin_api import API_VERSION
from tui_agent.plugin_host.api import OwnedApi
from tui_agent.plugin_host.discover import FoundPlugin, PluginPlaces, discover
from tui_agent.plugin_host.modules import import_entry, import_from, unload_modules
from tui_agent.plugin_host.offers import Offers
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded

LOAD_LIMIT_S = 10.0
REPEAT_S = 0.2
"""Seconds between repeated interruptions, in case a plugin's code catches the first one."""


class LoadTimeout(BaseException):
    """Raised in a plugin's code after its time limit. A `BaseException`, so that `except Exception` does not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `LoadTimeout` in the `with` block when it has run for `seconds`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if armed:
            raise LoadTimeout

    previous = signal.signal(signal.SIGALRM, interrupt)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_S)
    try:
        try:
            yield
        finally:
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, remaining, interval)
        signal.signal(signal.SIGALRM, previous)


@dataclass(slots=True)
class LoadedPlugins(Offers):
    """Everything that plugins registered, and one event per plugin, in the order of loading."""

    events: list[PluginLoaded | PluginFailed] = field(default_factory=list)

    @property
    def loaded(self) -> list[str]:
        """Names of the plugins that were loaded."""
        return [event.plugin for event in self.events if isinstance(event, PluginLoaded)]

    @property
    def failed(self) -> list[PluginFailed]:
        """The `plugin.failed` events of the plugins that could not be loaded, with the reasons."""
        return [event for event in self.events if isinstance(event, PluginFailed)]


class PluginHost:
    """Loads the plugins of one process.

    `disabled` plugins are listed but not imported; `limit` is the load time per plugin in seconds.
    """

    def __init__(
        self, places: PluginPlaces, disabled: Collection[str] = (), *, limit: float = LOAD_LIMIT_S
    ) -> None:
        self._places = places
        self._disabled = frozenset(disabled)
        self._limit = limit
        self._taken: dict[str, str] = {}

    def list_plugins(self) -> list[FoundPlugin]:
        """Return every plugin in the order of loading, including disabled plugins, without importing any."""
        return discover(self._places)

    def is_enabled(self, name: str) -> bool:
        """Return True if `load` would import the plugin."""
        return name not in self._disabled

    def load(self) -> LoadedPlugins:
        """Import and register all enabled plugins. Call it once per process."""
        loaded = LoadedPlugins()
        owners: dict[str, FoundPlugin] = {}
        for found in self.list_plugins():
            if found.name in self._disabled:
                continue
            earlier = owners.setdefault(found.name, found)
            if earlier is not found:
                loaded.events.append(
                    _failed(found, f"Another plugin is already named {found.name}: {_location(earlier)}.")
                )
                continue
            offers, event = self._load_plugin(found)
            loaded.events.append(event)
            if offers is not None:
                loaded.add_all(offers)
        return loaded

    def _load_plugin(self, found: FoundPlugin) -> tuple[Offers | None, PluginLoaded | PluginFailed]:
        if found.fault:
            return None, _failed(found, found.fault)
        before = frozenset(sys.modules)
        try:
            with redirect_stdout(sys.stderr), time_limit(self._limit):
                module, api = self._register(found)
        except LoadTimeout as error:
            self._unload(found, before)
            message = (
                f"It was still loading after {self._limit:g} s. Its import and its register() must be fast."
            )
            return None, _failed(found, message, _error_location(error, found.path))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - supervises foreign code
            self._unload(found, before)
            return None, _failed(found, _describe(error), _error_location(error, found.path))
        self._taken.update((name, found.name) for name in api.names)
        version = found.version or str(getattr(module, "__version__", ""))
        if found.source == "bundled":
            version = version or __version__
        event = PluginLoaded(
            plugin=found.name, version=version, source=found.source, contributions=tuple(api.names)
        )
        return api.offers, event

    def _register(self, found: FoundPlugin) -> tuple[ModuleType, OwnedApi]:
        _check_version(found.api)
        module = import_entry(found.entry) if found.path is None else import_from(found.name, found.path)
        api_version = getattr(module, "PLUGIN_API", None)
        _check_version(api_version if isinstance(api_version, int) else None)
        name = found.entry.partition(":")[2].strip() or "register"
        register = getattr(module, name, None)
        if not callable(register):
            raise PluginError(f"It has no function {name}(api).")
        folder = found.path if found.path is None or found.path.is_dir() else found.path.parent
        api = OwnedApi(found.name, folder, self._taken, self._places.notes)
        try:
            register(api)
        finally:
            api.close()
        return module, api

    def _unload(self, found: FoundPlugin, before: frozenset[str]) -> None:
        if found.path is not None:
            unload_modules(found.name)
            return
        package = found.entry.partition(":")[0].strip()
        if package not in before:
            sys.modules.pop(package, None)


def _check_version(wanted: int | None) -> None:
    if wanted is not None and wanted != API_VERSION:
        raise PluginError(
            f"It was written for version {wanted} of the plugin API; this is version {API_VERSION}.",
            hint="Install a newer version of the plugin." if wanted < API_VERSION else "Update tui-agent.",
        )


def _failed(found: FoundPlugin, message: str, where: str = "") -> PluginFailed:
    return PluginFailed(plugin=found.name, message=message, where=where or _location(found))


def _location(found: FoundPlugin) -> str:
    return str(found.path) if found.path is not None else f"entry point {found.entry}"


def _describe(error: BaseException) -> str:
    if isinstance(error, TuiAgentError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"It needs the module {error.name}, which is not installed."
    text = " ".join(str(error).split())
    kind = "it ended the program" if isinstance(error, SystemExit) else type(error).__name__
    return f"{kind}: {text}" if text else kind


def _error_location(error: BaseException, path: Path | None) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 0}"
    place = ""
    root = None if path is None else str(path)
    for frame in traceback.extract_tb(error.__traceback__):
        if root is not None and frame.filename.startswith(root):
            place = f"{frame.filename}:{frame.lineno}"
    return place
