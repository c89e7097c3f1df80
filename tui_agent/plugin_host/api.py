"""What a plugin's `register` is given: it books every offer under the plugin's name.

Invariant: nothing reaches the session from here; the loader takes the offers over once `register` has returned.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel

from tui_agent.config.vendors import CLIENTS, VENDORS
from tui_agent.errors import PluginError
from tui_agent.plugin_host.offers import (
    AnyTool,
    LazyRef,
    OfferedAgent,
    OfferedAsked,
    OfferedEnvironment,
    OfferedHook,
    OfferedLanguage,
    OfferedMiddleware,
    OfferedModel,
    OfferedPolicyTable,
    OfferedTheme,
    OfferedTool,
    Offers,
)
from tui_agent.ports.agent import Agent
from tui_agent.ports.environment import Environment
from tui_agent.ports.hook import HOOK_EVENTS
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.model import ModelClient
from tui_agent.ports.repomap import MapLanguage
from tui_agent.ports.tool import Tool, ToolSpec
from tui_agent.protocol.settings import ModelInfo

ArgsT = TypeVar("ArgsT", bound=BaseModel)

_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_EVENT = re.compile(r"[a-z]+(\.[a-z_]+)?|\*")


class OwnedApi:
    """`PluginApi` for one plugin. `taken` maps `"kind:name"` to the plugin that owns the name already."""

    def __init__(
        self, plugin: str, folder: Path | None, taken: Mapping[str, str], notes: Path | None = None
    ) -> None:
        self._notes = notes
        self._plugin = plugin
        self._folder = folder
        self._taken = taken
        self._open = True
        self.offers = Offers()
        self.names: list[str] = []

    @property
    def plugin(self) -> str:
        """The registering plugin's name."""
        return self._plugin

    @property
    def notes_folder(self) -> Path | None:
        """Where this project's notes lie."""
        return self._notes

    def close(self) -> None:
        """From here on a registration raises: `register` has returned."""
        self._open = False

    def tool(self, tool: Tool[ArgsT]) -> None:
        """Offer a tool to agents."""
        spec = getattr(tool, "spec", None)
        if not isinstance(spec, ToolSpec):
            raise PluginError(f"{type(tool).__name__} of {self._plugin} has no `spec` of type ToolSpec.")
        for method in ("target", "effects", "preview", "run"):
            if not callable(getattr(tool, method, None)):
                raise PluginError(f"The tool {spec.name} of {self._plugin} has no method `{method}`.")
        self._book("tool", spec.name)
        self.offers.tools.append(OfferedTool(self._plugin, cast(AnyTool, tool)))

    def middleware(self, middleware: Middleware, *, order: int = 500) -> None:
        """Put a middleware into the chain; lower `order` is further out."""
        self._book("middleware", middleware.name)
        self.offers.middlewares.append(OfferedMiddleware(self._plugin, order, middleware))

    def agent(self, name: str, make: Callable[[], Agent], *, description: str = "") -> None:
        """Offer an agent of the hub."""
        self._book("agent", name)
        self.offers.agents.append(OfferedAgent(self._plugin, name, _callable(make, name), description))

    def model(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """Offer a provider, whose models are then `provider/model`. Raises `PluginError` where the name is taken."""
        self._book("model", provider)
        if provider in CLIENTS or provider in VENDORS:
            raise PluginError(
                f"The model provider {provider} of {self._plugin} is a built-in one.",
                hint="Give it another name.",
            )
        self.offers.models.append(OfferedModel(self._plugin, provider, _callable(make, provider)))

    def environment(self, name: str, make: Callable[[str], Environment]) -> None:
        """Offer an environment."""
        self._book("environment", name)
        self.offers.environments.append(OfferedEnvironment(self._plugin, name, _callable(make, name)))

    def command(self, name: str, target: str, *, help: str) -> None:
        """Offer a slash command, `target` as `"module:name"`."""
        self._book("command", name)
        self.offers.commands.append(LazyRef(self._plugin, name, _target(target), help))

    def pane(self, name: str, target: str, *, title: str) -> None:
        """Offer a pane, `target` as `"module:name"` of a widget class in the plugin's `tui/` folder."""
        self._book("pane", name)
        self.offers.panes.append(LazyRef(self._plugin, name, _target(target), title))

    def projection(self, name: str, target: str) -> None:
        """Offer a fold, `target` as `"module:name"` of a class without arguments."""
        self._book("projection", name)
        self.offers.projections.append(LazyRef(self._plugin, name, _target(target)))

    def theme(self, path: str) -> None:
        """Offer a theme file; a relative path is taken from the plugin's folder."""
        given = Path(path)
        full = given if given.is_absolute() or self._folder is None else self._folder / given
        if not full.is_file():
            raise PluginError(f"The theme {path} of {self._plugin} is not a file.")
        self._book("theme", full.stem)
        self.offers.themes.append(OfferedTheme(self._plugin, full))

    def policy_table(self, path: str) -> None:
        """Offer a table of programs; a relative path is taken from the plugin's folder."""
        given = Path(path)
        full = given if given.is_absolute() or self._folder is None else self._folder / given
        try:
            text = full.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PluginError(
                f"The table of programs {path} of {self._plugin} cannot be read: {error}."
            ) from error
        self._check_open()
        self.offers.policy_tables.append(OfferedPolicyTable(self._plugin, full, text))
        self.names.append(f"policy_table:{full.name}")

    def language(
        self,
        name: str,
        suffixes: Sequence[str],
        *,
        patterns: Sequence[tuple[str, str]] = (),
        grammar: str = "",
        query: str = "",
    ) -> None:
        """Teach the repository map a language. Raises `PluginError` for what cannot be used."""
        who = f"The language {name} of {self._plugin}"
        if not suffixes or any(not suffix or set("./\\") & set(suffix) for suffix in suffixes):
            raise PluginError(
                f"{who} has no suffixes that can be used: {', '.join(suffixes)}.", hint="Leave the dot out."
            )
        if not patterns and not grammar:
            raise PluginError(f"{who} has neither patterns nor a grammar.")
        if bool(grammar) != bool(query):
            raise PluginError(f"{who} has a grammar without a query, or a query without a grammar.")
        for kind, text in patterns:
            _check_pattern(who, kind, text)
        self._book("language", name)
        one = MapLanguage(
            name,
            tuple(suffixes),
            tuple((kind, text) for kind, text in patterns),
            _target(grammar) if grammar else "",
            query,
        )
        self.offers.languages.append(OfferedLanguage(self._plugin, one))

    def hook(self, event: str, target: Callable[..., object]) -> None:
        """Be told of an event kind after it is stored (`"*"`: of every kind); or be asked at a hook's event."""
        point = next((one for one in HOOK_EVENTS if one == event), None)
        if point is None and not _EVENT.fullmatch(event):
            raise PluginError(
                f"{event!r} is no event kind, which looks like `tool.finished`, and no hook's event.",
                hint=f"Hooks are asked at: {', '.join(HOOK_EVENTS)}.",
            )
        self._check_open()
        if point is None:
            self.offers.hooks.append(OfferedHook(self._plugin, event, _callable(target, event)))
        elif not inspect.iscoroutinefunction(target):
            raise PluginError(f"What {self._plugin} registers for {event} is no `async def` function.")
        else:
            self.offers.asked.append(OfferedAsked(self._plugin, point, target))
        self.names.append(f"hook:{event}")

    def _check_open(self) -> None:
        if not self._open:
            raise PluginError(f"{self._plugin} registers after its register() has returned.")

    def _book(self, kind: str, name: str) -> None:
        self._check_open()
        if not _WORD.fullmatch(name):
            raise PluginError(
                f"The {kind} name {name!r} of {self._plugin} is not usable: letters, digits, _ and -."
            )
        key = f"{kind}:{name}"
        owner = self._plugin if key in self.names else self._taken.get(key)
        if owner is not None:
            raise PluginError(
                f"The {kind} {name} of {self._plugin} is already offered by {owner}.",
                hint="Choose another name, or disable one of the two.",
            )
        self.names.append(key)


CallT = TypeVar("CallT", bound=Callable[..., object])


def _callable(make: CallT, name: str) -> CallT:
    if not callable(make):
        raise PluginError(f"What is registered for {name!r} cannot be called.")
    return make


def _check_pattern(who: str, kind: str, text: str) -> None:
    try:
        groups = re.compile(text.encode(), re.MULTILINE).groupindex
    except re.error as error:
        raise PluginError(f"{who}: the pattern {text!r} cannot be read: {error}.") from error
    if "name" not in groups or not _WORD.fullmatch(kind):
        raise PluginError(f"{who}: the pattern {text!r} of kind {kind!r} has no group `name`, or no kind.")


def _target(target: str) -> str:
    if not _TARGET.fullmatch(target):
        raise PluginError(f'{target!r} is no reference; one looks like "tui.pane:NotesPane".')
    return target
