"""Selection of client, base URL and key for a model's name, and validation of the name.

Invariant: a key is sent only to its own vendor, or to a URL that the user configured.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches

from tui_agent.config.settings import providers
from tui_agent.config.settings.base_url import normalise_url
from tui_agent.config.settings.providers import (
    CLIENTS,
    EXAMPLE_MODEL,
    PROVIDERS,
    ClientName,
    Provider,
    key_variable,
)
from tui_agent.config.settings.settings import ModelProfile
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.models import model_facts
from tui_agent.models.endpoint import Endpoint
from tui_agent.protocol.settings import ModelInfo
from tui_agent.store.redaction.redactor import Redactor

OPENAI_HOST = "api.openai.com"


@dataclass(frozen=True, slots=True)
class Route:
    """The client for a model's name, the model's vendor if known, and the profile's settings."""

    client: ClientName
    provider: str
    profile: ModelProfile
    vendor: Provider | None = None


class Routes:
    """Finds the client and settings for a model's name, among profiles, vendors and plugins' providers.

    `plugins`: names of the plugins' providers. The caller may change this collection later.
    """

    def __init__(
        self, profiles: Mapping[str, ModelProfile], environ: Mapping[str, str], plugins: Collection[str]
    ) -> None:
        self._profiles = profiles
        self._environ = environ
        self._plugins = plugins

    def find(self, name: str, base_url: str) -> Route:
        """Return the route of a profile or model name. Raise `ConfigError` if the name is unknown."""
        profile = self._profiles.get(name)
        if profile is not None:
            return self._profile_route(name, profile)
        first, slash, rest = name.partition("/")
        if slash and first in CLIENTS:
            return _client_route(first, ModelProfile(model=rest))
        if slash and first in self._plugins:
            return Route("litellm", first, ModelProfile(model=rest))
        if slash and first in PROVIDERS:
            return self._vendor_route(PROVIDERS[first], rest, base_url)
        if base_url:
            return Route("openai-chat", "openai-chat", ModelProfile(model=name))
        vendor = providers.find_by_map_name(model_facts.vendor_of(name))
        if vendor is not None:
            return self._vendor_route(vendor, name, "")
        # The user's own server can have models of any name.
        if not slash and self._environ.get(PROVIDERS["openai"].base_url_env):
            return self._vendor_route(PROVIDERS["openai"], name, "")
        if model_facts.map_entry(name) is not None or (slash and first in model_facts.providers()):
            return Route("litellm", "litellm", ModelProfile(model=name))
        raise self.unknown_model_error(name)

    def _profile_route(self, name: str, profile: ModelProfile) -> Route:
        provider = profile.provider or (
            "openai-chat" if profile.base_url else profile.model.partition("/")[0]
        )
        model = profile.model if profile.provider else profile.model.removeprefix(f"{provider}/")
        profile = profile.model_copy(update={"model": model})
        if provider in CLIENTS:
            return _client_route(provider, profile)
        if provider in self._plugins:
            return Route("litellm", provider, profile)
        vendor = PROVIDERS.get(provider)
        if vendor is not None:
            route = self._vendor_route(vendor, model, profile.base_url)
            return replace(route, profile=profile.model_copy(update={"model": route.profile.model}))
        similar = get_close_matches(provider, [*CLIENTS, *PROVIDERS, *self._plugins], n=3)
        hint = (
            f"Did you mean {' or '.join(similar)}?"
            if similar
            else f"Known: {', '.join([*CLIENTS, *PROVIDERS])}."
        )
        raise ConfigError(f"The model profile '{name}' has an unknown provider '{provider}'.", hint=hint)

    def _vendor_route(self, vendor: Provider, model: str, base_url: str) -> Route:
        profile = ModelProfile(model=model)
        if vendor.client == "litellm":
            profile = profile.model_copy(update={"model": f"{vendor.name}/{model}"})
        if vendor.name == "openai":
            custom_url = base_url or self._environ.get(vendor.base_url_env, "")
            is_default_host = not custom_url or Endpoint(normalise_url(custom_url)).host == OPENAI_HOST
            return Route(_openai_client(model, is_default_host), "openai", profile, vendor)
        return Route(vendor.client, vendor.name, profile, vendor)

    def address(self, route: Route, base_url: str) -> str:
        """Return the normalised base URL, or an empty string if litellm knows the URL.

        Raise `ConfigError` if the URL is not valid.
        """
        vendor = route.vendor
        url = base_url or route.profile.base_url
        if not url and vendor is not None and vendor.base_url_env:
            url = self._environ.get(vendor.base_url_env, "")
        if not url and vendor is not None:
            url = vendor.base_url
        if not url and route.client in ("openai-chat", "openai-responses"):
            url = PROVIDERS["openai"].base_url
        if not url:
            return ""
        return normalise_url(url) if route.client != "litellm" else url.rstrip("/")

    def key(self, info: ModelInfo, route: Route) -> str:
        """Return the key for a model's URL, or an empty string if the URL needs no key.

        Raise `ConfigError` if the key is not set.
        """
        if route.profile.api_key_env:
            return self._require_key((route.profile.api_key_env,), info)
        # The address decides before the vendor: one vendor's key must not be sent to another.
        host = Endpoint(info.base_url).host if info.base_url else ""
        host_vendor = providers.find_by_host(host) if host else None
        if host_vendor is not None:
            return self._require_key(host_vendor.key_variables, info)
        vendor = route.vendor
        if vendor is not None and vendor.key_variables and not info.base_url:
            return self._require_key(vendor.key_variables, info)
        if vendor is None and route.client == "litellm":
            provider = route.profile.model.partition("/")[0]
            return self._find_key((key_variable(provider),))
        return self._find_key(
            ("TUI_AGENT_API_KEY", *(vendor.key_variables if vendor is not None else ("OPENAI_API_KEY",)))
        )

    def _find_key(self, names: tuple[str, ...]) -> str:
        """Return the value of the first set variable in `names`, or an empty string.

        Raise `ConfigError` if an HTTP header cannot contain the value.
        """
        for name in names:
            key = (self._environ.get(name) or "").strip()
            if key and (not key.isascii() or not key.isprintable()):
                raise ConfigError(
                    f"{name} contains characters that an API key cannot have.", hint="Copy the key again."
                )
            if key:
                return key
        return ""

    def _require_key(self, names: tuple[str, ...], info: ModelInfo) -> str:
        key = self._find_key(names)
        if key:
            return key
        model_label = f"models.{info.profile}" if info.profile in self._profiles else info.profile
        raise ConfigError(
            f"{model_label} needs {' or '.join(names)}, which is not set.",
            hint=f"Export {names[0]}. In the app, enter the key with /provider or choose another model with /model.",
        )

    def unknown_model_error(self, name: str) -> ConfigError:
        """Return the error for an unknown name, with similar names as a hint."""
        profiles = [
            profile for profile in get_close_matches(name, self._profiles, n=2) if self._is_usable(profile)
        ]
        similar = list(dict.fromkeys([*profiles, *model_facts.similar_models(name)]))
        first = name.partition("/")[0]
        if "/" in name:
            similar += [
                f"{vendor}/…" for vendor in get_close_matches(first, PROVIDERS, n=2) if vendor != first
            ]
        hint = f"Did you mean {', '.join(similar[:4])}?" if similar else self.hint()
        return ConfigError(f"Unknown model '{name}'.", hint=hint)

    def hint(self) -> str:
        """Return a hint with the valid forms of a model name and the usable profiles."""
        usable = ", ".join(sorted(name for name in self._profiles if self._is_usable(name)))
        profiles = f"a profile ({usable}), " if usable else ""
        return f"Use {profiles}`vendor/model` such as `{EXAMPLE_MODEL}`, or `demo`."

    def _is_usable(self, name: str) -> bool:
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


