"""Model providers: addresses, the variables that hold their keys, and the client for each.

Invariant: a key is sent only to its own provider's address or to an address that the user entered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_agent.config.settings import ModelProfile

ClientName: TypeAlias = Literal["openai-chat", "openai-responses", "litellm", "scripted", "replay", "chaos"]

CLIENTS: Mapping[str, ClientName] = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "openai-codex": "openai-responses",
    "litellm": "litellm",
}
"""Provider names that a profile may use, and the client for each."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider of models, used as `name/model`. If `base_url` is empty, litellm knows the address.

    `keys` are environment variables; the first one set is used. Empty: no key is needed.
    """

    name: str
    client: ClientName
    base_url: str = ""
    keys: tuple[str, ...] = ()
    base_url_env: str = ""
    litellm: str = ""
    suggested: tuple[str, ...] = ()
    """Models to offer first if the user has a key and chose no model."""

    @property
    def map_name(self) -> str:
        """The provider's name in litellm's price map."""
        return self.litellm or self.name


_DIRECT = (
    Vendor(
        "openai",
        "openai-responses",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        base_url_env="OPENAI_BASE_URL",
        suggested=("gpt-5.6",),
    ),
    Vendor(
        "deepseek",
        "openai-chat",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        suggested=("deepseek-v4-pro", "deepseek-v4-flash"),
    ),
    Vendor(
        "groq",
        "openai-chat",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        suggested=("qwen/qwen3.8-27b",),
    ),
    Vendor(
        "mistral",
        "openai-chat",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        suggested=("mistral-medium-latest",),
    ),
    Vendor("openrouter", "openai-chat", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    Vendor("xai", "openai-chat", "https://api.x.ai/v1", ("XAI_API_KEY",), suggested=("grok-4.7",)),
    Vendor(
        "together_ai",
        "openai-chat",
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
        suggested=("moonshotai/Kimi-K3",),
    ),
    Vendor("fireworks_ai", "openai-chat", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    Vendor(
        "cerebras",
        "openai-chat",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        suggested=("qwen-3.8-27b",),
    ),
    Vendor(
        "moonshot", "openai-chat", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",), suggested=("kimi-k3",)
    ),
    Vendor("zai", "openai-chat", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",), suggested=("glm-5.3",)),
    Vendor(
        "mimo",
        "openai-chat",
        "https://api.xiaomimimo.com/v1",
        ("MIMO_API_KEY", "XIAOMI_MIMO_API_KEY"),
        litellm="xiaomi_mimo",
    ),
    Vendor("ollama", "openai-chat", "http://localhost:11434/v1", base_url_env="OLLAMA_HOST"),
    Vendor("lm_studio", "openai-chat", "http://localhost:1234/v1", base_url_env="LM_STUDIO_API_BASE"),
    Vendor("llamafile", "openai-chat", "http://localhost:8080/v1", base_url_env="LLAMAFILE_API_BASE"),
    Vendor(
        "vllm", "openai-chat", "http://localhost:8000/v1", base_url_env="VLLM_API_BASE", litellm="hosted_vllm"
    ),
)

_BY_LITELLM = (
    Vendor(
        "anthropic",
        "litellm",
        keys=("ANTHROPIC_API_KEY",),
        suggested=("claude-sonnet-5-5", "claude-opus-5-5"),
    ),
    Vendor(
        "gemini",
        "litellm",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        suggested=("gemini-pro-latest", "gemini-flash-latest"),
    ),
    Vendor("cohere", "litellm", keys=("COHERE_API_KEY", "CO_API_KEY"), litellm="cohere_chat"),
    Vendor("perplexity", "litellm", keys=("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY")),
    Vendor("azure", "litellm", keys=("AZURE_API_KEY",), base_url_env="AZURE_API_BASE"),
    Vendor("databricks", "litellm", keys=("DATABRICKS_API_KEY",)),
    Vendor("deepinfra", "litellm", keys=("DEEPINFRA_API_KEY",)),
    Vendor("novita", "litellm", keys=("NOVITA_API_KEY",)),
    Vendor("nebius", "litellm", keys=("NEBIUS_API_KEY",)),
    Vendor("dashscope", "litellm", keys=("DASHSCOPE_API_KEY",)),
)

VENDORS: Mapping[str, Vendor] = {vendor.name: vendor for vendor in (*_DIRECT, *_BY_LITELLM)}

BUILT_IN: Mapping[str, ModelProfile] = {
    "mimo-v2.5": ModelProfile(provider="mimo", model="mimo-v2.5"),
}
"""Profiles that need only a key, no configuration."""


def by_host(host: str) -> Vendor | None:
    """Return the provider with this host in its address."""
    for vendor in _DIRECT:
        if vendor.keys and f"://{host}/" in vendor.base_url + "/":
            return vendor
    return None


def by_map_name(name: str) -> Vendor | None:
    """Return the provider with this name in the price map."""
    return next((vendor for vendor in VENDORS.values() if vendor.map_name == name), None)


def key_variable(provider: str) -> str:
    """Return the variable that holds a provider's key; a variable's own name is returned unchanged."""
    vendor = VENDORS.get(provider)
    if vendor is not None and vendor.keys:
        return vendor.keys[0]
    return provider if provider.isupper() else f"{provider.upper().replace('-', '_')}_API_KEY"


def profile_key(profile: ModelProfile) -> str:
    """Return the variable that a profile's key comes from; empty if the profile may not need one."""
    if profile.api_key_env:
        return profile.api_key_env
    owner = profile.provider or ("openai-chat" if profile.base_url else profile.model.partition("/")[0])
    if owner in CLIENTS:
        owner = profile.model.partition("/")[0] if CLIENTS[owner] == "litellm" else "openai"
    vendor = VENDORS.get(owner)
    return vendor.keys[0] if vendor is not None and vendor.keys and not profile.base_url else ""
