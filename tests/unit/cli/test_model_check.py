"""`models check`: what a provider's answer to the test request is called."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from tui_agent.cli import models
from tui_agent.cli.models import NoAnswer, ask
from tui_agent.models.provider_faults import from_status
from tui_agent.ports.model import ModelChunk, ModelFault, ModelRequest
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui import cli_client

INFO = ModelInfo(profile="openai/x", provider="openai-chat", model="x")


class Refusing:
    """A client whose provider answers with a fault."""

    def __init__(self, fault: ModelFault) -> None:
        self._fault = fault

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        async def chunks() -> AsyncIterator[ModelChunk]:
            yield self._fault

        yield chunks()

    async def aclose(self) -> None:
        """Close nothing."""


@pytest.mark.parametrize(
    ("status", "message", "kind", "said", "is_address_suspect"),
    [
        (401, "invalid x-api-key", "auth", "The key was refused (401): invalid x-api-key.", False),
        (403, "", "auth", "The key was refused (403): no reason given.", False),
        (404, "The model `x` does not exist.", "invalid_request", "No such model: openai/x.", False),
        (400, "x is not a valid model ID", "invalid_request", "No such model: openai/x.", False),
        (404, "Not Found", "invalid_request", "The provider answered 404: Not Found.", True),
        (500, "model crashed", "server_error", "The provider answered 500: model crashed.", False),
    ],
)  # fmt: skip
async def test_a_refusal_is_named_in_plain_words(
    status: int, message: str, kind: str, said: str, is_address_suspect: bool
) -> None:
    with pytest.raises(NoAnswer) as refused:
        await ask(Refusing(from_status(status, message, {}, now=0.0)), INFO)
    assert (refused.value.kind, refused.value.message) == (kind, said)
    assert refused.value.is_address_suspect == is_address_suspect


class Silent(Refusing):
    """A client whose provider never answers."""

    def __init__(self) -> None:
        pass

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        await anyio.sleep_forever()
        yield  # type: ignore[misc]


async def test_a_model_that_does_not_answer_is_reported_before_the_app_gives_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert models.PATIENCE_S + 4 < cli_client.PATIENCE_S
    monkeypatch.setattr(models, "PATIENCE_S", 0.01)
    with pytest.raises(NoAnswer) as silent:
        await ask(Silent(), INFO)
    assert silent.value.kind == "timeout" and silent.value.message.startswith(
        "openai/x did not answer within"
    )
    assert "may still be loading the model" in silent.value.hint
