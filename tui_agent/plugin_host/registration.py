"""The object that a plugin's `register` function gets as its argument, and that records what the plugin registers.

Invariant: a session sees the registered things only after `register` has returned.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel

from tui_agent.config.extensions.plugin_settings import describe_settings, load_plugin_settings
from tui_agent.config.settings.environment_settings import ENVIRONMENTS
from tui_agent.config.settings.providers import CLIENTS, PROVIDERS
from tui_agent.errors import PluginError
from tui_agent.plugin_functions import FunctionOffer
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.registered_objects import (
    AnyTool,
    OfferedFactory,
    OfferedHook,
    OfferedLanguage,
    OfferedListener,
    OfferedMiddleware,
    OfferedPolicyTable,
    OfferedSlashCommand,
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
from tui_agent.protocol.events.plugin import SettingInfo
from tui_agent.protocol.events.slash_command import OfferedCommand
from tui_agent.protocol.events.union import KINDS
from tui_agent.protocol.secret_names import is_secret_variable
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.unicode_text import format_count

ArgsT = TypeVar("ArgsT", bound=BaseModel)
SettingsT = TypeVar("SettingsT", bound=BaseModel)
NO_PLACES: Final = PluginPlaces()

_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_EVENT = re.compile(r"[a-z]+(\.[a-z_]+)?|\*")


class OwnedApi:
    """`PluginApi` for one plugin with its files in `folder`."""

    def __init__(self, plugin: str, folder: Path | None, places: PluginPlaces = NO_PLACES) -> None:
        self.notes_folder = places.notes
        self._places = places
        self.plugin = plugin
        self._folder = folder
        self._open = True
        self.offers = Offers()
        self.names: list[str] = []
        """Everything that the plugin registered, as `"kind:name"`."""
        self.reserved: list[str] = []
        """The items of `names` that no other plugin can register."""
        self.settings: list[SettingInfo] = []
        """The plugin's settings and keys, as the screen shows them."""

    def close(self) -> None:
        """Make later registrations raise an error, because `register` has returned."""
        self._open = False

    def tool(self, tool: Tool[ArgsT]) -> None:
        """Register a tool for agents. Raise `PluginError` if the tool lacks a spec or a method."""
        spec = getattr(tool, "spec", None)
        if not isinstance(spec, ToolSpec):
            raise PluginError(f"{type(tool).__name__} of {self.plugin} has no `spec` of type ToolSpec.")
        for method in ("target", "effects", "preview", "run"):
            if not callable(getattr(tool, method, None)):
                raise PluginError(f"The tool {spec.name} of {self.plugin} has no method `{method}`.")
        self._reserve("tool", spec.name)
        self.offers.tools.append(OfferedTool(self.plugin, cast(AnyTool, tool)))

    def middleware(self, middleware: Middleware, *, order: int = 500) -> None:
        """Add a middleware, which wraps all middlewares with a higher `order`."""
        self._reserve("middleware", middleware.name)
        self.offers.middlewares.append(OfferedMiddleware(self.plugin, order, middleware))

    def agent(self, name: str, make: Callable[[], Agent], *, description: str = "") -> None:
        """Register an agent that users can choose."""
        self._reserve("agent", name)
        self.offers.agents.append(
            OfferedFactory(self.plugin, name, _require_callable(make, name), description)
        )

    def model(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """Register a provider of models, named `PROVIDER/MODEL`. Raise `PluginError` if the name is taken."""
        self._reserve("model", provider)
        if provider in CLIENTS or provider in PROVIDERS:
            raise PluginError(
                f"The model provider {provider} of {self.plugin} has the name of a built-in provider.",
                hint="Choose another name.",
            )
        self.offers.models.append(OfferedFactory(self.plugin, provider, _require_callable(make, provider)))

    def environment(self, name: str, make: Callable[[Path], Environment], *, description: str = "") -> None:
        """Register an environment for `--environment`. Raise `PluginError` if the name is taken.

        `make`: creates the environment for a workspace folder.
        """
        self._reserve("environment", name)
        if name in ENVIRONMENTS:
            raise PluginError(
                f"The environment {name} of {self.plugin} has the name of a built-in environment.",
                hint="Choose another name.",
            )
        offer = OfferedFactory(self.plugin, name, _require_callable(make, name), description)
        self.offers.environments.append(offer)

    def policy_table(self, path: str) -> None:
        """Register a file that describes programs for the policy.

        `path`: relative to the plugin's folder.
        """
        full = (self._folder or Path()) / path
        try:
            text = full.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PluginError(
                f"The table of programs {path} of {self.plugin} cannot be read: {error}."
            ) from error
        self._check_open()
        self.offers.policy_tables.append(OfferedPolicyTable(self.plugin, full, text))
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
        """Add a language to the repository map. Raise `PluginError` if the language cannot be used."""
        label = f"The language {name} of {self.plugin}"
        if not suffixes or any(not suffix or set("./\\") & set(suffix) for suffix in suffixes):
            raise PluginError(
                f"{label} has no usable suffixes: {', '.join(suffixes)}.", hint="Leave out the dot."
            )
        if not patterns and not grammar:
            raise PluginError(f"{label} has neither patterns nor a grammar.")
        if bool(grammar) != bool(query):
            raise PluginError(f"{label} has only one of grammar and query; it needs both.")
        for kind, text in patterns:
            _check_pattern(label, kind, text)
        self._reserve("language", name)
        language = MapLanguage(
            name,
            tuple(suffixes),
            tuple((kind, text) for kind, text in patterns),
            _require_target(grammar) if grammar else "",
            query,
        )
        self.offers.languages.append(OfferedLanguage(self.plugin, language))

    def hook(self, event: str, target: Callable[..., object]) -> None:
        """Register a function for a kind of event (`"*"`: every kind) or for a hook event.

        Raise `PluginError` if there is no such event or the function does not fit the event.
        """
        point = next((hook_event for hook_event in HOOK_EVENTS if hook_event == event), None)
        if point is None and not _EVENT.fullmatch(event):
            raise PluginError(
                f"{event!r} is neither an event kind such as `tool.finished` nor a hook event.",
                hint=f"Hook events: {', '.join(HOOK_EVENTS)}.",
            )
        self._check_open()
        if point is None and event not in ("*", *KINDS):
            raise PluginError(
                f"There is no event {event!r}.", hint="See docs/events.md for the kinds of events."
            )
        if point is None and inspect.iscoroutinefunction(target):
            raise PluginError(f"The listener for {event} is `async def`; write it as a plain function.")
        _require_parameters(target, 1, f"{self.plugin} registers for {event}")
        if point is None:
            self.offers.listeners.append(
                OfferedListener(self.plugin, event, _require_callable(target, event))
            )
        elif not inspect.iscoroutinefunction(target):
            raise PluginError(f"The function that {self.plugin} registers for {event} is not `async def`.")
        else:
            self.offers.hooks.append(OfferedHook(self.plugin, point, target))
        self.names.append(f"hook:{event}")

    def command(
        self,
        name: str,
        function: Callable[..., Awaitable[object]],
        *,
        help: str,
        arguments: str = "",
        complete: Callable[..., object] | None = None,
    ) -> None:
        """Register a slash command. Raise `PluginError` if the function is not `async`."""
        name = name.removeprefix("/")
        if not inspect.iscoroutinefunction(function):
            raise PluginError(f"The function of the command /{name} of {self.plugin} is not `async def`.")
        _require_parameters(function, 2, f"{self.plugin} registers for the command /{name}")
        self._reserve("command", name)
        completes = complete is not None and bool(_require_callable(complete, name))
        offer = OfferedCommand(name=name, help=help, arguments=arguments, completes=completes)
        self.offers.commands.append(OfferedSlashCommand(self.plugin, offer, function, complete))

    def oracle(self, name: str, function: Callable[..., Awaitable[object]]) -> None:
        """Register an oracle for evaluations. Raise `PluginError` if the function is not `async`."""
        self._evaluation_function("oracle", self.offers.oracles, name, function)

    def verifier(self, name: str, function: Callable[..., Awaitable[object]]) -> None:
        """Register a verifier for evaluations. Raise `PluginError` if the function is not `async`."""
        self._evaluation_function("verifier", self.offers.verifiers, name, function)

    def _evaluation_function(
        self,
        kind: str,
        offers: list[OfferedFactory[Any]],
        name: str,
        function: Callable[..., Awaitable[object]],
    ) -> None:
        if isinstance(function, FunctionOffer):
            raise PluginError(
                f"The {kind} {name} of {self.plugin} is already registered by a decorator.",
                hint=f"Remove api.{kind}(…) or the decorator.",
            )
        if not inspect.iscoroutinefunction(function):
            raise PluginError(f"The function of the {kind} {name} of {self.plugin} is not `async def`.")
        self._reserve(kind, name)
        offers.append(OfferedFactory(self.plugin, name, function))

    def setting(self, model: type[SettingsT]) -> SettingsT:
        """Return the plugin's settings. Raise `ConfigError` with file and line if a value is wrong."""
        self._check_open()
        self.settings += describe_settings(model)
        return load_plugin_settings(self._places.config, self.plugin, model)

    def key(self, name: str, help: str = "") -> str:
        """Return a secret, such as the API key `ACME_API_KEY`; empty if the user has not set it.

        The secret comes from the environment or from the user's stored keys. Raise `PluginError` if `name` does not
        look like the name of a secret, because such a variable's value would appear in logs.
        """
        self._check_open()
        if not is_secret_variable(name, ""):
            raise PluginError(
                f"The key {name!r} of {self.plugin} would appear in logs, because its name does not look like a secret's name.",
                hint="Choose a name such as ACME_API_KEY.",
            )
        value = self._places.keys.get(name, "")
        self.settings.append(SettingInfo(name=name, help=help, kind="key", default=bool(value)))
        return value

    def _check_open(self) -> None:
        if not self._open:
            raise PluginError(f"{self.plugin} registers something after its register() has returned.")

    def _reserve(self, kind: str, name: str) -> None:
        self._check_open()
        if not _WORD.fullmatch(name):
            raise PluginError(
                f"The {kind} name {name!r} of {self.plugin} is not valid. Use letters, digits, _ and -."
            )
        key = f"{kind}:{name}"
        if key in self.reserved:
            raise PluginError(f"The {kind} {name} of {self.plugin} is registered twice.")
        self.reserved.append(key)
        self.names.append(key)


CallT = TypeVar("CallT", bound=Callable[..., object])


def _require_parameters(function: Callable[..., object], count: int, label: str) -> None:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError as error:
        arguments = format_count(count, "argument")
        raise PluginError(f"The function that {label} must accept {arguments}: {error}.") from error
    except ValueError:  # a function without a known signature
        pass


def _require_callable(make: CallT, name: str) -> CallT:
    if not callable(make):
        raise PluginError(f"The object registered for {name!r} cannot be called.")
    return make


def _check_pattern(label: str, kind: str, text: str) -> None:
    try:
        groups = re.compile(text.encode(), re.MULTILINE).groupindex
    except re.error as error:
        raise PluginError(f"{label}: the pattern {text!r} is not valid: {error}.") from error
    if "name" not in groups or not _WORD.fullmatch(kind):
        raise PluginError(
            f"{label}: the pattern {text!r} must have a group `name`, and the symbol kind {kind!r} must be one word."
        )


def _require_target(target: str) -> str:
    if not _TARGET.fullmatch(target):
        raise PluginError(f'{target!r} is not a reference to an object. Example: "tui.pane:NotesPane".')
    return target
