"""L3: puts a request's context together from fragments, history and tools, and writes its manifest.

Invariant: the same input gives the same system prompt, byte for byte (providers cache prefixes).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_

from tui_agent.context.tokens import TokenEstimate
from tui_agent.ports.middleware import Fragment
from tui_agent.ports.model import ToolSchema
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.events.context import ContextPacked, FragmentRecord, Section, SectionName
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, ModelPart, ToolCallPart

SEPARATOR = "\n\n---\n\n"
IMAGE_CHARS = 4800
"""An image is counted like this many characters (about 1,200 tokens)."""
MAX_ANSWER_BYTES = 120_000
"""An answer of the model goes back to it whole up to this size, else its head and tail; the log has all of it."""
SECTION_ORDER: tuple[SectionName, ...] = (
    "system",
    "task_contract",
    "instructions",
    "session_context",
    "working_memory",
    "packed_context",
    "repo_map",
    "mentions",
    "available_tools",
    "recent_observations",
    "messages",
    "tool_results",
)


@dataclass(frozen=True, slots=True)
class Packed:
    """A system prompt and the manifest of the whole request."""

    system: str
    manifest: ContextPacked


class Assembly:
    """Assembles requests. Keeps only what can be computed again: sizes of messages and of tool schemas."""

    def __init__(self, estimate: TokenEstimate | None = None) -> None:
        self.estimate = estimate or TokenEstimate()
        self._history: tuple[Message, ...] = ()
        self._said = 0
        self._observed = 0
        self._tool_sizes: dict[str, tuple[ToolSchema, int]] = {}

    def pack(
        self,
        request_id: RequestId,
        window: int,
        fragments: Sequence[Fragment],
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        session_context: str = "",
    ) -> Packed:
        """Compose the system prompt and count every section. `session_context`: what the state says was taken over of
        an earlier session; it has a section of its own where the messages begin with it."""
        ordered = sorted(fragments, key=lambda each: (each.priority, each.id))
        clipped = [(each, self._clip(each)) for each in ordered]
        system = SEPARATOR.join(text for _, text in clipped if text)
        raw: dict[SectionName, int] = dict.fromkeys(SECTION_ORDER, 0)
        sent: dict[SectionName, int] = dict.fromkeys(SECTION_ORDER, 0)
        for fragment, text in clipped:
            raw[fragment.section] += len(fragment.text)
            sent[fragment.section] += len(text)
        raw["available_tools"] = sent["available_tools"] = sum(self._tool_size(tool) for tool in tools)
        self._count(messages)
        carried = _carried_chars(messages, session_context)
        raw["session_context"] += carried
        sent["session_context"] += carried
        raw["messages"] = sent["messages"] = self._said - carried
        raw["tool_results"] = sent["tool_results"] = self._observed
        sections = tuple(
            Section(
                name=name,
                raw_chars=raw[name],
                chars=sent[name],
                tokens=self.estimate.of_chars(sent[name]),
                preserved=raw[name] == sent[name],
                reduced=raw[name] != sent[name],
            )
            for name in SECTION_ORDER
            if raw[name]
        )
        manifest = ContextPacked(
            request_id=request_id,
            window=window,
            total_tokens=sum(section.tokens for section in sections),
            total_chars=sum(section.chars for section in sections),
            sections=sections,
            fragments=tuple(self._record(fragment, text) for fragment, text in clipped),
            prefix_digest=_digest(system),
            session_context_injected=bool(carried),
        )
        return Packed(system=system, manifest=manifest)

    def _clip(self, fragment: Fragment) -> str:
        text = fragment.text.strip()
        if fragment.max_tokens is None:
            return text
        return text[: fragment.max_tokens * 4]

    def _record(self, fragment: Fragment, text: str) -> FragmentRecord:
        return FragmentRecord(
            id=fragment.id,
            digest=_digest(text),
            tokens=self.estimate.of_chars(len(text)),
            section=fragment.section,
        )

    def _count(self, messages: Sequence[Message]) -> None:
        """Bring the characters of messages and results up to date; a history that only grew costs its growth."""
        known = len(self._history)
        if known > len(messages) or not all(map(is_, self._history, messages)):
            known, self._said, self._observed = 0, 0, 0
        for message in messages[known:]:
            size = message_chars(message)
            if isinstance(message, ToolMessage):
                self._observed += size
            else:
                self._said += size
        self._history = tuple(messages)

    def _tool_size(self, tool: ToolSchema) -> int:
        known = self._tool_sizes.get(tool.name)
        if known is not None and known[0] == tool:
            return known[1]
        size = len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters))
        self._tool_sizes[tool.name] = (tool, size)
        return size


def _carried_chars(messages: Sequence[Message], session_context: str) -> int:
    """Characters of the first message, where it is what was taken over of an earlier session."""
    first = messages[0] if messages and session_context else None
    if not isinstance(first, SummaryMessage) or text_preview(first.text) != session_context:
        return 0
    return message_chars(first)


def message_chars(message: Message) -> int:
    """Characters of a message as a model reads it; an image counts as `IMAGE_CHARS`."""
    match message:
        case UserMessage() | ToolMessage():
            return sum(_content_chars(piece) for piece in message.content)
        case SummaryMessage():
            return _text_chars(message.text)
        case AssistantMessage():
            return sum(_part_chars(part) for part in message.parts)


def _content_chars(piece: Content) -> int:
    return IMAGE_CHARS if isinstance(piece, ImageContent) else _text_chars(piece.text)


def _part_chars(part: ModelPart) -> int:
    if isinstance(part, ToolCallPart):
        return len(part.name) + len(json.dumps(part.arguments, ensure_ascii=False))
    return min(_text_chars(part.text), MAX_ANSWER_BYTES)


def _text_chars(text: LongText) -> int:
    return len(text) if isinstance(text, str) else max(text.size, len(text_preview(text)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
