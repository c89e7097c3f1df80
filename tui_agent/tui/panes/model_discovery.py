"""What there is to begin with: keys in the environment, servers on this machine that answer, the demo.

Invariant: only this machine is asked (loopback addresses), each server once, within a second.
"""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tui_agent.config.settings import ModelProfile
from tui_agent.config.vendors import BUILT_IN, VENDORS, Vendor, profile_key
from tui_agent.tui.panes.start import WITHOUT_KEY, Choice

SERVERS = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000))
PATIENCE_S = 1.0
MOST_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Server:
    """A local server and the models it names."""

    name: str
    port: int
    models: tuple[str, ...]

    @property
    def address(self) -> str:
        """Its OpenAI-compatible address."""
        return f"http://localhost:{self.port}/v1"


async def servers(known: Sequence[tuple[str, int]] = SERVERS) -> list[Server]:
    """Those that answer."""
    found = await asyncio.gather(*(_ask(name, port) for name, port in known))
    return [one for one in found if one is not None]


async def _ask(name: str, port: int) -> Server | None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(
                    f"GET /v1/models HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode()
                )
                await writer.drain()
                said = await reader.read(MOST_BYTES)
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None
    return _server(name, port, said)


def _server(name: str, port: int, said: bytes) -> Server | None:
    start, end = said.find(b"{"), said.rfind(b"}")
    try:
        listed = json.loads(said[start : end + 1])["data"]
        models = tuple(str(one["id"]) for one in listed)
    except (ValueError, KeyError, TypeError):
        return None
    return Server(name, port, models)


def first_choices(
    models: Mapping[str, ModelProfile], local: Sequence[Server], keys: Collection[str]
) -> list[Choice]:
    """The rows of the first page: what is set up, what was found here, then what works without a key.

    `keys` are the variables that have a value.
    """
    return [
        *(_profile(name, profile, keys) for name, profile in models.items()),
        *_with_keys(keys),
        *(_local(one) for one in local if one.models),
        *WITHOUT_KEY,
    ]


def _profile(name: str, profile: ModelProfile, keys: Collection[str]) -> Choice:
    variable = profile_key(profile)
    group = "Set up in config.toml"
    if variable and variable not in keys:
        return Choice(name, f"wants {variable}, which is not set", "type it", f"provider {name}", group)
    said = f"{variable} is set" if variable else profile.base_url or "is set up"
    return Choice(name, said, profile.model, f"model {name}", group)


def _with_keys(keys: Collection[str]) -> list[Choice]:
    found: list[Choice] = []
    for vendor in VENDORS.values():
        variable = next((one for one in vendor.keys if one in keys), "")
        if variable:
            first = suggested(vendor)
            intent = f"model {first}" if first else f"provider {vendor.name}/"
            model = first.partition("/")[2] or "name a model"
            found.append(
                Choice(pretty(vendor.name), f"{variable} is set", model, intent, "Found on this machine")
            )
    return found


def suggested(vendor: Vendor) -> str:
    """The name of the model to offer first of a vendor, or of a built-in profile of its; empty where there is none."""
    if vendor.suggested:
        return f"{vendor.name}/{vendor.suggested[0]}"
    return next(
        (
            f"{vendor.name}/{profile.model}"
            for profile in BUILT_IN.values()
            if profile.provider == vendor.name
        ),
        "",
    )


def _local(one: Server) -> Choice:
    count = f"{len(one.models)} model{'s' if len(one.models) != 1 else ''}"
    about = f"answers on localhost:{one.port}, {count}"
    return Choice(
        one.name, about, one.models[0], f"local {one.address} {one.models[0]}", "Found on this machine"
    )


_WRITTEN = {
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


def pretty(name: str) -> str:
    """A vendor's name as people write it."""
    return _WRITTEN.get(name, name.replace("_", " ").capitalize())


def ready_choices(help_key: str) -> list[Choice]:
    """The rows of the page before the first message, where a model is set."""
    group = "Begin"
    return [
        Choice("Write", "what should change, or what you want to know", "", "write", group),
        Choice("Sessions", "go on with an earlier session of this folder", "", "sessions", group),
        Choice("Help", "keys and commands", help_key, "help", group),
    ]
