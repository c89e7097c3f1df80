"""Resolution of model names, and creation of model clients.

Invariant: a model or effort that cannot work raises an error before any request.
"""

import importlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.config.settings.providers import BUILT_IN_PROFILES, CLIENTS, PROVIDERS
from tui_agent.config.settings.settings import ModelProfile
from tui_agent.errors import ConfigError
from tui_agent.models import chat_messages, model_facts
from tui_agent.models.chaos import ChaosClient
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.reasoning_efforts import provider_effort, supported_efforts
from tui_agent.models.replay_model import RecordedAnswers, ReplayClient
from tui_agent.models.routes import Route, Routes, require_name
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import ModelClient
from tui_agent.protocol.settings import Effort, ModelInfo

if TYPE_CHECKING:
    from tui_agent.models.script_format import Script

DEFAULT_DEMO = "todo-api"
DEFAULT_MAX_OUTPUT = 16_384
MAX_OUTPUT_CAP = 32_768
"""Maximum tokens of an answer if the profile sets no limit."""
# Some vendors count this maximum as used, even if the answer is short.
MAX_OUTPUT_WINDOW_DIVISOR = 4
"""The default output limit is at most the window divided by this number."""
REPLAY_WINDOW = 200_000
NO_MODEL = "none"
"""Name of the profile and provider in a session without a model."""
_FILE_PREFIXES = ("scripted:", "chaos:")
"""Prefixes of model names that end with a file path. Such a name may contain any characters."""
_MODULES = {
    "openai-chat": ("tui_agent.models.chat_completions", "ChatCompletionsClient"),
    "openai-responses": ("tui_agent.models.responses", "ResponsesClient"),
    "litellm": ("tui_agent.models.litellm_client", "LiteLLMClient"),
}
"""Maps a client's name to its (module, class). A module is imported when it is first needed."""
_SCRIPTED_CLIENT = ("tui_agent.models.scripted", "ScriptedClient")
"""The (module, class) of the client for scripts. It is imported only when needed."""


