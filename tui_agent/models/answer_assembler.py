"""Joins streamed chunks to the parts of a message.

Invariant: every streamed call is returned exactly once, in order, with an id that is unique in the session.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import Literal

from tui_agent.fast_dataclass import dataclass
from tui_agent.models import tool_call_repair
from tui_agent.models.provider_faults import fault
from tui_agent.ports.clock import Ids
from tui_agent.ports.model import (
    FinishChunk,
    ModelChunk,
    ModelFault,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.events.model import FinishReason
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ModelPart, ReasoningPart, TextPart, ToolCallPart, Usage
from tui_agent.protocol.stored_text import JsonMap

UNNAMED_TOOL = "unnamed_tool"
_STRUCTURE = re.compile(r"""["{}]|\\.?""", re.DOTALL)
"""Matches a quote, a brace, or a backslash with the character after it."""

IGNORED_AFTER_FINISH = ("cut", "timeout")
"""Kinds of faults that are ignored after the provider has reported a complete answer."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The content that one chunk adds to the answer.

    `block`: index of the part in the answer, from 0.
    """

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
    position: int
    """Index of the call among the parts of the answer."""
    index: int | None
    call_id: str | None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    _read: int = 0
    """Number of pieces that `is_unfinished` has already read."""
    _depth: int = 0
    _in_string: bool = False
    _escapes: bool = False
    """True if the last piece ended with a backslash that escapes the next character."""

    @property
    def raw(self) -> str:
        return "".join(self.pieces)

    def is_unfinished(self) -> bool:
        """Return True if the arguments received so far are certainly incomplete."""
        # Only the new pieces are read: reading all of them for every chunk would take quadratic time.
        new, start = "".join(self.pieces[self._read :]), int(self._escapes)
        self._escapes = self._escapes and not new
        for match in _STRUCTURE.finditer(new, start):
            self._escapes = match[0] == "\\"
            if match[0] == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += {"{": 1, "}": -1}.get(match[0], 0)
        self._read = len(self.pieces)
        return self.pieces[0].lstrip().startswith("{") and (self._in_string or self._depth > 0)


