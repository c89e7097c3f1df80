"""How a model's name is reached: which client, at which address, with which key.

Invariant: a name, an address or a key that cannot work raises `ConfigError` here, with what to do; a key goes to its
own vendor's address only, or to one that the user named.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from tui_agent.config import vendors
from tui_agent.config.settings import ModelProfile
from tui_agent.config.vendors import CLIENTS, VENDORS, ClientName, Vendor, key_variable
from tui_agent.errors import ConfigError
from tui_agent.models import pricing
from tui_agent.models.endpoint import Endpoint, normalised
from tui_agent.protocol.settings import ModelInfo

OPENAI_HOST = "api.openai.com"


@dataclass(frozen=True, slots=True)
class Route:
    """How a name is reached: the client, its vendor where one is known, and the profile's figures."""

    client: ClientName
    provider: str
    profile: ModelProfile
    vendor: Vendor | None = None


class Routes:
    """Finds routes among the profiles, the vendors, and the providers of plugins (`plugins`: their names, live)."""

    def __init__(
        self, profiles: Mapping[str, ModelProfile], environ: Mapping[str, str], plugins: Collection[str]
    ) -> None:
        self._profiles = profiles
        self._environ = environ
        self._plugins = plugins

    def find(self, name: str, base_url: str) -> Route:
        """The route of a profile's or model's name. Raises `ConfigError` for an unknown one."""
        profile = self._profiles.get(name)
        if profile is not None:
            return self._profile_route(name, profile)
        first, slash, rest = name.partition("/")
        if slash and first in CLIENTS:
            inner = VENDORS.get(rest.partition("/")[0]) if CLIENTS[first] == "litellm" else None
            return Route(CLIENTS[first], first, ModelProfile(model=rest), inner)
        if slash and first in self._plugins:
            return Route("litellm", first, ModelProfile(model=rest))
        if slash and first in VENDORS:
            return self._vendor_route(VENDORS[first], rest, base_url)
        if base_url:
            return Route("openai-chat", "openai-chat", ModelProfile(model=name))
        vendor = vendors.by_map_name(pricing.vendor_of(name))
        if vendor is not None:
            return self._vendor_route(vendor, name, "")
        if not slash and self._environ.get(VENDORS["openai"].base_url_env):
            return self._vendor_route(VENDORS["openai"], name, "")
        if pricing.named(name) is not None or (slash and first in pricing.providers()):
            return Route("litellm", "litellm", ModelProfile(model=name))
        raise self.unknown(name)

    def _profile_route(self, name: str, profile: ModelProfile) -> Route:
        provider = profile.provider or (
            "openai-chat" if profile.base_url else profile.model.partition("/")[0]
        )
        model = profile.model if profile.provider else profile.model.removeprefix(f"{provider}/")
        profile = profile.model_copy(update={"model": model})
        if provider in CLIENTS:
            inner = VENDORS.get(model.partition("/")[0]) if CLIENTS[provider] == "litellm" else None
            return Route(CLIENTS[provider], provider, profile, inner)
        if provider in self._plugins:
            return Route("litellm", provider, profile)
        vendor = VENDORS.get(provider)
        if vendor is not None:
            found = self._vendor_route(vendor, model, profile.base_url)
            return replace(found, profile=profile.model_copy(update={"model": found.profile.model}))
        near = get_close_matches(provider, [*CLIENTS, *VENDORS, *self._plugins], n=3)
        said = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join([*CLIENTS, *VENDORS])}."
        raise ConfigError(f"The model profile '{name}' has an unknown provider '{provider}'.", hint=said)

    def _vendor_route(self, vendor: Vendor, model: str, base_url: str) -> Route:
        profile = ModelProfile(model=model)
        if vendor.client == "litellm":
            profile = profile.model_copy(update={"model": f"{vendor.name}/{model}"})
        if vendor.name == "openai":
            elsewhere = base_url or self._environ.get(vendor.base_url_env, "")
            at_home = not elsewhere or Endpoint(normalised(elsewhere)).host == OPENAI_HOST
            return Route(_openai_client(model, at_home), "openai", profile, vendor)
        return Route(vendor.client, vendor.name, profile, vendor)

    def address(self, route: Route, base_url: str) -> str:
        """The base address in its one form; empty where litellm knows it. Raises `ConfigError`."""
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

    def key(self, info: ModelInfo, route: Route) -> str:
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
        if vendor is None and route.client == "litellm":
            provider = route.profile.model.partition("/")[0]
            return self._found((key_variable(provider),))
        return self._found(
            ("TUI_AGENT_API_KEY", *(vendor.keys if vendor is not None else ("OPENAI_API_KEY",)))
        )

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
        who = f"models.{info.profile}" if info.profile in self._profiles else info.profile
        raise ConfigError(
            f"{who} wants {' or '.join(names)}, which is not set.",
            hint=f"Export {names[0]}; in the app, type it with /provider or choose another model with /model.",
        )

    def unknown(self, name: str) -> ConfigError:
        """The error for a name that means nothing, with the nearest ones that do."""
        profiles = [one for one in get_close_matches(name, self._profiles, n=2) if self._usable(one)]
        near = list(dict.fromkeys([*profiles, *pricing.near(name)]))
        first = name.partition("/")[0]
        if "/" in name:
            near += [f"{vendor}/…" for vendor in get_close_matches(first, VENDORS, n=2) if vendor != first]
        said = f"Did you mean {', '.join(near[:4])}?" if near else self.hint()
        return ConfigError(f"There is no model '{name}'.", hint=said)

    def hint(self) -> str:
        """What a model's name may be: of the profiles only those that could answer now."""
        named = ", ".join(sorted(name for name in self._profiles if self._usable(name)))
        profiles = f"a profile ({named}), " if named else ""
        return f"A model's name is {profiles}vendor/model like anthropic/claude-sonnet-4-5, or demo."

    def _usable(self, name: str) -> bool:
        """Whether a profile has its address and its key."""
        try:
            route = self._profile_route(name, self._profiles[name])
            address = self.address(route, "")
            info = ModelInfo(
                profile=name, provider=route.provider, model=route.profile.model, base_url=address
            )
            self.key(info, route)
        except ConfigError:
            return False
        return True


def _openai_client(model: str, at_home: bool) -> ClientName:
    """OpenAI's own address speaks Responses, where models that think belong; other addresses speak Chat."""
    known = pricing.facts(model, "openai")
    if known.mode == "responses":
        return "openai-responses"
    return "openai-responses" if at_home and (known.reasoning or not known.known) else "openai-chat"