class ModelFactory:
    """Resolves model names and creates clients.

    - `environ`: environment variables with the keys.
    - `read_profiles`: function that reads the configured profiles again.
    - `replay_source`: function that reads recorded answers.
    - `pace_demos`: True if demos answer at a speed that people can follow.
    """

    def __init__(
        self,
        config_models: Mapping[str, ModelProfile],
        environ: Mapping[str, str],
        clock: Clock,
        *,
        read_profiles: Callable[[], Mapping[str, ModelProfile]] = dict,
        replay_source: Callable[[str], RecordedAnswers] | None = None,
        demo_scripts: Path = Path(),
        pace_demos: bool = False,
    ) -> None:
        self._profiles = {**BUILT_IN_PROFILES, **config_models}
        self._environ = environ
        self._clock = clock
        self._read_profiles = read_profiles
        self._replay_source = replay_source
        self._demos = demo_scripts
        self._pace_demos = pace_demos
        self._plugins: dict[str, Callable[[ModelInfo], ModelClient]] = {}
        self._routes = Routes(self._profiles, environ, self._plugins.keys())

    def add(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """Register a plugin's provider. Raise `ConfigError` if the name is taken."""
        if provider in CLIENTS or provider in PROVIDERS or provider in self._plugins:
            raise ConfigError(f"The model provider '{provider}' already exists.", hint="Choose another name.")
        self._plugins[provider] = make

    def resolve(self, name: str, base_url: str = "", effort: Effort | None = None) -> ModelInfo:
        """Return the facts about a model. Raise `ConfigError` if the model cannot work.

        `name`: one of

        - a profile
        - `vendor/model`
        - a bare model name, if `base_url` is given
        - `scripted:FILE`, `replay:SESSION`, `demo[:NAME]` or `chaos:SEED:NAME`
        """
        if not name or name == NO_MODEL:
            raise ConfigError("No model is set.", hint=self._routes.hint())
        if name not in self._profiles and not name.startswith(_FILE_PREFIXES):
            require_name(name)
        local = self._resolve_local(name, base_url, effort)
        if local is not None:
            return local
        route = self._routes.find(name, base_url)
        chosen_effort = effort if effort is not None else route.profile.reasoning_effort
        info = self._build_info(name, route, base_url, chosen_effort)
        if route.provider not in self._plugins:
            self._routes.key(info, route)  # raises an error for a missing key, before the first request
        return info

    def resolve_again(self, name: str, base_url: str = "", effort: Effort | None = None) -> ModelInfo:
        """Read the profile `name` again, and resolve the model."""
        self._read_profile(name)
        return self.resolve(name, base_url, effort)

    def profile(self, name: str) -> ModelProfile | None:
        """Return the newest known profile of this name."""
        return self._profiles.get(name)

    def client(self, info: ModelInfo) -> ModelClient:
        """Create a client for a resolved model. Raise `ConfigError` if the model's key or file no longer exists."""
        name = info.profile
        if name.startswith("chaos:"):
            seed, inner = _parse_chaos(name)
            return ChaosClient(
                self.client(self.resolve(inner, info.base_url, info.effort)), seed, self._clock
            )
        if name.startswith("replay:"):
            return ReplayClient(self._load_recording(name), name)
        script = self._script_path(name)
        if script is not None:
            demo = name.partition(":")[0] == "demo"
            make_scripted: Callable[..., ModelClient] = _import_name(*_SCRIPTED_CLIENT)
            answers = _read_script(script)
            if demo and not self._pace_demos:
                answers = answers.model_copy(update={"pace": 0.0})
            return make_scripted(answers, script.name, self._clock, demo)
        if info.provider in self._plugins:
            return self._plugins[info.provider](info)
        route = self._routes.find(name, info.base_url)
        place = _MODULES[info.provider if info.provider in _MODULES else route.client]
        make_client: Callable[[Endpoint, Clock], ModelClient] = _import_name(*place)
        endpoint = Endpoint(
            info.base_url,
            self._routes.key(info, route),
            timeout=route.profile.timeout,
            stream=route.profile.stream,
            headers=route.profile.headers,
            bridge=chat_messages.has_strict_template(info.model)
            if route.profile.bridge_tool_results is None
            else route.profile.bridge_tool_results,
        )
        return make_client(endpoint, self._clock)

    def no_model(self, fault: str = "") -> ModelInfo:
        """Return the `ModelInfo` of a session without a model.

        `fault`: why the requested model cannot be used; empty if no model was requested.
        """
        return ModelInfo(profile=NO_MODEL, provider=NO_MODEL, model="", fault=fault)

    def usable_models(self) -> list[ModelInfo]:
        """Return all usable models from profiles, from the suggestions of vendors, and from demos."""
        out: list[ModelInfo] = []
        for name in (*self._profiles, *self._suggested_names()):
            with suppress(ConfigError):
                out.append(self.resolve(name))
        out += [self.resolve(f"demo:{script}") for script in self.demos()]
        return out

    def unusable_profiles(self) -> list[tuple[str, str, str]]:
        """Return (profile, model, reason) for each profile whose model cannot be used."""
        out: list[tuple[str, str, str]] = []
        for name, profile in self._profiles.items():
            try:
                self.resolve(name)
            except ConfigError as fault:
                out.append((name, profile.model, str(fault)))
        return out

    def preload(self, info: ModelInfo) -> None:
        """Import the module of this model's client. Slow for litellm: call this in a thread."""
        if info.provider in _MODULES:
            module = importlib.import_module(_MODULES[info.provider][0])
            if info.provider == "litellm":
                module.load()

    def _suggested_names(self) -> list[str]:
        return [
            f"{vendor.name}/{model}"
            for vendor in PROVIDERS.values()
            if any(self._environ.get(key) for key in vendor.key_variables)
            for model in vendor.suggested_models
            if model_facts.facts(model, vendor.map_name).known
        ]

    def demos(self) -> list[str]:
        """Return the names of the built-in demos."""
        names = [path.stem for path in self._demos.glob("*.yaml")]
        names += [path.parent.name for path in self._demos.glob("*/script.yaml")]
        return sorted(set(names))

    def _resolve_local(self, name: str, base_url: str, effort: Effort | None) -> ModelInfo | None:
        """Describe a model without a provider (`scripted:FILE`). Return None for other names."""
        if name.startswith("chaos:"):
            seed, inner_name = _parse_chaos(name)
            inner = self.resolve(inner_name, base_url, effort)
            return inner.model_copy(update={"profile": f"chaos:{seed}:{inner.profile}"})
        if name.startswith("replay:"):
            self._load_recording(name)
            session = name.partition(":")[2]
            return ModelInfo(
                profile=name,
                provider="replay",
                model=session,
                window=REPLAY_WINDOW,
                effort=effort,
                efforts=(),
            )
        script = self._script_path(name)
        if script is None:
            return None
        contents = _read_script(script)
        return ModelInfo(
            profile=name if name.startswith("demo") else f"scripted:{script}",
            provider="scripted",
            model=contents.name or script.stem,
            effort=effort,
            efforts=(),
            window=contents.window,
            max_output=contents.max_output,
            input_price=contents.input_price,
            output_price=contents.output_price,
            images=contents.images,
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
        raise ConfigError(f"Unknown demo '{demo}'.", hint=f"Available: {known}.")

    def _read_profile(self, name: str) -> None:
        try:
            profile = self._read_profiles().get(name)
        except ConfigError:
            if name not in self._profiles:
                raise
            return  # The file is being edited. A known model stays usable.
        if profile is not None and profile != self._profiles.get(name):
            self._profiles[name] = profile

    def _load_recording(self, name: str) -> RecordedAnswers:
        if self._replay_source is None:
            raise ConfigError(
                f"{name}: recorded answers are not available here.", hint="Choose another model."
            )
        return self._replay_source(name.partition(":")[2])

    def _build_info(self, name: str, route: Route, base_url: str, effort: Effort | None) -> ModelInfo:
        profile, vendor = route.profile, route.vendor
        map_name = vendor.map_name if vendor else ""
        bare = profile.model.removeprefix(f"{vendor.name}/") if vendor else profile.model
        known = model_facts.facts(bare, map_name)
        efforts = supported_efforts(route.client, bare, map_name)
        window = profile.context_window or known.window
        return ModelInfo(
            profile=name,
            provider=route.client
            if route.client != "litellm" or route.provider not in self._plugins
            else route.provider,
            model=profile.model,
            base_url=self._routes.address(route, base_url),
            effort=effort,
            effective_effort=provider_effort(route.client, bare, efforts, effort),
            efforts=efforts,
            window=window,
            max_output=profile.max_output or _default_max_output(known.max_output, window),
            input_price=_first_known(profile.input_price, known.input_price),
            output_price=_first_known(profile.output_price, known.output_price),
            cached_price=_first_known(profile.cached_price, known.cached_price),
            images=known.images if profile.images is None else profile.images,
        )


def _import_name(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _read_script(script: Path) -> "Script":
    contents: Script = _import_name("tui_agent.models.script_format", "read_script")(script)
    return contents


def _default_max_output(known: int, window: int) -> int:
    """Return the output limit in tokens for a model whose profile sets no limit.

    - `known`: the model's own limit.
    - `window`: the model's context window; 0 if unknown.
    """
    limit = min(known or DEFAULT_MAX_OUTPUT, MAX_OUTPUT_CAP)
    return min(limit, window // MAX_OUTPUT_WINDOW_DIVISOR) if window else limit


def _first_known(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _parse_chaos(name: str) -> tuple[int, str]:
    _, seed, inner = (*name.split(":", 2), "", "")[:3]
    if not seed.lstrip("-").isdigit() or not inner:
        raise ConfigError(f"'{name}' is not a valid chaos model.", hint="Example: chaos:7:demo")
    return int(seed), inner