def _client_route(name: str, profile: ModelProfile) -> Route:
    vendor = PROVIDERS.get(profile.model.partition("/")[0]) if CLIENTS[name] == "litellm" else None
    return Route(CLIENTS[name], name, profile, vendor)


def _openai_client(model: str, is_default_host: bool) -> ClientName:
    facts = model_facts.facts(model, "openai")
    if facts.mode == "responses":
        return "openai-responses"
    # An unknown model of OpenAI is newer than our table, so it probably reasons. Other servers may lack this API.
    return "openai-responses" if is_default_host and (facts.reasoning or not facts.known) else "openai-chat"


MAX_NAME_CHARS = 200
_KEY = re.compile(
    r"(?i)(?:(?:sk|pk|xai|nvapi|csk|glpat|xoxb|key)-|(?:sk|rk|gsk|fw|hf|r8|gho|ghp|github_pat)_)"
    r"(?=[a-z_+=/.-]*[0-9])[a-z0-9_+=/.-]{8,}|(?:aiza|akia|ya29\.|eyj|bearer)[a-z0-9_+=/.-]{8,}|pplx-[a-z0-9]{24,}"
)
"""Matches a text that begins like a vendor's key and contains a digit. Ordinary words do not match."""
_RANDOM = re.compile(r"(?=[^/:.\-@]*[0-9])(?=[^/:.\-@]*[A-Za-z])[A-Za-z0-9_+=]{28,}")
"""Matches a long run of letters and digits without a separator. No model name contains such a run."""
_REDACTOR = Redactor()


def require_name(name: str) -> None:
    """Raise `ConfigError` if this cannot be a model's name."""
    # The error does not contain the name, because the name could be a key.
    if not name.isprintable() or any(char.isspace() for char in name) or len(name) > MAX_NAME_CHARS:
        raise ConfigError(
            "That is not a valid model name: it has spaces or is too long. It was not stored.",
            hint="Use the name of a profile, or vendor/model.",
        )
    if looks_secret(name):
        raise ConfigError(
            "That looks like a key, not a model name. It was not stored.",
            hint="Enter a key with /provider, or set it as an environment variable.",
        )


def looks_secret(name: str) -> bool:
    """Return True if a text given as a model name looks like a key."""
    last = name.rpartition("/")[2]
    return (
        _KEY.match(name) is not None
        or _KEY.match(last) is not None
        or _RANDOM.fullmatch(last) is not None
        or _REDACTOR.redact_text(name) != name
    )
