"""Discovery of models that are ready to use: models with an API key, models on local servers, and the demo.

Invariant: this module connects only to loopback addresses, to each server once, and for at most a second.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from tui_agent.config.settings.providers import BUILT_IN_PROFILES, PROVIDERS, Provider, profile_key
from tui_agent.config.settings.settings import ModelProfile
from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.start import WAYS_TO_START, StartChoice

SERVERS = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000))
TIMEOUT_S = 1.0
MAX_RESPONSE_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Server:
    """A model server on this machine, and the models that it offers."""

    name: str
    port: int
    models: tuple[str, ...]

    @property
    def address(self) -> str:
        """The URL of the server's OpenAI-compatible API."""
        return f"http://localhost:{self.port}/v1"


async def find_servers(known: Sequence[tuple[str, int]] = SERVERS) -> list[Server]:
    """Connect to the `known` (name, port) pairs on this machine, and return the servers that respond."""
    answers = await asyncio.gather(*(_ask(name, port) for name, port in known))
    return [server for server in answers if server is not None]


async def _ask(name: str, port: int) -> Server | None:
    """Return the server on this port, or None if no server sends a list of models within `TIMEOUT_S`."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            # An address instead of a name, so that no name lookup can lead to another machine.
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(
                    f"GET /v1/models HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode()
                )
                await writer.drain()
                response = b""
                # A server may send the headers before the body, and may leave the connection open.
                while len(response) < MAX_RESPONSE_BYTES and (chunk := await reader.read(MAX_RESPONSE_BYTES)):
                    response += chunk
                    if server := _parse_server(name, port, response):
                        return server
            finally:
                writer.close()
    except (OSError, TimeoutError):
        pass
    return None


def _parse_server(name: str, port: int, response: bytes) -> Server | None:
    # The JSON object begins at the first brace. Headers and chunk sizes around it are skipped.
    start, end = response.find(b"{"), response.rfind(b"}")
    try:
        models = tuple(str(model["id"]) for model in parse_json(response[start : end + 1])["data"])
    except (ValueError, KeyError, TypeError):
        return None
    return Server(name, port, models)


def first_choices(
    models: Mapping[str, ModelProfile], local: Sequence[Server], keys: Collection[str]
) -> list[StartChoice]:
    """Return the start page's rows to choose a model.

    `keys`: names of the environment variables that are set.
    """
    return [
        *(_profile_choice(name, profile, keys) for name, profile in models.items()),
        *_vendor_choices(keys),
        *(_server_choice(server) for server in local if server.models),
        *WAYS_TO_START,
    ]


def _profile_choice(name: str, profile: ModelProfile, keys: Collection[str]) -> StartChoice:
    variable = profile_key(profile)
    group = "Set up in config.toml"
    if variable and variable not in keys:
        return StartChoice(name, f"needs {variable}, which is not set", "type it", f"provider {name}", group)
    about = f"{variable} is set" if variable else profile.base_url or "is set up"
    return StartChoice(name, about, profile.model, f"model {name}", group)


def _vendor_choices(keys: Collection[str]) -> list[StartChoice]:
    """Return a row for each vendor with an API key in the environment."""
    choices: list[StartChoice] = []
    for vendor in PROVIDERS.values():
        variable = next((key for key in vendor.key_variables if key in keys), "")
        if variable:
            first = suggested_model(vendor)
            intent = f"model {first}" if first else f"provider {vendor.name}/"
            model = first.partition("/")[2] or "name a model"
            choices.append(
                StartChoice(
                    vendor_title(vendor.name), f"{variable} is set", model, intent, "Found on this machine"
                )
            )
    return choices


def suggested_model(vendor: Provider) -> str:
    """Return the first model to suggest for a vendor, as `vendor/model`; empty if there is none."""
    built_in = (profile.model for profile in BUILT_IN_PROFILES.values() if profile.provider == vendor.name)
    model = next(iter([*vendor.suggested_models, *built_in]), "")
    return f"{vendor.name}/{model}" if model else ""


def _server_choice(server: Server) -> StartChoice:
    about = f"answers on localhost:{server.port}, {format_count(len(server.models), 'model')}"
    model = server.models[0]
    return StartChoice(server.name, about, model, f"local {server.address} {model}", "Found on this machine")


_SPELLINGS = {
    "openai": "OpenAI",
    "deepseek": "DeepSeek",
    "openrouter": "OpenRouter",
    "xai": "xAI",
    "together_ai": "Together AI",
    "fireworks_ai": "Fireworks AI",
    "zai": "Z.ai",
    "mimo": "MiMo",
    "lm_studio": "LM Studio",
    "vllm": "vLLM",
    "deepinfra": "DeepInfra",
    "dashscope": "DashScope",
}


def vendor_title(name: str) -> str:
    """Return the usual spelling of a vendor's name, e.g. `OpenAI` for `openai`."""
    return _SPELLINGS.get(name, name.replace("_", " ").capitalize())


def ready_choices(help_key: str) -> list[StartChoice]:
    """Return the rows of the start page when a model is set.

    `help_key`: the key shown in the help row.
    """
    return [StartChoice("Help", "keys and commands", help_key, "help", "Also")]


def sessions_choice(group: str) -> StartChoice:
    """Return the start page's row for earlier sessions."""
    return StartChoice("Sessions", "continue an earlier session", "/sessions", "sessions", group)
