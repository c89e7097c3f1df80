"""Who offers models: addresses, the variables that hold keys, and which client speaks to them.

Invariant: a key goes to its own vendor's address only, or to an address that the user named.
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
"""Provider names that a profile may give, and the client behind each."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """Somebody who offers models under `name/model`. `base_url` empty: litellm knows the address.

    `keys` are variables, the first that is set counts; empty: no key is needed.
    """

    name: str
    client: ClientName
    base_url: str = ""
    keys: tuple[str, ...] = ()
    base_url_env: str = ""
    litellm: str = ""
    suggested: tuple[str, ...] = ()
    """Models to offer first where the user has a key and said no more."""

    @property
    def map_name(self) -> str:
        """What litellm's price map calls it."""
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
"""Profiles that need no configuration, only their key."""


def by_host(host: str) -> Vendor | None:
    """The vendor whose own address this is."""
    for vendor in _DIRECT:
        if vendor.keys and f"://{host}/" in vendor.base_url + "/":
            return vendor
    return None


def by_map_name(name: str) -> Vendor | None:
    """The vendor that the price map calls so."""
    return next((vendor for vendor in VENDORS.values() if vendor.map_name == name), None)


def key_variable(provider: str) -> str:
    """The variable under which a vendor's key is kept; a variable's own name stands for itself."""
    vendor = VENDORS.get(provider)
    if vendor is not None and vendor.keys:
        return vendor.keys[0]
    return provider if provider.isupper() else f"{provider.upper().replace('-', '_')}_API_KEY"


def profile_key(profile: ModelProfile) -> str:
    """The variable that a profile's key is wanted in; empty where it may go without one."""
    if profile.api_key_env:
        return profile.api_key_env
    owner = profile.provider or ("openai-chat" if profile.base_url else profile.model.partition("/")[0])
    if owner in CLIENTS:
        owner = profile.model.partition("/")[0] if CLIENTS[owner] == "litellm" else "openai"
    vendor = VENDORS.get(owner)
    return vendor.keys[0] if vendor is not None and vendor.keys and not profile.base_url else ""
