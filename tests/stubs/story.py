"""A short way to tell folds a story: payloads become envelopes in order, one second apart."""

from typing import Any

from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import Author, FileChanged
from tui_agent.protocol.events.model import ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted, ToolStatus
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId, SessionId
from tui_agent.protocol.parts import ModelPart, TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo

MODEL = ModelInfo(
    profile="fast", provider="test", model="fast-1", window=100_000, input_price=1.0, output_price=4.0
)


class Story:
    """Makes the envelopes of one session."""

    def __init__(self) -> None:
        self.seq = -1

    def __call__(self, payload: Payload, agent: str = MAIN_AGENT) -> Envelope:
        self.seq += 1
        return Envelope(
            v=SCHEMA_VERSION,
            seq=self.seq,
            time=1_000.0 + self.seq,
            session=SessionId("ses_story"),
            agent=AgentId(agent),
            parent=self.seq - 1 if self.seq else None,
            cause=None,
            payload=payload,  # type: ignore[arg-type]
        )


def requested(request: str) -> ModelRequested:
    return ModelRequested(
        request_id=RequestId(request),
        iteration=1,
        local_iteration=1,
        model=MODEL,
        tools=(),
        messages=1,
        max_tokens=100,
    )


def delta(request: str, text: str, block: int = 0, part: str = "text") -> ModelDelta:
    return ModelDelta(request_id=RequestId(request), part_kind=part, part_index=block, text=text)  # type: ignore[arg-type]


def tool_call(call: str, name: str = "run_command", **arguments: str) -> ToolCallPart:
    return ToolCallPart(call_id=CallId(call), name=name, arguments=dict(arguments))


def responded(
    request: str, *parts: ModelPart | str, first_part: int = 0, tokens: int = 100
) -> ModelResponded:
    return ModelResponded(
        request_id=RequestId(request),
        first_part=first_part,
        parts=tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts),
        finish="stop",
        usage=Usage(input_tokens=tokens, output_tokens=10),
        cost_usd=0.5,
        duration_ms=1.0,
    )


def called(call: str, verb: str = "run", target: str = "make", **arguments: str) -> ToolCalled:
    return ToolCalled(
        call_id=CallId(call),
        name="run_command",
        arguments=dict(arguments),
        iteration=1,
        verb=verb,
        target=target,
    )


def started(call: str, *, writes: bool = True) -> ToolStarted:
    return ToolStarted(call_id=CallId(call), writes=writes)


def finished(call: str, status: ToolStatus = "ok", text: str = "done", part: int | None = 1) -> ToolFinished:
    return ToolFinished(
        call_id=CallId(call),
        name="run_command",
        status=status,
        part=part,
        content=(TextContent(text=text),),
        summary=f"sum {call}",
        duration_ms=5.0,
    )


def decision(call: str, **changes: Any) -> PermissionDecided:
    """The user allowed the call, but for the changes."""
    fields: dict[str, Any] = {
        "call_id": call,
        "request_id": None,
        "decision": "allow",
        "decided_by": "user",
        "policy": "ask",
        "rule_id": "r",
        "reason": "",
        "digest": "d",
        "effects": (),
    }
    return PermissionDecided(**(fields | changes))


def file_changed(
    path: str = "a",
    before: str | None = None,
    after: str | None = None,
    *,
    author: Author = "agent",
    added: int = 2,
    removed: int = 1,
    call: str | None = None,
) -> FileChanged:
    return FileChanged(
        path=path,
        before=before,
        after=after,
        before_size=0,
        after_size=0,
        mode=None,
        author=author,
        added=added,
        removed=removed,
        call_id=CallId(call) if call else None,
    )


def compacted(through: int = 1, summary: str = "short", **changes: Any) -> ContextCompacted:
    """A summary that forgets nothing and was made at the limit, but for the changes."""
    fields: dict[str, Any] = {
        "removed_seqs": (),
        "turns": 1,
        "before_tokens": 900,
        "after_tokens": 100,
        "trigger": "limit",
    }
    return ContextCompacted(through_seq=through, summary=summary, **(fields | changes))


def ran_tests(passed: int, failed: int, *failures: str, call: str | None = None) -> TestFinished:
    return TestFinished(
        framework="pytest",
        command="pytest -q",
        passed=passed,
        failed=failed,
        skipped=0,
        exit_code=int(failed > 0),
        failures=failures,
        call_id=CallId(call) if call else None,
    )
