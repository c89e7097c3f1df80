"""Writes golden logs through the real store, with a clock that only moves when told."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.stubs.clock import FakeClock
from tui_agent.protocol.display_blocks import DisplayBlock, TerminalBlock
from tui_agent.protocol.effects import Effect, ReadEffect, digest_effects
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked, CountedMessage, Section, SectionName
from tui_agent.protocol.events.model import FinishReason, ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted, ToolStatus
from tui_agent.protocol.events.turn import IterationFinished, IterationStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId, SessionId
from tui_agent.protocol.parts import ModelPart, ReasoningPart, TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

SONNET = ModelInfo(
    profile="claude-sonnet-4-5",
    provider="anthropic",
    model="claude-sonnet-4-5",
    effort="high",
    effective_effort="high",
    window=200_000,
    max_output=64_000,
    input_price=3.0,
    output_price=15.0,
    cached_price=0.3,
    images=True,
)
MIMO = ModelInfo(
    profile="mimo",
    provider="openai-chat",
    model="mimo-v2.5",
    efforts=(),
    window=128_000,
    max_output=32_000,
    input_price=0.3,
    output_price=1.2,
)


class Scribe:
    """One session's log. Times are seconds that pass between events; everything else comes out of the script."""

    def __init__(self, session: str, start: float) -> None:
        self.clock = FakeClock(start)
        self._root = Path(tempfile.mkdtemp(prefix="golden-"))
        self.log = SessionStore(self._root / "sessions", self.clock, Redactor()).create(SessionId(session))
        self.agent = MAIN_AGENT
        self.model = SONNET
        self.parts = 0
        self.requests = 0
        self.calls = 0
        self.iteration = 0
        self.local = 0
        self.messages = 1
        self._uncounted: dict[AgentId, list[CountedMessage]] = {}

    def emit(self, payload: Payload, *, agent: AgentId | None = None) -> Envelope:
        event = self.log.append(payload, agent=agent or self.agent)
        said = _said(payload)
        if said:
            message = CountedMessage(seq=event.seq, tokens=4 + len(said) // 4)
            self._uncounted.setdefault(event.agent, []).append(message)
        return event

    def wait(self, seconds: float) -> None:
        self.clock.time = round(self.clock.time + seconds, 6)

    def until(self, moment: float) -> None:
        assert moment >= self.clock.time - 1e-6, (moment, self.clock.time)
        self.clock.time = moment

    def save(self, folder: Path, name: str) -> None:
        """Copy the log (and its blobs, where it has some) to `folder`."""
        self.log.close()
        shutil.copyfile(self.log.folder / "events.jsonl", folder / f"{name}.jsonl")
        blobs = sorted((self.log.folder / "blobs").glob("*"))
        if blobs:
            target = folder / f"{name}.blobs"
            target.mkdir(exist_ok=True)
            for blob in blobs:
                shutil.copyfile(blob, target / blob.name)
        shutil.rmtree(self._root)

    def begin_iteration(self, *, level: int = 0) -> float:
        self.iteration += 1
        self.local += 1
        self.emit(
            IterationStarted(iteration=self.iteration, local_iteration=self.local, delegate_level=level)
        )
        return self.clock.time

    def end_iteration(self, begun: float, seconds: float, action: str = "calls") -> None:
        self.until(round(begun + seconds, 6))
        self.emit(
            IterationFinished(iteration=self.iteration, action=action, duration_ms=round(seconds * 1_000, 3))
        )

    def pack(self, request: RequestId, sections: Sequence[tuple[SectionName, int]]) -> None:
        total = sum(tokens for _, tokens in sections)
        self.emit(
            ContextPacked(
                request_id=request,
                window=self.model.window,
                total_tokens=total,
                total_chars=total * 4,
                sections=tuple(
                    Section(name=name, raw_chars=tokens * 4, chars=tokens * 4, tokens=tokens)
                    for name, tokens in sections
                ),
                counted_tokens=total,
                tokenizer="characters",
                added=tuple(self._uncounted.pop(self.agent, [])),
                prefix_digest="5d1f0c7a9be2",
            )
        )

    def ask(
        self, tokens: int, sections: Sequence[tuple[SectionName, int]], tools: Sequence[str]
    ) -> RequestId:
        """The manifest and the request."""
        self.requests += 1
        request = RequestId(f"req_{self.requests:08x}")
        self.pack(request, sections)
        self.emit(
            ModelRequested(
                request_id=request,
                iteration=self.iteration,
                local_iteration=self.local,
                model=self.model,
                tools=tuple(tools),
                messages=self.messages,
                max_tokens=self.model.max_output,
                estimated_tokens=tokens,
            )
        )
        return request

    def stream(self, request: RequestId, block: int, text: str, seconds: float, pieces: int) -> None:
        """A text as merged deltas over some seconds."""
        width = max(1, -(-len(text) // pieces))
        chunks = [text[at : at + width] for at in range(0, len(text), width)]
        for chunk in chunks:
            self.wait(seconds / len(chunks))
            self.emit(ModelDelta(request_id=request, part_kind="text", part_index=block, text=chunk))

    def reply(
        self,
        request: RequestId,
        *,
        thoughts: int = 1,
        text: str = "",
        calls: Sequence[ToolCallPart] = (),
        usage: tuple[int, int, int],
        cost: float,
        seconds: float,
        pieces: int = 6,
    ) -> None:
        """An answer `seconds` after its request: hidden reasoning, then words, then calls."""
        asked = self.clock.time
        parts: list[ModelPart] = [
            ReasoningPart(text="", signature=f"sig-{request}-{one}") for one in range(thoughts)
        ]
        if text:
            self.wait(seconds * 0.4)
            self.stream(request, len(parts), text, seconds * 0.5, pieces)
            parts.append(TextPart(text=text))
        parts += calls
        self.until(round(asked + seconds, 6))
        finish: FinishReason = "tool_calls" if calls else "stop"
        self.emit(
            ModelResponded(
                request_id=request,
                first_part=self.parts,
                parts=tuple(parts),
                finish=finish,
                usage=Usage(input_tokens=usage[0], output_tokens=usage[1], cached_tokens=usage[2]),
                cost_usd=cost,
                duration_ms=round(seconds * 1_000, 3),
                first_token_ms=round(seconds * 400, 3),
            )
        )
        self.parts += len(parts)
        self.messages += 1 + len(calls)

    def call(self, name: str, arguments: JsonMap) -> ToolCallPart:
        self.calls += 1
        return ToolCallPart(call_id=CallId(f"call_{self.calls:08x}"), name=name, arguments=arguments)

    def called(self, part: ToolCallPart, verb: str, target: str) -> None:
        self.emit(
            ToolCalled(
                call_id=part.call_id,
                name=part.name,
                arguments=part.arguments,
                iteration=self.iteration,
                verb=verb,
                target=target,
            )
        )

    def allow(
        self,
        part: ToolCallPart,
        effects: tuple[Effect, ...] = (ReadEffect(path="src", recursive=True),),
        rule: str = "allow reads in the workspace",
    ) -> None:
        self.decide(part, "allow", effects, rule, reason="a rule of the policy")

    def decide(
        self, part: ToolCallPart, decision: str, effects: tuple[Effect, ...], rule: str, *, reason: str
    ) -> None:
        self.emit(
            PermissionDecided(
                call_id=part.call_id,
                request_id=None,
                decision=decision,
                decided_by="rule",
                policy="ask",
                rule_id=rule,
                reason=reason,
                digest=digest_effects(part.name, effects),
                effects=effects,
            )
        )

    def start(self, part: ToolCallPart, *, writes: bool = False) -> None:
        self.emit(ToolStarted(call_id=part.call_id, writes=writes))

    def finish(
        self,
        part: ToolCallPart,
        text: str,
        *,
        ms: float,
        summary: str,
        status: ToolStatus = "ok",
        display: tuple[DisplayBlock, ...] = (),
        terminal: bool = False,
    ) -> None:
        """The result `ms` after the start; it is the next part."""
        self.wait(ms / 1_000)
        blocks = (TerminalBlock(text=text),) if terminal else display
        self.emit(
            ToolFinished(
                call_id=part.call_id,
                name=part.name,
                status=status,
                part=self.parts,
                content=(TextContent(text=text),),
                display=blocks,
                summary=summary,
                duration_ms=ms,
            )
        )
        self.parts += 1


def fingerprint(text: str) -> str:
    """The digest that a file's content would have."""
    return hashlib.sha256(text.encode()).hexdigest()


def _said(payload: Payload) -> str:
    """What a model reads of an event; empty where it is no message."""
    match payload:
        case UserMessageReceived(text=text):
            return str(text)
        case ModelResponded(parts=parts):
            return " ".join(part.model_dump_json() for part in parts)
        case ToolFinished(content=content):
            return " ".join(piece.model_dump_json() for piece in content)
        case _:
            return ""
