"""Model providers, with their addresses, key variables and clients.

Invariant: a key is sent only to its own provider's address or to an address that the user entered.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from tui_agent.config.settings.settings import ModelProfile
from tui_agent.fast_dataclass import dataclass

ClientName: TypeAlias = Literal["openai-chat", "openai-responses", "litellm", "scripted", "replay", "chaos"]

CLIENTS: Mapping[str, ClientName] = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "openai-codex": "openai-responses",
    "litellm": "litellm",
}
"""Maps each provider name in a profile to the client for this provider."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models, used as `name/model`.

    `base_url`: empty if litellm knows the address.
    `key_variables`: environment variables; the first one that is set is used. Empty if no key is needed.
    """

    name: str
    client: ClientName
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    base_url_env: str = ""
    litellm: str = ""
    suggested_models: tuple[str, ...] = ()
    """Names of the models to offer first to a user who has a key but chose no model."""

    @property
    def map_name(self) -> str:
        """The provider's name in litellm's price map."""
        return self.litellm or self.name


_DIRECT = (
    Provider(
        "openai",
        "openai-responses",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        base_url_env="OPENAI_BASE_URL",
        suggested_models=("gpt-5.6",),
    ),
    Provider(
        "deepseek",
        "openai-chat",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        suggested_models=("deepseek-v4-pro", "deepseek-v4-flash"),
    ),
    Provider(
        "groq",
        "openai-chat",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        suggested_models=("qwen/qwen3.8-27b",),
    ),
    Provider(
        "mistral",
        "openai-chat",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        suggested_models=("mistral-medium-latest",),
    ),
    Provider("openrouter", "openai-chat", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    Provider("xai", "openai-chat", "https://api.x.ai/v1", ("XAI_API_KEY",), suggested_models=("grok-4.7",)),
    Provider(
        "together_ai",
        "openai-chat",
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
        suggested_models=("moonshotai/Kimi-K3",),
    ),
    Provider("fireworks_ai", "openai-chat", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    Provider(
        "cerebras",
        "openai-chat",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        suggested_models=("qwen-3.8-27b",),
    ),
    Provider(
        "moonshot",
        "openai-chat",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        suggested_models=("kimi-k3",),
    ),
    Provider(
        "zai", "openai-chat", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",), suggested_models=("glm-5.3",)
    ),
    Provider(
        "mimo",
        "openai-chat",
        "https://api.xiaomimimo.com/v1",
        ("MIMO_API_KEY", "XIAOMI_MIMO_API_KEY"),
        litellm="xiaomi_mimo",
    ),
    Provider("ollama", "openai-chat", "http://localhost:11434/v1", base_url_env="OLLAMA_HOST"),
    Provider("lm_studio", "openai-chat", "http://localhost:1234/v1", base_url_env="LM_STUDIO_API_BASE"),
    Provider("llamafile", "openai-chat", "http://localhost:8080/v1", base_url_env="LLAMAFILE_API_BASE"),
    Provider(
        "vllm", "openai-chat", "http://localhost:8000/v1", base_url_env="VLLM_API_BASE", litellm="hosted_vllm"
    ),
)

_BY_LITELLM = (
    Provider(
        "anthropic",
        "litellm",
        key_variables=("ANTHROPIC_API_KEY",),
        suggested_models=("claude-sonnet-5-5", "claude-opus-5-5"),
    ),
    Provider(
        "gemini",
        "litellm",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        suggested_models=("gemini-pro-latest", "gemini-flash-latest"),
    ),
    Provider("cohere", "litellm", key_variables=("COHERE_API_KEY", "CO_API_KEY"), litellm="cohere_chat"),
    Provider("perplexity", "litellm", key_variables=("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY")),
    Provider("azure", "litellm", key_variables=("AZURE_API_KEY",), base_url_env="AZURE_API_BASE"),
    Provider("databricks", "litellm", key_variables=("DATABRICKS_API_KEY",)),
    Provider("deepinfra", "litellm", key_variables=("DEEPINFRA_API_KEY",)),
    Provider("novita", "litellm", key_variables=("NOVITA_API_KEY",)),
    Provider("nebius", "litellm", key_variables=("NEBIUS_API_KEY",)),
    Provider("dashscope", "litellm", key_variables=("DASHSCOPE_API_KEY",)),
)

PROVIDERS: Mapping[str, Provider] = {vendor.name: vendor for vendor in (*_DIRECT, *_BY_LITELLM)}
EXAMPLE_MODEL: Final = f"anthropic/{PROVIDERS['anthropic'].suggested_models[0]}"
"""The name of a model, as an example in messages."""

BUILT_IN_PROFILES: Mapping[str, ModelProfile] = {
    "mimo-v2.5": ModelProfile(provider="mimo", model="mimo-v2.5"),
}
"""Model profiles that need only a key and no configuration."""


def find_by_host(host: str) -> Provider | None:
    """Return the provider with an address on the host `host`, or None if there is none."""
    matching = (
        vendor for vendor in _DIRECT if vendor.key_variables and f"://{host}/" in f"{vendor.base_url}/"
    )
    return next(matching, None)


def find_by_map_name(name: str) -> Provider | None:
    """Return the provider with this name in litellm's price map, or None if there is none."""
    return next((vendor for vendor in PROVIDERS.values() if vendor.map_name == name), None)


def key_variable(provider: str) -> str:
    """Return the name of the variable that holds a provider's key.

    For an unknown provider, derive the name: `ACME_API_KEY` for `acme`. Return a name in capital letters unchanged.
    """
    vendor = PROVIDERS.get(provider)
    if vendor is not None and vendor.key_variables:
        return vendor.key_variables[0]
    return provider if provider.isupper() else f"{provider.upper().replace('-', '_')}_API_KEY"


def profile_key(profile: ModelProfile) -> str:
    """Return the name of the variable that holds a profile's key, or an empty text if no key is needed."""
    if profile.api_key_env:
        return profile.api_key_env
    owner = profile.provider or ("openai-chat" if profile.base_url else profile.model.partition("/")[0])
    if owner in CLIENTS:
        owner = profile.model.partition("/")[0] if CLIENTS[owner] == "litellm" else "openai"
    vendor = PROVIDERS.get(owner)
    needs_key = vendor is not None and vendor.key_variables and not profile.base_url
    return vendor.key_variables[0] if vendor is not None and needs_key else ""
