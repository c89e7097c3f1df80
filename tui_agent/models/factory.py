"""L3: from a model's name to what is known about it, and to the client that speaks to it.

Invariant: a name that cannot work (unknown model, missing key, bad address) fails here, before any request; a client
follows from a `ModelInfo` alone, so a resumed session reaches the same model. Nothing slow is imported before a
client of that kind is made.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol, cast

from tui_agent.config import vendors
from tui_agent.config.settings import ModelProfile
from tui_agent.config.vendors import CLIENTS, VENDORS, ClientName, Vendor
from tui_agent.errors import ConfigError
from tui_agent.models import efforts, pricing, script_format
from tui_agent.models.chaos import ChaosClient
from tui_agent.models.endpoint import Endpoint, normalised
from tui_agent.models.replay import ReplayClient
from tui_agent.models.scripted import ScriptedClient
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import ModelClient
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.settings import Effort, ModelInfo

DEFAULT_DEMO = "todo-api"
DEFAULT_MAX_OUTPUT = 16_384
MAX_OUTPUT_CAP = 32_768
"""What is asked for at most where a profile does not say: some vendors count the reserved output as used."""

REPLAY_WINDOW = 200_000

OPENAI_HOST = "api.openai.com"

_MODULES = {
    "openai-chat": ("tui_agent.models.chat_completions", "ChatCompletionsClient"),
    "openai-responses": ("tui_agent.models.responses", "ResponsesClient"),
    "litellm": ("tui_agent.models.litellm_client", "LiteLLMClient"),
}
"""Clients whose import is slow: loaded when one is made."""


class _MakeClient(Protocol):
    def __call__(self, endpoint: Endpoint, clock: Clock) -> ModelClient: ...


@dataclass(frozen=True, slots=True)
class _Route:
    """How a name is reached: the client, its vendor where one is known, and the profile's figures."""

    client: ClientName
    provider: str
    profile: ModelProfile
    vendor: Vendor | None = None


