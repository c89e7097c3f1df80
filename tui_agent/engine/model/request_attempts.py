"""One request to a model: the attempts to send it, the streamed answer, and its end."""

from collections.abc import Collection
from typing import Literal

from tui_agent.engine.components import EngineParts
from tui_agent.engine.delta_merge import DeltaMerger, FlushTimer
from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.engine.plugins.forced_stop import stop_though_shielded
from tui_agent.errors import PluginError
from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.pricing import cost
from tui_agent.plugin_host.plugin_imports import plugin_of
from tui_agent.ports.model import ModelClient, ModelFault, ModelReply, ModelRequest
from tui_agent.protocol.events.model import (
    ModelDelta,
    ModelFailed,
)
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.parts import Usage

_Block = tuple[Literal["text", "reasoning", "tool_call"], int, str]
"""Key of a streamed block of an answer: (kind of part, number of the block, name of the tool)."""


class ModelCall:
    """One request to the model, with all attempts to send it."""

    def __init__(
        self,
        parts: EngineParts,
        ticker: FlushTimer,
        agent: AgentId,
        request: ModelRequest,
        estimated_input: int,
    ) -> None:
        self._parts = parts
        self._ticker = ticker
        self._agent = agent
        self.request = request
        self._estimated_input = estimated_input
        self._assembler = Assembler()
        self._started = parts.clock.monotonic()
        self._first_token: float | None = None

    async def attempt(self) -> ModelFault | None:
        """Stream the answer once. Return the fault, or None if the answer is complete."""
        self._assembler = assembler = Assembler([tool.name for tool in self.request.tools])
        client = self._parts.client_for(self.request.model)
        clock = self._parts.clock
        plugin = plugin_of(type(client).__module__)
        label = f"The client of the model provider {self.request.model.provider}"
        label += f" (plugin {plugin})" if plugin else ""
        try:
            with (
                guard_plugin(label, PluginError),
                self._ticker.open_merger(clock, self._emit) as merger,
            ):
                await stop_though_shielded(self._receive(client, merger))
        except PluginError as error:
            return ModelFault("client", error.message)
        fault = assembler.final_fault()
        if fault is None:
            for call in assembler.call_deltas():
                self._emit((call.part, call.block, call.name), call.text)
        return fault

    async def _receive(self, client: ModelClient, merger: DeltaMerger[_Block]) -> None:
        async with client.stream(self.request) as chunks:
            async for chunk in chunks:
                delta = self._assembler.feed(chunk)
                if delta is None:
                    continue
                if self._first_token is None:
                    self._first_token = self._parts.clock.monotonic()
                # Record a call's arguments only when they are complete. Whether part of a command is a secret,
                # like the password after `curl -u`, depends on the words around it, and a secret must be
                # neither recorded nor shown before it is recognised.
                if delta.part != "tool_call":
                    merger.add((delta.part, delta.block, delta.name), delta.text)

    def _emit(self, block: _Block, text: str) -> None:
        kind, number, name = block
        self._parts.recorder.append(
            ModelDelta(
                request_id=self.request.request_id, part_kind=kind, part_index=number, text=text, name=name
            ),
            agent=self._agent,
        )

    def record_failure(
        self, fault: ModelFault, attempts: int, *, cancelled: bool = False, in_flight: bool = False
    ) -> None:
        """Record that the request failed or was stopped.

        `in_flight`: True if the request was stopped before its answer was complete.
        """
        # Providers charge for an answer that was stopped or cut off, but usually do not report its tokens.
        usage = self._usage if in_flight or self._assembler.size else Usage()
        self._parts.recorder.append(
            ModelFailed(
                request_id=self.request.request_id,
                fault="cancelled" if cancelled else fault.kind,
                message=fault.message,
                hint=fault.hint,
                status=fault.status,
                window=fault.window_tokens,
                attempts=attempts,
                partial=self._assembler.text,
                usage=usage,
                cost_usd=cost(self.request.model, usage),
            ),
            agent=self._agent,
        )

    @property
    def _usage(self) -> Usage:
        """The provider's token counts, or an estimate of four characters per token if there are none."""
        usage = self._assembler.usage
        if usage.input_tokens or usage.output_tokens:
            return usage
        output = self._assembler.size // 4
        return Usage(input_tokens=self._estimated_input, output_tokens=output, estimated=True)

    def reply(self, first_part: int, used: Collection[str]) -> ModelReply:
        """Return the complete answer.

        - `first_part`: number of the answer's first part.
        - `used`: call ids that are already taken. The answer's calls get other ids.
        """
        ended_at = self._parts.clock.monotonic()
        assembler = self._assembler
        usage = self._usage
        first = self._first_token
        return ModelReply(
            parts=assembler.parts(self._parts.ids, used),
            finish=assembler.finish,
            usage=usage,
            cost_usd=assembler.cost_usd
            if assembler.cost_usd is not None
            else cost(self.request.model, usage),
            first_part=first_part,
            duration_ms=round((ended_at - self._started) * 1000, 1),
            first_token_ms=None if first is None else round((first - self._started) * 1000, 1),
            provider_id=assembler.finished.provider_id if assembler.finished is not None else "",
            request_id=self.request.request_id,
        )