class Assembler:
    """Assembles the chunks of one answer into its parts: texts, reasoning and tool calls.

    `offered`: names of the tools that the model can call.
    """

    def __init__(self, offered: Collection[str] = ()) -> None:
        self._offered = frozenset(offered)
        self._blocks: list[_Text | _Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self.usage = Usage()
        self.cost_usd: float | None = None
        self.finished: FinishChunk | None = None
        self.fault: ModelFault | None = None

    def feed(self, chunk: ModelChunk) -> Delta | None:
        """Add one chunk. Return the piece of the answer to show on the screen, or None."""
        match chunk:
            case TextChunk(text):
                return self._add_text(text)
            case ReasoningChunk():
                return self._add_reasoning(chunk)
            case ToolCallChunk():
                return self._add_call(chunk)
            case UsageChunk(usage, cost):
                self.usage = usage
                self.cost_usd = cost if cost is not None else self.cost_usd
            case FinishChunk():
                self.finished = chunk
            case ModelFault():
                self.fault = chunk
        return None

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return "".join(
            "".join(block.pieces)
            for block in self._blocks
            if isinstance(block, _Text) and block.kind == "text"
        )

    @property
    def size(self) -> int:
        """The number of characters so far: texts, reasoning, and the names and arguments of calls."""
        return sum(
            sum(map(len, block.pieces)) + (len(block.name) if isinstance(block, _Call) else 0)
            for block in self._blocks
        )

    @property
    def finish(self) -> FinishReason:
        """The reason why the answer ended. With tool calls, the reason is always `length` or `tool_calls`."""
        if any(isinstance(block, _Call) for block in self._blocks):
            return "tool_calls" if self.finished is None or self.finished.reason != "length" else "length"
        return self.finished.reason if self.finished is not None else "stop"

    def final_fault(self) -> ModelFault | None:
        """Return the fault of an ended stream, or None if the answer is complete."""
        lost_afterwards = (
            self.finished is not None and self.fault is not None and self.fault.kind in IGNORED_AFTER_FINISH
        )
        if self.fault is not None and not lost_afterwards:
            return self.fault
        if self.finished is None:
            return fault("cut", "The stream ended before the provider reported the answer as complete.")
        if self.finished.reason == "refusal":
            text = self.text.strip()
            return fault("refusal", f"The model refused{': ' + text[:300] if text else '.'}", original=text)
        if not any(self._has_content(block) for block in self._blocks):
            if self.finished.reason == "length":
                return fault(
                    "empty", "The model used its whole output limit for reasoning and gave no answer."
                )
            return fault("empty", "The provider sent no text and no tool call.")
        return None

    def parts(self, ids: Ids, used: Collection[str] = ()) -> tuple[ModelPart, ...]:
        """Return the answer's parts in order. If a call's id is in `used`, the call gets a new id."""
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
        # Beside real calls, a call in the text is only an example.
        if not any(isinstance(part, ToolCallPart) for part in out):
            return self._with_text_call(out, ids)
        return tuple(out)

    def _add_text(self, text: str) -> Delta | None:
        if not text:
            return None
        self._text_block("text").pieces.append(text)
        return Delta("text", len(self._blocks) - 1, text)

    def _add_reasoning(self, chunk: ReasoningChunk) -> Delta | None:
        block = self._text_block("reasoning")
        # A signature ends a block of reasoning. So does a chunk with other provider data (`opaque`) than the block's.
        if block.signature or (block.opaque is not None and chunk.opaque != block.opaque):
            block = _Text("reasoning")
            self._blocks.append(block)
        block.pieces.append(chunk.text)
        block.signature += chunk.signature
        block.opaque = chunk.opaque if chunk.opaque is not None else block.opaque
        return Delta("reasoning", len(self._blocks) - 1, chunk.text) if chunk.text else None

    def _text_block(self, kind: Literal["text", "reasoning"]) -> _Text:
        last = self._blocks[-1] if self._blocks else None
        if isinstance(last, _Text) and last.kind == kind:
            return last
        block = _Text(kind)
        self._blocks.append(block)
        return block

    def _add_call(self, chunk: ToolCallChunk) -> Delta | None:
        call = self._find_or_add_call(chunk)
        if chunk.call_id and call.call_id is None:
            call.call_id = chunk.call_id
            self._by_id.setdefault(chunk.call_id, call)
        if chunk.name and not call.name:
            call.name = chunk.name
        piece = chunk.arguments
        if piece and self._is_repeat(call, chunk):
            return None
        if piece:
            call.pieces.append(piece)
            call.size += len(piece)
        return self._call_delta(call, piece)

    def _call_delta(self, call: _Call, text: str) -> Delta:
        name = tool_call_repair.tool_name(call.name, self._offered)
        return Delta("tool_call", call.position, text, name, call.call_id)

    def call_deltas(self) -> Iterator[Delta]:
        """Yield each call of the answer with all of its arguments."""
        for block in self._blocks:
            if isinstance(block, _Call):
                yield self._call_delta(block, block.raw)

    def _find_or_add_call(self, chunk: ToolCallChunk) -> _Call:
        """Return the chunk's call, which is added first if it is new."""
        # The id comes before the index, because some servers send the index 0 for every call.
        known = self._by_id.get(chunk.call_id) if chunk.call_id else None
        if known is not None and not self._reuses_id(known, chunk):
            return known
        known = (
            self._by_index.get(chunk.index) if chunk.index is not None else self._find_continued_call(chunk)
        )
        if known is not None and not self._starts_new_call(known, chunk):
            return known
        call = _Call(len(self._blocks), chunk.index, chunk.call_id, chunk.name or "")
        self._blocks.append(call)
        if chunk.index is not None:
            self._by_index[chunk.index] = call
        if chunk.call_id:
            self._by_id[chunk.call_id] = call
        return call

    def _reuses_id(self, call: _Call, chunk: ToolCallChunk) -> bool:
        # Some servers give the same id to several calls.
        elsewhere = chunk.index is not None and call.index is not None and chunk.index != call.index
        return elsewhere and bool(chunk.name) and not self._is_repeat(call, chunk)

    def _find_continued_call(self, chunk: ToolCallChunk) -> _Call | None:
        """Return the call that a chunk without an index continues. Return None if the chunk begins a new call."""
        calls = (block for block in reversed(self._blocks) if isinstance(block, _Call))
        return None if chunk.name else next(calls, None)

    def _starts_new_call(self, call: _Call, chunk: ToolCallChunk) -> bool:
        """Return True if the chunk begins a new call, although it has the index or id of `call`."""
        # A new id alone is no proof, because some servers send a new id with every piece of a call.
        if self._is_repeat(call, chunk):
            return False
        named = bool(chunk.name)
        complete = (
            call.size > 0
            and (named or bool(chunk.call_id))
            and not call.is_unfinished()
            and tool_call_repair.arguments(call.raw) is not None
        )
        if chunk.call_id and call.call_id and chunk.call_id != call.call_id:
            return named or complete
        return named and complete

    @staticmethod
    def _is_repeat(call: _Call, chunk: ToolCallChunk) -> bool:
        """Return True if the piece repeats the complete `call`, as some servers do at the call's end."""
        return (
            call.size == len(chunk.arguments)
            and bool(chunk.name)
            and chunk.name == call.name
            and call.raw == chunk.arguments
            and tool_call_repair.arguments(call.raw) is not None
        )

    def _call_part(self, call: _Call, ids: Ids, taken: set[str]) -> ToolCallPart:
        call_id = call.call_id
        if not call_id or call_id in taken:
            call_id = ids.call()
        taken.add(call_id)
        raw = call.raw
        parsed = tool_call_repair.arguments(raw) if call.name else None
        if self.finish == "length" and call is self._blocks[-1]:
            parsed = None  # the text may have been cut where it happens to be complete JSON
        return ToolCallPart(
            call_id=CallId(call_id),
            name=tool_call_repair.tool_name(call.name, self._offered) or UNNAMED_TOOL,
            arguments=parsed or {},
            malformed=raw if parsed is None else None,
        )

    def _with_text_call(self, out: Sequence[ModelPart], ids: Ids) -> tuple[ModelPart, ...]:
        """Return the parts `out`, followed by the tool call that the model wrote as text, if there is such a call."""
        is_cut = self.finished is not None and self.finished.reason == "length"
        call = tool_call_repair.text_call(self.text, self._offered) if self._offered and not is_cut else None
        if call is None:
            return tuple(out)
        return (*out, ToolCallPart(call_id=ids.call(), name=call[0], arguments=call[1]))

    @staticmethod
    def _has_content(block: "_Text | _Call") -> bool:
        return isinstance(block, _Call) or (block.kind == "text" and bool("".join(block.pieces).strip()))
