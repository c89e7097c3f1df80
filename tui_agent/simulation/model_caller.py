"""Requests of the simulated user and the orchestrator to a model, outside any session.

Invariant: the tokens and the cost of every answer are counted, even of failed answers.
"""

import random

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ModelError
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.provider_faults import TRANSIENT
from tui_agent.models.retry_waits import MAX_RETRIES, next_wait
from tui_agent.ports.model import ModelClient, ModelRequest
from tui_agent.protocol.messages import AssistantMessage, Message, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart
from tui_agent.protocol.settings import ModelInfo
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.startup_context import StartupContext, load_startup_context

MAX_ANSWER_TOKENS = 8_192


class ModelCaller:
    """A model, with the tokens and the cost of its answers so far."""

    def __init__(self, client: ModelClient, info: ModelInfo, base: StartupContext) -> None:
        self._client = client
        self._info = info
        self._base = base
        self._answers: dict[str, int] = {}
        self.usage = NO_USAGE
        """The tokens and the cost of all answers so far."""

    @property
    def model(self) -> str:
        """The model's profile or name."""
        return self._info.profile

    async def ask(self, system: str, messages: tuple[Message, ...], conversation: str = "") -> str:
        """Return the text of the model's answer. Raise `ModelError` if the model fails.

        `conversation`: name under which the answers are counted: a scripted model answers the Nth request of a
        conversation with the Nth answer that the script has for it.
        """
        # Answers are counted for each conversation, so that a scripted model finds its next answer.
        index = self._answers.get(conversation, 0)
        request = ModelRequest(
            request_id=self._base.ids.request(),
            model=self._info,
            system=system,
            messages=messages,
            tools=(),
            max_tokens=min(self._info.max_output or MAX_ANSWER_TOKENS, MAX_ANSWER_TOKENS),
            answer_count=index,
        )
        attempt = 1
        while True:
            answer = await self._stream(request)
            fault = answer.final_fault()
            if fault is None:
                self._answers[conversation] = index + 1
                return answer.text
            wait = next_wait(attempt, fault.retry_after, random.random())
            if fault.kind not in TRANSIENT or wait is None or attempt > MAX_RETRIES:
                raise ModelError(fault.message, hint=fault.hint)
            await self._base.clock.sleep(wait)
            attempt += 1

    async def _stream(self, request: ModelRequest) -> Assembler:
        answer = Assembler()
        async with self._client.stream(request) as chunks:
            async for chunk in chunks:
                answer.feed(chunk)
        self.usage = self.usage.with_usage(answer.usage, answer.cost_usd)
        return answer

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._client.aclose()


def build_caller(options: SessionOptions, model: str = "") -> ModelCaller:
    """Return a caller of `model`. If `model` is empty, use the configured model.

    Raise `ConfigError` if the model cannot be used.
    """
    base = load_startup_context(options)
    models = build_model_factory(base)
    config = base.config
    if model:
        info = models.resolve(model)
    else:
        info = models.resolve(config.model, config.base_url, config.reasoning_effort)
    return ModelCaller(models.client(info), info, base)


def user_text(text: str) -> UserMessage:
    """Return a user message with this text."""
    return UserMessage(content=(TextContent(text=text),))


def assistant_text(text: str) -> AssistantMessage:
    """Return an assistant message with this text."""
    return AssistantMessage(parts=(TextPart(text=text),))
