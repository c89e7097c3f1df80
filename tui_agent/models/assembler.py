"""Streamed chunks to whole parts. Our own, because the usual ones lose or glue tool calls.

Invariant: every call that the provider streamed comes out exactly once, in order, with an id that is unique in the
session; arguments that are no complete JSON object, and those of a call at which the answer was cut at its length
limit, are kept as `malformed` and never completed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tui_agent.models import normalisation as normalise
from tui_agent.models.faults import fault
from tui_agent.ports.clock import Ids
from tui_agent.ports.model import (
    Finished,
    ModelChunk,
    ModelFault,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.model import FinishReason
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ModelPart, ReasoningPart, TextPart, ToolCallPart, Usage

UNNAMED = "unnamed_tool"

AFTERWARDS = ("cut", "timeout")
"""Faults that do no harm once the provider has said that the answer is complete."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What one chunk added, for `model.delta`: `block` counts the answer's parts from 0."""

    part: Literal["text", "reasoning", "tool_call"]
    block: int
    text: str
    name: str = ""
    call_id: str | None = None


@dataclass(slots=True)
class _Text:
    kind: Literal["text", "reasoning"]
    pieces: list[str] = field(default_factory=list)
    signature: str = ""
    opaque: JsonMap | None = None


@dataclass(slots=True)
class _Call:
    index: int | None
    call_id: str | None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def raw(self) -> str:
        return "".join(self.pieces)


