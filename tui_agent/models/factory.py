"""From a model's name to what is known about it, and to the client that speaks to it.

Invariant: a name that cannot work (unknown model, missing key, bad address) fails here, before any request; a client
follows from a `ModelInfo` alone, so a resumed session reaches the same model. Nothing slow is imported before a
client of that kind is made.
"""

import importlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from tui_agent.config.settings import ModelProfile
from tui_agent.config.vendors import BUILT_IN, CLIENTS, VENDORS
from tui_agent.errors import ConfigError
from tui_agent.models import efforts, pricing
from tui_agent.models import stream_bridge as bridging
from tui_agent.models.chaos import ChaosClient
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.names import require_name
from tui_agent.models.replay import Recording, ReplayClient
from tui_agent.models.routes import Route, Routes
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import ModelClient
from tui_agent.protocol.settings import Effort, ModelInfo

if TYPE_CHECKING:
    from tui_agent.models.script_format import Script

DEFAULT_DEMO = "todo-api"
DEFAULT_MAX_OUTPUT = 16_384
MAX_OUTPUT_CAP = 32_768
"""What is asked for at most where a profile does not say: some vendors count the reserved output as used."""
SHARE_OF_WINDOW = 4
"""Such an answer has no more than a quarter of the window: else little would be left for the question."""

REPLAY_WINDOW = 200_000

NO_MODEL = "none"
"""The profile and provider of a session that has no model; `ModelInfo.fault` then says why."""

_WITH_PATHS = ("scripted:", "chaos:")
"""Names that hold a file's path, in which anything may stand."""

_MODULES = {
    "openai-chat": ("tui_agent.models.chat_completions", "ChatCompletionsClient"),
    "openai-responses": ("tui_agent.models.responses", "ResponsesClient"),
    "litellm": ("tui_agent.models.litellm_client", "LiteLLMClient"),
}
"""Clients whose import is slow: loaded when one is made."""
_SCRIPTED = ("tui_agent.models.scripted", "ScriptedClient")
_SCRIPT_FORMAT = "tui_agent.models.script_format"
"""Scripts are YAML, which no other model needs: 16 ms of every start."""


class _MakeClient(Protocol):
    def __call__(self, endpoint: Endpoint, clock: Clock) -> ModelClient: ...


class _MakeScripted(Protocol):
    def __call__(self, script: "Script", name: str, clock: Clock, demo: bool) -> ModelClient: ...


