"""L7: what there is to begin with: keys in the environment, servers on this machine that answer, the demo.

Invariant: only this machine is asked (loopback addresses), each server once, within a second.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tui_agent.config.vendors import VENDORS, key_variable
from tui_agent.tui.outside import JsonRow, text_of
from tui_agent.tui.panes.start import Choice

SERVERS = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000))
PATIENCE_S = 1.0
MOST_BYTES = 200_000
ALWAYS = ("anthropic", "openai")


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


def first_choices(rows: list[JsonRow], local: list[Server], environ: Mapping[str, str]) -> list[Choice]:
    """The rows of the first page: found here, then what works without a key."""
    found: list[Choice] = []
    held: set[str] = set()
    for row in rows:
        vendor = text_of(row, "provider")
        name = text_of(row, "profile", "model")
        if name.startswith(("demo", "scripted")) or vendor in ("scripted", "demo"):
            continue
        owner = name.partition("/")[0].lower() if "/" in name else vendor
        variable = key_variable(owner) if owner in VENDORS else ""
        said = f"{variable} is set" if variable and environ.get(variable) else "is set up"
        label = pretty(owner) if owner in VENDORS else name
        held.add(owner)
        found.append(Choice(label, said, text_of(row, "model"), f"model {name}", "Found on this machine"))
    for one in local:
        model = one.models[0] if one.models else ""
        count = f"{len(one.models)} model{'s' if len(one.models) != 1 else ''}"
        intent = f"local {one.address} {model}" if model else ""
        found.append(
            Choice(
                one.name, f"answers on localhost:{one.port}, {count}", model, intent, "Found on this machine"
            )
        )
    for name in ALWAYS:
        if name not in held:
            about = f"{key_variable(name)} is not set"
            found.append(Choice(pretty(name), about, group="Found on this machine"))
    group = "Without a key"
    return [
        *found,
        Choice("Demo", "a real task in a throw-away folder, offline", "about 60 s", "demo", group),
        Choice(
            "Other provider", "model, address and key, any OpenAI-compatible server", "", "provider", group
        ),
        Choice("Sessions", "open a recorded session of this folder", "", "sessions", group),
    ]


def pretty(name: str) -> str:
    """A vendor's name as people write it."""
    return {"openai": "OpenAI", "xai": "xAI", "openrouter": "OpenRouter"}.get(name, name.capitalize())


def ready_choices() -> list[Choice]:
    """The rows of the page before the first message, where a model is set."""
    group = "Begin"
    return [
        Choice("Write", "what should change or what you want to know; Enter sends", "", "write", group),
        Choice("Sessions", "go on with an earlier session of this folder", "", "sessions", group),
        Choice("Help", "keys and commands", "F1", "help", group),
    ]
