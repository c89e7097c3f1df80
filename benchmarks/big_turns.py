"""Generator of the turns of a long working day, always the same, with which `big_session` fills a log."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_agent.protocol.display_blocks import DiffBlock, TerminalBlock
from tui_agent.protocol.effects import ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked, FragmentRecord, Section
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged, FileRead
from tui_agent.protocol.events.model import ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import ReasoningPart, TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.store.blobs import BlobStore

MODEL = ModelInfo(
    profile="mock", provider="openai-chat", model="mock", window=200_000, input_price=1.0, output_price=4.0
)
COMPACTED_EVERY = 25
"""Turns after which the context is summarised: no window holds more."""
FILES = 400
_WORDS = str.split(
    "the bound is inclusive so loop reads one line too many test asks for it module keeps state of a session "
    "when value changes caller must look again because parser returns early if token has no end we can move check"
)
_SECTIONS = ("system", "available_tools", "instructions", "repo_map", "messages", "tool_results")


@dataclass
class Day:
    """Endless sequence of turns from one seed. `deltas`, `progress`: numbers of pieces of an answer and of an output."""

    blobs: BlobStore
    deltas: int = 16
    progress: int = 8
    length: float = 1.0
    """Of texts and outputs, against those of a usual day."""
    seed: int = 7
    turn: int = 0
    iteration: int = 0
    part: int = 0
    seq: int = 0
    """Events before the turn that is made now; whoever writes them keeps it."""
    _chance: random.Random = field(init=False)
    _talk: str = field(init=False)
    _output: str = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._talk = " ".join(self._chance.choice(_WORDS) for _ in range(60_000))
        self._output = "\n".join(
            f"src/module_{self._chance.randrange(FILES)}.py:{line}: {self._said(40, 90)}"
            for line in range(4_000)
        )

    def _said(self, least: int, most: int) -> str:
        return self._piece(self._talk, least, most)

    def _printed(self, least: int, most: int) -> str:
        return self._piece(self._output, least, most)

    def _piece(self, source: str, least: int, most: int) -> str:
        size = int(self._chance.randrange(least, most) * self.length)
        at = self._chance.randrange(len(source) - size)
        return source[at : at + size]

    def next_turn(self) -> Iterator[Payload]:
        """Yield the events of one turn: a message, several iterations with a call and its result, and an answer."""
        self.turn += 1
        yield UserMessageReceived(text=f"Turn {self.turn}: {self._said(60, 600)}")
        yield TurnStarted(turn=self.turn)
        if self.turn % COMPACTED_EVERY == 0:
            yield ContextCompacted(
                through_seq=self.seq - 1,
                summary=self._said(2_000, 6_000),
                removed_seqs=(),
                turns=COMPACTED_EVERY,
                before_tokens=160_000,
                after_tokens=4_000,
                trigger="limit",
            )
        calls = self._chance.randrange(4, 9)
        for local in range(1, calls + 1):
            yield from self._iteration(local, last=local == calls)
        yield TurnFinished(turn=self.turn, reason="finished", duration_ms=61_000.0)

    def _iteration(self, local: int, *, last: bool) -> Iterator[Payload]:
        self.iteration += 1
        request, call = RequestId(f"req_{self.iteration:08x}"), CallId(f"call_{self.iteration:08x}")
        yield IterationStarted(iteration=self.iteration, local_iteration=local)
        yield self._packed(request)
        yield ModelRequested(
            request_id=request,
            iteration=self.iteration,
            local_iteration=local,
            model=MODEL,
            tools=("read_file", "edit_file", "run_command", "search", "write_todos"),
            messages=40 + local,
            max_tokens=8_192,
            estimated_tokens=60_000,
        )
        thought, text = self._said(200, 2_400), f"{self._said(600, 4_400)}\n\n- `read` stops at `end`\n"
        yield from self._streamed(request, thought, text)
        name = "" if last else self._chance.choice(("read_file", "edit_file", "run_command"))
        path = f"src/package_{self._chance.randrange(20)}/module_{self._chance.randrange(FILES)}.py"
        arguments = {"command": f"pytest -q {path}"} if name == "run_command" else {"path": path}
        asked = () if last else (ToolCallPart(call_id=call, name=name, arguments=arguments),)
        parts = (ReasoningPart(text=thought), TextPart(text=text), *asked)
        yield ModelResponded(
            request_id=request,
            first_part=self.part,
            parts=parts,
            finish="stop" if last else "tool_calls",
            usage=Usage(input_tokens=60_000, output_tokens=700, cached_tokens=50_000),
            cost_usd=0.0123,
            duration_ms=8_000.0,
            first_token_ms=600.0,
            provider_id=f"chatcmpl-{self.iteration:032x}",
        )
        self.part += len(parts)
        if name:
            yield from self._call(call, name, path, arguments)
        yield IterationFinished(
            iteration=self.iteration, action="message" if last else "calls", duration_ms=9_000.0
        )

    def _packed(self, request: RequestId) -> ContextPacked:
        return ContextPacked(
            request_id=request,
            window=200_000,
            total_tokens=60_000,
            total_chars=240_000,
            sections=tuple(
                Section(name=name, raw_chars=40_000, chars=40_000, tokens=10_000) for name in _SECTIONS
            ),
            fragments=tuple(
                FragmentRecord(id=f"{name}.main", digest="0123456789abcdef", tokens=900, section=name)
                for name in _SECTIONS
            ),
            prefix_digest="0123456789abcdef",
        )

    def _streamed(self, request: RequestId, thought: str, text: str) -> Iterator[Payload]:
        if not self.deltas:
            return
        for block, (part, whole) in enumerate((("reasoning", thought), ("text", text))):
            size = max(1, -(-len(whole) * 2 // self.deltas))
            for at in range(0, len(whole), size):
                piece = whole[at : at + size]
                yield ModelDelta.model_validate(
                    {"request_id": request, "part_kind": part, "part_index": block, "text": piece}
                )

    def _call(self, call: CallId, name: str, path: str, arguments: dict[str, str]) -> Iterator[Payload]:
        yield ToolCalled(
            call_id=call,
            name=name,
            arguments=dict(arguments),
            iteration=self.iteration,
            verb={"read_file": "read", "edit_file": "edit"}.get(name, "run"),
            target=path,
        )
        effect = (
            ReadEffect(path=path)
            if name == "read_file"
            else WriteEffect(path=path)
            if name == "edit_file"
            else RunEffect(script=arguments["command"], cwd=".")
        )
        yield PermissionDecided(
            call_id=call,
            request_id=None,
            decision="allow",
            decided_by="rule",
            policy="bypass",
            rule_id="bypass.all",
            reason="The policy bypass allows it.",
            digest="0123456789abcdef",
            effects=(effect,),
        )
        yield ToolStarted(call_id=call, writes=name != "read_file")
        if name == "read_file":
            yield from self._read(call, path)
        elif name == "edit_file":
            yield from self._edited(call, path)
        else:
            yield from self._ran(call)
        self.part += 1
        if self._chance.random() < 0.1:
            yield TodoUpdated(
                items=tuple(
                    TodoItem(
                        id=str(n), content=self._said(30, 60), status="completed" if n < 3 else "pending"
                    )
                    for n in range(6)
                )
            )

    def _read(self, call: CallId, path: str) -> Iterator[Payload]:
        digest = f"{self.iteration:064x}"
        yield FileRead(
            path=path, digest=digest, size=9_000, first_line=1, last_line=250, complete=True, call_id=call
        )
        yield self._finished(call, "read_file", self._printed(4_000, 8_000), "250 lines")

    def _edited(self, call: CallId, path: str) -> Iterator[Payload]:
        before, after = f"{self.iteration - 1:064x}", f"{self.iteration:064x}"
        yield FileChanged(
            path=path,
            before=before,
            after=after,
            before_size=9_000,
            after_size=9_100,
            mode=0o644,
            author="agent",
            added=7,
            removed=4,
            call_id=call,
        )
        diff = "@@ -1,4 +1,7 @@\n" + "".join(f"+{line}\n" for line in self._printed(500, 3_000).splitlines())
        block = DiffBlock(path=path, diff=diff, added=7, removed=4)
        yield self._finished(call, "edit_file", f"Changed {path}.", "+7 -4", block)
        yield CheckpointTaken(part=self.part, commit=f"{self.iteration:040x}", paths=(path,), call_id=call)

    def _ran(self, call: CallId) -> Iterator[Payload]:
        output = self._printed(3_000, 24_000)
        size = -(-len(output) // self.progress) if self.progress else 0
        for at in range(0, len(output), size) if size else ():
            yield ToolProgress(call_id=call, text=output[at : at + size])
        yield self._finished(
            call, "run_command", output, "exit 1", TerminalBlock(text=self.blobs.put_text(output))
        )

    def _finished(
        self, call: CallId, name: str, text: str, summary: str, *display: DiffBlock | TerminalBlock
    ) -> ToolFinished:
        return ToolFinished(
            call_id=call,
            name=name,
            status="ok",
            part=self.part,
            content=(TextContent(text=self.blobs.put_text(text)),),
            display=display,
            summary=summary,
            duration_ms=900.0,
        )