class Assembler:
    """Takes the chunks of one answer. `offered` are the tools' names, for aliases and calls written as text."""

    def __init__(self, offered: Collection[str] = ()) -> None:
        self._offered = frozenset(offered)
        self._blocks: list[_Text | _Call] = []
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}
        self.usage = Usage()
        self.cost_usd: float | None = None
        self.finished: Finished | None = None
        self.fault: ModelFault | None = None

    def feed(self, chunk: ModelChunk) -> Delta | None:
        """Take one chunk in; what it added to show, if anything."""
        match chunk:
            case TextChunk(text):
                return self._say("text", text)
            case ReasoningChunk():
                return self._reason(chunk)
            case ToolCallChunk():
                return self._call(chunk)
            case UsageChunk(usage, cost):
                self.usage = usage
                self.cost_usd = cost if cost is not None else self.cost_usd
            case Finished():
                self.finished = chunk
            case ModelFault():
                self.fault = chunk
        return None

    @property
    def text(self) -> str:
        """The words said so far."""
        return "".join("".join(b.pieces) for b in self._blocks if isinstance(b, _Text) and b.kind == "text")

    @property
    def partial(self) -> str:
        """All that came, as text, for an answer that failed: shown, never run."""
        return self.text

    @property
    def finish(self) -> FinishReason:
        """Why the answer ended. Calls decide over the provider's word."""
        if any(isinstance(block, _Call) for block in self._blocks):
            return "tool_calls" if self.finished is None or self.finished.reason != "length" else "length"
        return self.finished.reason if self.finished is not None else "stop"

    def settle(self) -> ModelFault | None:
        """The fault of a stream that has ended: the provider's, a cut, or an empty answer; None when it is whole."""
        lost_afterwards = (
            self.finished is not None and self.fault is not None and self.fault.kind in AFTERWARDS
        )
        if self.fault is not None and not lost_afterwards:
            return self.fault
        if self.finished is None:
            return fault("cut", "The answer broke off before the provider said that it was complete.")
        if self.finished.reason == "refusal":
            said = self.text.strip()
            return fault("refusal", f"The model refused{': ' + said[:300] if said else '.'}", original=said)
        if not any(self._has_content(block) for block in self._blocks):
            if self.finished.reason == "length":
                return fault("empty", "The answer's whole token budget went into thinking; nothing was said.")
            return fault("empty", "The model's answer was empty.")
        return None

    def parts(self, ids: Ids, used: Collection[str] = ()) -> tuple[ModelPart, ...]:
        """The answer's parts in order. `used` are the session's call ids so far: a repeated one is replaced."""
        taken = set(used)
        out: list[ModelPart] = []
        for block in self._blocks:
            if isinstance(block, _Call):
                out.append(self._call_part(block, ids, taken))
            elif block.kind == "reasoning":
                text = "".join(block.pieces)
                if text or block.signature or block.opaque:
                    out.append(
                        ReasoningPart(text=text, signature=block.signature or None, opaque=block.opaque)
                    )
            elif "".join(block.pieces).strip():
                out.append(TextPart(text="".join(block.pieces)))
        if not any(isinstance(part, ToolCallPart) for part in out):
            return self._with_text_call(out, ids, taken)
        return tuple(out)

    def _say(self, kind: Literal["text", "reasoning"], text: str) -> Delta | None:
        if not text:
            return None
        last = self._blocks[-1] if self._blocks else None
        if not isinstance(last, _Text) or last.kind != kind:
            last = _Text(kind)
            self._blocks.append(last)
        last.pieces.append(text)
        return Delta(kind, len(self._blocks) - 1, text)

    def _reason(self, chunk: ReasoningChunk) -> Delta | None:
        last = self._blocks[-1] if self._blocks else None
        if not isinstance(last, _Text) or last.kind != "reasoning" or self._thought_is_over(last, chunk):
            last = _Text("reasoning")
            self._blocks.append(last)
        if chunk.text:
            last.pieces.append(chunk.text)
        last.signature += chunk.signature
        last.opaque = chunk.opaque if chunk.opaque is not None else last.opaque
        return Delta("reasoning", len(self._blocks) - 1, chunk.text) if chunk.text else None

    @staticmethod
    def _thought_is_over(last: _Text, chunk: ReasoningChunk) -> bool:
        """A signature, or a provider's own whole item, closes a block of thinking; the next chunk opens another."""
        return bool(last.signature) or (last.opaque is not None and chunk.opaque != last.opaque)

    def _call(self, chunk: ToolCallChunk) -> Delta | None:
        position = self._place(chunk)
        call = self._blocks[position]
        assert isinstance(call, _Call)
        if chunk.call_id and call.call_id is None:
            call.call_id = chunk.call_id
            self._by_id.setdefault(chunk.call_id, position)
        if chunk.name and not call.name:
            call.name = chunk.name
        piece = chunk.arguments
        if piece and self._is_summary(call, chunk):
            return None
        if piece:
            call.pieces.append(piece)
            call.size += len(piece)
        return Delta(
            "tool_call", position, piece, normalise.tool_name(call.name, self._offered), call.call_id
        )

    def _place(self, chunk: ToolCallChunk) -> int:
        """Which call a piece belongs to: by its id, else by its index, else the last one; or a new one."""
        known = self._by_id.get(chunk.call_id) if chunk.call_id else None
        if known is not None and not self._reuses_id(known, chunk):
            return known
        open_at = self._by_index.get(chunk.index) if chunk.index is not None else self._last_call(chunk)
        if open_at is not None and not self._starts_anew(open_at, chunk):
            return open_at
        self._blocks.append(_Call(chunk.index, chunk.call_id, chunk.name or ""))
        position = len(self._blocks) - 1
        if chunk.index is not None:
            self._by_index[chunk.index] = position
        if chunk.call_id:
            self._by_id[chunk.call_id] = position
        return position

    def _reuses_id(self, position: int, chunk: ToolCallChunk) -> bool:
        """Whether another call (named, on another index) goes under an id that a call has already."""
        call = self._blocks[position]
        assert isinstance(call, _Call)
        elsewhere = chunk.index is not None and call.index is not None and chunk.index != call.index
        return elsewhere and bool(chunk.name) and not self._is_summary(call, chunk)

    def _last_call(self, chunk: ToolCallChunk) -> int | None:
        """Without an index a piece continues the last call, unless it names a tool (and so opens one)."""
        for position in range(len(self._blocks) - 1, -1, -1):
            if isinstance(self._blocks[position], _Call):
                return None if chunk.name else position
        return None

    def _starts_anew(self, position: int, chunk: ToolCallChunk) -> bool:
        """A new id on a used index opens a new call; so does a name after complete arguments.

        Some servers send a fresh id with every piece: those continue a call that is not complete yet.
        """
        call = self._blocks[position]
        assert isinstance(call, _Call)
        if self._is_summary(call, chunk):
            return False
        named = bool(chunk.name)
        complete = (
            call.size > 0 and (named or bool(chunk.call_id)) and normalise.arguments(call.raw) is not None
        )
        if chunk.call_id and call.call_id and chunk.call_id != call.call_id:
            return named or complete
        return named and complete

    @staticmethod
    def _is_summary(call: _Call, chunk: ToolCallChunk) -> bool:
        """Whether a piece repeats the whole call once more at its end, as some servers do."""
        return (
            call.size == len(chunk.arguments)
            and bool(chunk.name)
            and chunk.name == call.name
            and call.raw == chunk.arguments
            and normalise.arguments(call.raw) is not None
        )

    def _call_part(self, call: _Call, ids: Ids, taken: set[str]) -> ToolCallPart:
        call_id = call.call_id
        if not call_id or call_id in taken:
            call_id = ids.call()
        taken.add(call_id)
        raw = call.raw
        parsed = normalise.arguments(raw) if call.name else None
        if self.finish == "length" and call is self._blocks[-1]:
            parsed = None  # cut at this very call: its arguments may be complete JSON by chance
        return ToolCallPart(
            call_id=CallId(call_id),
            name=normalise.tool_name(call.name, self._offered) or UNNAMED,
            arguments=parsed or {},
            malformed=raw if parsed is None else None,
        )

    def _with_text_call(self, out: Sequence[ModelPart], ids: Ids, taken: set[str]) -> tuple[ModelPart, ...]:
        """An answer that is clearly a call written as text becomes that call."""
        if not self._offered or (self.finished is not None and self.finished.reason == "length"):
            return tuple(out)
        found = normalise.text_call(self.text, self._offered)
        if found is None:
            return tuple(out)
        call_id = ids.call()
        taken.add(call_id)
        return (*out, ToolCallPart(call_id=call_id, name=found[0], arguments=found[1]))

    @staticmethod
    def _has_content(block: "_Text | _Call") -> bool:
        return isinstance(block, _Call) or (block.kind == "text" and bool("".join(block.pieces).strip()))
