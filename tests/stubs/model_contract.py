"""What every model client must do, whatever is behind it: the cases, and how to run one.

A rig turns a `Reply` into a client that will give it; the contract's tests are in tests/unit/models.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import anyio
import pytest

from tests.stubs.clock import FakeClock, SequentialIds
from tests.stubs.sse_server import Reply, Shape, SseServer, running
from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.litellm_client import LiteLLMClient, load
from tui_agent.models.replay_model import RecordedAnswers, ReplayClient
from tui_agent.models.script_format import Script, ScriptedAnswer, ScriptedCall, ScriptedFault, ScriptedUsage
from tui_agent.models.scripted import ScriptedClient
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import ModelClient, ModelFault, ModelRequest, ToolSchema
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import Message, UserMessage
from tui_agent.protocol.parts import ModelPart, ReasoningPart, TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo

PATIENCE_S = 30.0
"""So long a busy machine may take for an answer that comes; only a silence that is meant waits shorter."""
STALLED_S = 1.0
"""So long a silence is waited for; a server on a busy machine must have got the request by then."""

READ = ToolSchema(
    "read_file",
    "Reads a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
GREP = ToolSchema("grep", "Searches.", {"type": "object", "properties": {"pattern": {"type": "string"}}})


@dataclass(frozen=True)
class Outcome:
    """An answer as the assembler saw it."""

    assembler: Assembler
    fault: ModelFault | None

    @property
    def parts(self) -> tuple[ModelPart, ...]:
        return self.assembler.parts(SequentialIds())

    @property
    def calls(self) -> list[ToolCallPart]:
        return [part for part in self.parts if isinstance(part, ToolCallPart)]


class Rig(Protocol):
    """A client that will give one reply, and what it was sent."""

    info: ModelInfo
    client: ModelClient
    server: SseServer | None


@dataclass
class _Rig:
    info: ModelInfo
    client: ModelClient
    server: SseServer | None = None


def request(
    info: ModelInfo, *messages: Message, text: str = "please", system: str = "be brief"
) -> ModelRequest:
    """A request with two tools; one user message unless others are given."""
    said = messages or (UserMessage(content=(TextContent(text=text),)),)
    return ModelRequest(RequestId("req_1"), info, system, tuple(said), (READ, GREP), 1_000)


async def answer(rig: Rig, asked: ModelRequest | None = None) -> Outcome:
    """The outcome of one request. Nothing here may hang: it fails once a client had all the time it was given."""
    assembler = Assembler(("read_file", "grep"))
    with anyio.fail_after(2 * PATIENCE_S):
        async with rig.client.stream(asked or request(rig.info)) as chunks:
            async for chunk in chunks:
                assembler.feed(chunk)
    return Outcome(assembler, assembler.final_fault())


MakeHttp = Callable[[Endpoint, Clock], ModelClient]


@asynccontextmanager
async def http_rig(
    shape: Shape, make: MakeHttp, model: str, *replies: Reply, timeout: float = PATIENCE_S
) -> AsyncIterator[Rig]:
    """A client of the real kind against a real server."""
    async with running() as server:
        server.replies += replies
        base = server.url if shape == "anthropic" else f"{server.url}/v1"
        info = ModelInfo(profile="p", provider="test", model=model, base_url=base, images=True)
        client = make(Endpoint(base, "sk-test", timeout=timeout), FakeClock())
        try:
            yield _Rig(info, client, server)
        finally:
            await client.aclose()


@asynccontextmanager
async def litellm_rig(
    shape: Shape, model: str, *replies: Reply, timeout: float = PATIENCE_S
) -> AsyncIterator[Rig]:
    """litellm's client. Its first answer builds its types, which may take longer than a short time limit."""
    make = partial(http_rig, shape, LiteLLMClient, model)
    if shape not in _WARM:
        load()
        async with make(Reply(text="warm"), timeout=2 * PATIENCE_S) as rig:
            assert (await answer(rig)).fault is None
        _WARM.add(shape)
    async with make(*replies, timeout=timeout) as rig:
        yield rig


_WARM: set[Shape] = set()
OPENAI = partial(litellm_rig, "chat", "openai/m")
ANTHROPIC = partial(litellm_rig, "anthropic", "anthropic/claude-sonnet-4-5")
LITELLM_MARKS = (
    pytest.mark.slow,  # to import litellm takes as long as hundreds of other tests
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning"
    ),  # litellm's own calls; ours are not on this path
)


@asynccontextmanager
async def scripted_rig(*replies: Reply) -> AsyncIterator[Rig]:
    """A scripted model that says the same."""
    script = Script(answers=tuple(_scripted(reply) for reply in replies))
    info = ModelInfo(profile="p", provider="scripted", model="script")
    yield _Rig(info, ScriptedClient(script, "test", FakeClock()))


@asynccontextmanager
async def replay_rig(*replies: Reply) -> AsyncIterator[Rig]:
    """A recording that says the same."""
    info = ModelInfo(profile="p", provider="replay", model="ses")
    yield _Rig(info, ReplayClient(RecordedAnswers([_recorded(reply) for reply in replies]), "replay:ses"))


def _scripted(reply: Reply) -> ScriptedAnswer:
    faults: Sequence[ScriptedFault] = ()
    if reply.status == 429:
        faults = [ScriptedFault(kind="rate_limit", retry_after=2, status=429)]
    elif reply.fault in ("cut", "abort"):
        faults = [ScriptedFault(kind="cut", after=len(reply.text))]
    elif reply.fault == "stall":
        faults = [ScriptedFault(kind="timeout", after=len(reply.text))]
    return ScriptedAnswer(
        text=reply.text,
        reasoning=reply.reasoning,
        calls=tuple(ScriptedCall(name=name, raw=raw, id=call_id) for call_id, name, raw in reply.calls),
        faults=tuple(faults),
        finish=None if reply.finish == "stop" else reply.finish,
        usage=ScriptedUsage(input=reply.usage[0], output=reply.usage[1], cached=reply.usage[2]),
    )


def _recorded(reply: Reply) -> ModelResponded:
    parts: list[ModelPart] = []
    if reply.reasoning:
        parts.append(ReasoningPart(text=reply.reasoning))
    if reply.text:
        parts.append(TextPart(text=reply.text))
    for call_id, name, raw in reply.calls:
        whole = raw.endswith("}")
        parts.append(
            ToolCallPart(
                call_id=CallId(call_id),
                name=name,
                arguments={"path": "a.py"} if whole else {},
                malformed=None if whole else raw,
            )
        )
    given, came, cached = reply.usage
    return ModelResponded(
        request_id=RequestId("req_0"),
        first_part=0,
        parts=tuple(parts),
        finish="tool_calls" if reply.calls else reply.finish,
        usage=Usage(input_tokens=given, output_tokens=came, cached_tokens=cached),
        cost_usd=None,
        duration_ms=1.0,
    )