class ModelFactory:
    """Resolves names and makes clients. `environ` gives keys; `replay_source` a session's recorded answers."""

    def __init__(
        self,
        config_models: Mapping[str, ModelProfile],
        environ: Mapping[str, str],
        clock: Clock,
        *,
        replay_source: Callable[[str], Recording] | None = None,
        demo_scripts: Path = Path(),
    ) -> None:
        self._profiles = {**BUILT_IN, **config_models}
        self._environ = environ
        self._clock = clock
        self._replay_source = replay_source
        self._demos = demo_scripts
        self._plugins: dict[str, Callable[[ModelInfo], ModelClient]] = {}
        self._routes = Routes(self._profiles, environ, self._plugins.keys())

    def add(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """A plugin's provider. Raises `ConfigError` when the name is taken."""
        if provider in CLIENTS or provider in VENDORS or provider in self._plugins:
            raise ConfigError(
                f"There is already a model provider '{provider}'.", hint="Give it another name."
            )
        self._plugins[provider] = make

    def resolve(self, name: str, base_url: str = "", effort: Effort | None = None) -> ModelInfo:
        """What a model's name means. Raises `ConfigError` for whatever could not work, before any request.

        `name` is a profile, `vendor/model`, a bare model name where `base_url` is given, `scripted:FILE`,
        `replay:SESSION`, `demo[:NAME]` or `chaos:SEED:NAME`.
        """
        if not name or name == NO_MODEL:
            raise ConfigError("No model is chosen.", hint=self._routes.hint())
        if name not in self._profiles and not name.startswith(_WITH_PATHS):
            require_name(name)
        local = self._local(name, base_url, effort)
        if local is not None:
            return local
        route = self._routes.find(name, base_url)
        wanted = effort if effort is not None else route.profile.reasoning_effort
        info = self._info(name, route, base_url, wanted)
        if route.provider not in self._plugins:
            self._routes.key(info, route)
        return info

    def client(self, info: ModelInfo) -> ModelClient:
        """A client for a resolved model. Raises `ConfigError` (a key or a file that is gone since)."""
        name = info.profile
        if name.startswith("chaos:"):
            seed, inner = _chaos(name)
            return ChaosClient(
                self.client(self.resolve(inner, info.base_url, info.effort)), seed, self._clock
            )
        if name.startswith("replay:"):
            said = self._recorded(name)
            return ReplayClient(said.answers, name, self._clock, said.delegates)
        script = self._script_path(name)
        if script is not None:
            demo = name.partition(":")[0] == "demo"
            scripted = cast(_MakeScripted, _named(_SCRIPTED))
            return scripted(_read(script), script.name, self._clock, demo)
        if info.provider in self._plugins:
            return self._plugins[info.provider](info)
        route = self._routes.find(name, info.base_url)
        make = cast(
            _MakeClient, _named(_MODULES[info.provider if info.provider in _MODULES else route.client])
        )
        endpoint = Endpoint(
            info.base_url,
            self._routes.key(info, route),
            timeout=route.profile.timeout,
            stream=route.profile.stream,
            headers=route.profile.headers,
            bridge=bridging.wanted(info.model)
            if route.profile.bridge_tool_results is None
            else route.profile.bridge_tool_results,
        )
        return make(endpoint, self._clock)

    def absent(self, fault: str = "") -> ModelInfo:
        """What stands for a model where none can be used; `fault` says why, empty where none was asked for."""
        return ModelInfo(profile=NO_MODEL, provider=NO_MODEL, model="", fault=fault)

    def available(self) -> list[ModelInfo]:
        """What could be used now: every profile whose key is there, each vendor's default with a key, the demos."""
        out: list[ModelInfo] = []
        for name in (*self._profiles, *self._suggested()):
            with suppress(ConfigError):
                out.append(self.resolve(name))
        out += [self.resolve(f"demo:{script}") for script in self.demos()]
        return out

    def unready(self) -> list[tuple[str, str, str]]:
        """The profiles that cannot be used as things are: name, the model's name, and why not."""
        out: list[tuple[str, str, str]] = []
        for name, profile in self._profiles.items():
            try:
                self.resolve(name)
            except ConfigError as fault:
                out.append((name, profile.model, str(fault)))
        return out

    def warm(self, info: ModelInfo) -> None:
        """Import what this model's client needs. Slow for litellm: call it in a thread, after the first paint."""
        if info.provider in _MODULES:
            module = importlib.import_module(_MODULES[info.provider][0])
            if info.provider == "litellm":
                module.load()

    def _suggested(self) -> list[str]:
        """Models of the vendors whose key is there, as far as the price map knows them."""
        return [
            f"{vendor.name}/{model}"
            for vendor in VENDORS.values()
            if any(self._environ.get(key) for key in vendor.keys)
            for model in vendor.suggested
            if pricing.facts(model, vendor.map_name).known
        ]

    def demos(self) -> list[str]:
        """The names of the built-in demonstrations."""
        found = [path.stem for path in self._demos.glob("*.yaml")]
        found += [path.parent.name for path in self._demos.glob("*/script.yaml")]
        return sorted(set(found))

    def _local(self, name: str, base_url: str, effort: Effort | None) -> ModelInfo | None:
        """What needs no provider: scripts, recordings, chaos around another. An effort is recorded, never sent."""
        if name.startswith("chaos:"):
            seed, within = _chaos(name)
            inner = self.resolve(within, base_url, effort)
            return inner.model_copy(update={"profile": f"chaos:{seed}:{inner.profile}"})
        if name.startswith("replay:"):
            self._recorded(name)
            session = name.partition(":")[2]
            return ModelInfo(
                profile=name, provider="replay", model=session, window=REPLAY_WINDOW, effort=effort
            )
        script = self._script_path(name)
        if script is None:
            return None
        read = _read(script)
        return ModelInfo(
            profile=name if name.startswith("demo") else f"scripted:{script}",
            provider="scripted",
            model=read.name or script.stem,
            effort=effort,
            window=read.window,
            max_output=read.max_output,
            input_price=read.input_price,
            output_price=read.output_price,
            images=read.images,
        )

    def _script_path(self, name: str) -> Path | None:
        kind, _, rest = name.partition(":")
        if kind == "scripted" and rest:
            return Path(rest).expanduser().absolute()
        if kind != "demo" or "/" in name:
            return None
        demo = rest or DEFAULT_DEMO
        for path in (self._demos / demo / "script.yaml", self._demos / f"{demo}.yaml"):
            if path.is_file():
                return path
        known = ", ".join(self.demos()) or "none"
        raise ConfigError(f"There is no demo '{demo}'.", hint=f"Known demos: {known}.")

    def _recorded(self, name: str) -> Recording:
        if self._replay_source is None:
            raise ConfigError(f"{name} cannot be replayed here.", hint="Choose another model.")
        return self._replay_source(name.partition(":")[2])

    def _info(self, name: str, route: Route, base_url: str, effort: Effort | None) -> ModelInfo:
        profile, vendor = route.profile, route.vendor
        map_name = vendor.map_name if vendor else ""
        bare = profile.model.removeprefix(f"{vendor.name}/") if vendor else profile.model
        known = pricing.facts(bare, map_name)
        window = profile.context_window or known.window
        return ModelInfo(
            profile=name,
            provider=route.client
            if route.client != "litellm" or route.provider not in self._plugins
            else route.provider,
            model=profile.model,
            base_url=self._routes.address(route, base_url),
            effort=effort,
            effective_effort=efforts.effective(route.client, bare, map_name, effort),
            window=window,
            max_output=profile.max_output or _answer(known.max_output, window),
            input_price=_first(profile.input_price, known.input_price),
            output_price=_first(profile.output_price, known.output_price),
            cached_price=_first(profile.cached_price, known.cached_price),
            images=known.images if profile.images is None else profile.images,
        )


def _named(place: tuple[str, str]) -> object:
    """What stands in a module under a name; the module is loaded now."""
    module, name = place
    return getattr(importlib.import_module(module), name)


def _read(script: Path) -> "Script":
    read: Script = importlib.import_module(_SCRIPT_FORMAT).read(script)
    return read


def _answer(known: int, window: int) -> int:
    """Tokens of one answer where no profile says; a `window` of 0 is unknown."""
    most = min(known or DEFAULT_MAX_OUTPUT, MAX_OUTPUT_CAP)
    return min(most, window // SHARE_OF_WINDOW) if window else most


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _chaos(name: str) -> tuple[int, str]:
    _, seed, inner = (*name.split(":", 2), "", "")[:3]
    if not seed.lstrip("-").isdigit() or not inner:
        raise ConfigError(f"'{name}' is no chaos model.", hint="Write it like chaos:7:demo.")
    return int(seed), inner
