"""Callers of a model whose answers are given, and whose requests can be looked at."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path

from tui_agent.config.session_options import SessionOptions
from tui_agent.models.script_format import Script, ScriptedAnswer
from tui_agent.models.scripted import ScriptedClient
from tui_agent.ports.model import ModelChunk, ModelRequest
from tui_agent.protocol.settings import ModelInfo
from tui_agent.simulation.model_caller import ModelCaller
from tui_agent.wiring.startup_context import load_startup_context

INFO = ModelInfo(profile="user", provider="scripted", model="user")
BASE = load_startup_context(SessionOptions(cwd=Path("/")), {"HOME": "/nonexistent"})


class RecordingCaller(ModelCaller):
    """A caller that keeps its requests."""

    requests: list[ModelRequest]


class _RecordingClient(ScriptedClient):
    requests: list[ModelRequest]

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        self.requests.append(request)
        return aclosing(self._chunks(request))


def caller(*answers: str | ScriptedAnswer) -> RecordingCaller:
    """Return a caller whose model gives these answers in order."""
    plain = tuple(ScriptedAnswer(text=answer) if isinstance(answer, str) else answer for answer in answers)
    return script_caller(Script(answers=plain))


def script_caller(script: Script) -> RecordingCaller:
    """Return a caller whose model plays a script."""
    client = _RecordingClient(script, "user", BASE.clock)
    client.requests = []
    made = RecordingCaller(client, INFO, BASE)
    made.requests = client.requests
    return made