class ModelFactory:
    """Resolves names and makes clients. `environ` gives keys; `replay_source` a session's recorded answers."""

    def __init__(
        self,
        config_models: Mapping[str, ModelProfile],
        environ: Mapping[str, str],
        clock: Clock,
        *,
        replay_source: Callable[[str], Sequence[ModelResponded]] | None = None,
        demo_scripts: Path = Path(),
    ) -> None:
        self._profiles = {**vendors.BUILT_IN, **config_models}
        self._environ = environ
        self._clock = clock
        self._replay_source = replay_source
        self._demos = demo_scripts
        self._plugins: dict[str, Callable[[ModelInfo], ModelClient]] = {}

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
        if not name:
            raise ConfigError("No model is chosen.", hint=self._hint())
        local = self._local(name, base_url, effort)
        if local is not None:
            return local
        route = self._route(name, base_url)
        wanted = effort if effort is not None else route.profile.reasoning_effort
        info = self._info(name, route, base_url, wanted)
        if route.provider not in self._plugins:
            self._key(info, route)
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
            return ReplayClient(self._recorded(name), name, self._clock)
        script = self._script_path(name)
        if script is not None:
            return ScriptedClient(script_format.read(script), script.name, self._clock)
        if info.provider in self._plugins:
            return self._plugins[info.provider](info)
        route = self._route(name, info.base_url)
        module, made = _MODULES[info.provider if info.provider in _MODULES else route.client]
        make = cast(_MakeClient, getattr(importlib.import_module(module), made))
        endpoint = Endpoint(
            info.base_url,
            self._key(info, route),
            timeout=route.profile.timeout,
            stream=route.profile.stream,
            headers=route.profile.headers,
        )
        return make(endpoint, self._clock)

    def available(self) -> list[ModelInfo]:
        """What could be used now: every profile whose key is there, each vendor's default with a key, the demos."""
        out: list[ModelInfo] = []
        for name in (*self._profiles, *self._suggested()):
            with suppress(ConfigError):
                out.append(self.resolve(name))
        out += [self.resolve(f"demo:{script}") for script in self.demos()]
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
        read = script_format.read(script)
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

    def _recorded(self, name: str) -> Sequence[ModelResponded]:
        if self._replay_source is None:
            raise ConfigError(f"{name} cannot be replayed here.", hint="Choose another model.")
        return self._replay_source(name.partition(":")[2])

    def _route(self, name: str, base_url: str) -> _Route:
        profile = self._profiles.get(name)
        if profile is not None:
            return self._profile_route(name, profile)
        first, slash, rest = name.partition("/")
        if slash and first in CLIENTS:
            inner = VENDORS.get(rest.partition("/")[0]) if CLIENTS[first] == "litellm" else None
            return _Route(CLIENTS[first], first, ModelProfile(model=rest), inner)
        if slash and first in self._plugins:
            return _Route("litellm", first, ModelProfile(model=rest))
        if slash and first in VENDORS:
            return self._vendor_route(VENDORS[first], rest, base_url)
        if base_url:
            return _Route("openai-chat", "openai-chat", ModelProfile(model=name))
        vendor = vendors.by_map_name(pricing.vendor_of(name))
        if vendor is not None:
            return self._vendor_route(vendor, name, "")
        if not slash and self._environ.get(VENDORS["openai"].base_url_env):
            return self._vendor_route(VENDORS["openai"], name, "")
        if name in pricing.price_map() or (slash and first in pricing.providers()):
            return _Route("litellm", "litellm", ModelProfile(model=name))
        raise self._unknown(name)

    def _profile_route(self, name: str, profile: ModelProfile) -> _Route:
        provider = profile.provider or (
            "openai-chat" if profile.base_url else profile.model.partition("/")[0]
        )
        model = profile.model if profile.provider else profile.model.removeprefix(f"{provider}/")
        profile = profile.model_copy(update={"model": model})
        if provider in CLIENTS:
            inner = VENDORS.get(model.partition("/")[0]) if CLIENTS[provider] == "litellm" else None
            return _Route(CLIENTS[provider], provider, profile, inner)
        if provider in self._plugins:
            return _Route("litellm", provider, profile)
        vendor = VENDORS.get(provider)
        if vendor is not None:
            found = self._vendor_route(vendor, model, profile.base_url)
            return replace(found, profile=profile.model_copy(update={"model": found.profile.model}))
        near = get_close_matches(provider, [*CLIENTS, *VENDORS, *self._plugins], n=3)
        said = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join([*CLIENTS, *VENDORS])}."
        raise ConfigError(f"The model profile '{name}' has an unknown provider '{provider}'.", hint=said)

    def _vendor_route(self, vendor: Vendor, model: str, base_url: str) -> _Route:
        profile = ModelProfile(model=model)
        if vendor.client == "litellm":
            profile = profile.model_copy(update={"model": f"{vendor.name}/{model}"})
        if vendor.name == "openai":
            elsewhere = base_url or self._environ.get(vendor.base_url_env, "")
            at_home = not elsewhere or Endpoint(normalised(elsewhere)).host == OPENAI_HOST
            return _Route(_openai_client(model, at_home), "openai", profile, vendor)
        return _Route(vendor.client, vendor.name, profile, vendor)

    def _info(self, name: str, route: _Route, base_url: str, effort: Effort | None) -> ModelInfo:
        profile, vendor = route.profile, route.vendor
        map_name = vendor.map_name if vendor else ""
        bare = profile.model.removeprefix(f"{vendor.name}/") if vendor else profile.model
        known = pricing.facts(bare, map_name)
        most = min(known.max_output or DEFAULT_MAX_OUTPUT, MAX_OUTPUT_CAP)
        return ModelInfo(
            profile=name,
            provider=route.client
            if route.client != "litellm" or route.provider not in self._plugins
            else route.provider,
            model=profile.model,
            base_url=self._address(route, base_url),
            effort=effort,
            effective_effort=efforts.effective(route.client, bare, map_name, effort),
            window=profile.context_window or known.window,
            max_output=profile.max_output or most,
            input_price=_first(profile.input_price, known.input_price),
            output_price=_first(profile.output_price, known.output_price),
            cached_price=_first(profile.cached_price, known.cached_price),
            images=known.images if profile.images is None else profile.images,
        )

    def _address(self, route: _Route, base_url: str) -> str:
        vendor = route.vendor
        said = base_url or route.profile.base_url
        if not said and vendor is not None and vendor.base_url_env:
            said = self._environ.get(vendor.base_url_env, "")
        if not said and vendor is not None:
            said = vendor.base_url
        if not said and route.client in ("openai-chat", "openai-responses"):
            said = VENDORS["openai"].base_url
        if not said:
            return ""
        return normalised(said) if route.client != "litellm" else said.rstrip("/")

    def _key(self, info: ModelInfo, route: _Route) -> str:
        """The key for a model's address; empty where none is needed. Raises `ConfigError` naming the variable."""
        if route.profile.api_key_env:
            return self._wanted((route.profile.api_key_env,), info)
        host = Endpoint(info.base_url).host if info.base_url else ""
        at_home = vendors.by_host(host) if host else None
        if at_home is not None:
            return self._wanted(at_home.keys, info)
        vendor = route.vendor
        if vendor is not None and vendor.keys and not info.base_url:
            return self._wanted(vendor.keys, info)
        names = ("TUI_AGENT_API_KEY", *(vendor.keys if vendor is not None else ("OPENAI_API_KEY",)))
        return self._found(names)

    def _found(self, names: tuple[str, ...]) -> str:
        """The first of these keys that is set. Raises `ConfigError` for what no header can carry."""
        for name in names:
            key = (self._environ.get(name) or "").strip()
            if key and (not key.isascii() or not key.isprintable()):
                raise ConfigError(f"{name} holds characters that no key has.", hint="Copy the key again.")
            if key:
                return key
        return ""

    def _wanted(self, names: tuple[str, ...], info: ModelInfo) -> str:
        found = self._found(names)
        if found:
            return found
        raise ConfigError(
            f"The model {info.profile} needs a key, and {' or '.join(names)} is not set.",
            hint=f"Set {names[0]} in the environment or in a trusted .env file, or enter it in the app.",
        )

    def _unknown(self, name: str) -> ConfigError:
        near = list(dict.fromkeys([*get_close_matches(name, self._profiles, n=2), *pricing.near(name)]))
        first = name.partition("/")[0]
        if "/" in name:
            near += [f"{vendor}/…" for vendor in get_close_matches(first, VENDORS, n=2) if vendor != first]
        said = f"Did you mean {', '.join(near[:4])}?" if near else self._hint()
        return ConfigError(f"There is no model '{name}'.", hint=said)

    def _hint(self) -> str:
        named = ", ".join(sorted(self._profiles))
        return f"Give --model a profile ({named}), vendor/model like anthropic/claude-sonnet-4-5, or demo."


def _openai_client(model: str, at_home: bool) -> ClientName:
    """OpenAI's own address speaks Responses, where models that think belong; other addresses speak Chat."""
    known = pricing.facts(model, "openai")
    if known.mode == "responses":
        return "openai-responses"
    return "openai-responses" if at_home and (known.reasoning or not known.known) else "openai-chat"


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _chaos(name: str) -> tuple[int, str]:
    _, seed, inner = (*name.split(":", 2), "", "")[:3]
    if not seed.lstrip("-").isdigit() or not inner:
        raise ConfigError(f"'{name}' is no chaos model.", hint="Write it like chaos:7:demo.")
    return int(seed), inner
