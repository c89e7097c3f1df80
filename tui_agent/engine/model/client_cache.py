"""The model clients of a session, one per model, so that connections are reused; closed with the session."""

from collections.abc import Callable

from tui_agent.ports.model import ModelClient
from tui_agent.protocol.settings import ModelInfo


class ClientCache:
    """A cache of clients, each created on the first call of its model."""

    def __init__(self, make: Callable[[ModelInfo], ModelClient]) -> None:
        self._make = make
        self._clients: dict[ModelInfo, ModelClient] = {}

    def get(self, info: ModelInfo) -> ModelClient:
        """Return the client for a model. Raises `ConfigError` if it cannot be created."""
        if info not in self._clients:
            self._clients[info] = self._make(info)
        return self._clients[info]

    async def aclose(self) -> None:
        """Close every connection."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()
