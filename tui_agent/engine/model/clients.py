"""One client for each model in use, so that connections live from call to call; closed with the session."""

from collections.abc import Callable

from tui_agent.ports.model import ModelClient
from tui_agent.protocol.settings import ModelInfo


class Clients:
    """Makes a client when a model is first asked and keeps it."""

    def __init__(self, make: Callable[[ModelInfo], ModelClient]) -> None:
        self._make = make
        self._clients: dict[ModelInfo, ModelClient] = {}

    def get(self, info: ModelInfo) -> ModelClient:
        """The client for a model. Raises `ConfigError` where none can be made."""
        if info not in self._clients:
            self._clients[info] = self._make(info)
        return self._clients[info]

    async def aclose(self) -> None:
        """Close every connection."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()
