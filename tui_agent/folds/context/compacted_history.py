"""Messages that were removed by compaction and can be restored, and pinned messages.

Invariant: `originals` yields the whole history in order, even after compactions, reductions and undos. The newest
`MAX_FULL_MESSAGES` removed messages are stored in full. Older layers keep only the user's messages, pins, the current
plan and the newest tests. A session of several weeks therefore stays small. The log has everything.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.artifacts import Artifact, left_out_note
from tui_agent.protocol.base import CallId, text_preview
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import Content, TextContent, TextPart, ToolCallPart

MAX_FULL_MESSAGES = 400
"""Maximum number of messages that are stored in full after a summary has replaced them."""
FIRST_USER_MESSAGES, NEWEST_USER_MESSAGES = 20, 200
"""Limits for the user's older messages.

The first limit applies to the earliest messages, which contain the task. The second limit applies to the newest
messages.
"""
RETAINED_TOOLS: Final = ("present_plan", "run_tests")
"""The newest call of each of these tools is always stored. For `present_plan`, it is the newest approved call."""
QUOTED_CHARS: Final = 4_000
"""Maximum length of the quoted arguments of a restored call, in characters."""
FIRST_LINE_CHARS: Final = 120
"""Maximum length of the first line that a reduced result keeps, in characters."""
_ORIGINS: Final[dict[MessageOrigin, str]] = {
    "prompt": "a message of the user",
    "mentions": "files mentioned by the user",
    "map": "the repository map",
    "transient": "a note",
    "restored": "a message restored earlier",
    "instructions": "instructions of a folder",
    "hook": "a note of a hook",
}
RESTORED_PREFIX = "[Restored from before the summary: "


@dataclass(frozen=True, slots=True)
class Layer:
    """The messages that the compaction with the event `seq` removed, in order.

    If `is_thinned`, most of the messages were discarded, and the compaction cannot be undone. Only the oldest layer can
    be thinned.
    """

    seq: int
    messages: tuple[Message, ...]
    is_thinned: bool = False


@dataclass(slots=True)
class RemovedMessages:
    """The messages that compaction removed from the model's history.

    The methods take the current messages of the history and return its new messages.

    `reduced`: the full results of tool calls that were reduced to one line.

    `pinned`: the event numbers of pinned messages.

    `user_seqs`: the event numbers of the user's own messages. `steered_seqs`: the messages that arrived during a turn.

    `restored`: maps the event of each restored message to the event that quotes the message.
    """

    layers: list[Layer] = field(default_factory=list)
    reduced: dict[CallId, ToolMessage] = field(default_factory=dict)
    pinned: dict[int, None] = field(default_factory=dict)
    user_seqs: dict[int, None] = field(default_factory=dict)
    steered_seqs: dict[int, None] = field(default_factory=dict)
    restored: dict[int, int] = field(default_factory=dict)

    def compact(self, messages: Sequence[Message], through: int, summary: SummaryMessage) -> list[Message]:
        """Replace all messages up to the event `through` by `summary`, and return the new history.

        An older summary is replaced too. A result is removed together with its call.
        """
        first = len(self.leading_summary(messages))
        newer = [message for message in messages[first:] if message.seq > through]
        asked_ids = call_ids(newer)
        staying = [
            message
            for message in newer
            if not isinstance(message, ToolMessage) or message.call_id in asked_ids
        ]
        staying_ids = {id(message) for message in staying}
        removed = (
            *messages[:first],
            *(message for message in messages[first:] if id(message) not in staying_ids),
        )
        self.layers.append(Layer(summary.seq, removed))
        while sum(len(layer.messages) for layer in self.layers if not layer.is_thinned) > MAX_FULL_MESSAGES:
            if not self._thin_oldest():
                break
        return [summary, *staying]

    def is_user_text(self, message: Message) -> bool:
        """Return True for the user's own message. Context that was added by the same event is not the user's own."""
        return (
            isinstance(message, UserMessage) and message.origin == "prompt" and message.seq in self.user_seqs
        )

    def starts_turn(self, message: Message) -> bool:
        """Return True if the user's message started a turn. Return False if the message arrived during a turn."""
        return self.is_user_text(message) and message.seq not in self.steered_seqs

    @property
    def newest_compaction(self) -> int | None:
        """The event of the newest compaction. None if that compaction cannot be undone."""
        return self.layers[-1].seq if self.layers and not self.layers[-1].is_thinned else None

    def _thin_oldest(self) -> bool:
        """Discard most messages of the oldest layer that is stored in full. The user's messages and pins stay.

        Return False if only the newest layer is stored in full.
        """
        thin_layer = self.layers[0] if self.layers[0].is_thinned else Layer(-1, ())
        layer = self.layers[int(thin_layer.is_thinned)]
        if layer is self.layers[-1]:
            return False
        messages = [*thin_layer.messages, *layer.messages]
        kept_seqs = {*self.pinned, *_retained_seqs(messages)}
        remaining = [
            message for message in messages if self.is_user_text(message) or message.seq in kept_seqs
        ]
        first_newest = len(remaining) - NEWEST_USER_MESSAGES
        remaining = [
            message
            for index, message in enumerate(remaining)
            if index < FIRST_USER_MESSAGES or index >= first_newest or message.seq in kept_seqs
        ]
        for message in messages:
            if isinstance(message, ToolMessage) and message.seq not in kept_seqs:
                self.reduced.pop(message.call_id, None)
        self.layers[: int(thin_layer.is_thinned) + 1] = [Layer(layer.seq, tuple(remaining), is_thinned=True)]
        return True

    def leading_summary(self, history: Sequence[Message]) -> Sequence[Message]:
        """Return a sequence with the summary at the start of the history. Empty if there is no summary."""
        has_summary = bool(self.layers and history) and history[0].seq == self.layers[-1].seq
        return history[:1] if has_summary else ()

    def reduce(self, history: Sequence[Message], artifacts: dict[CallId, Artifact]) -> list[Message]:
        """Reduce each result in `artifacts` to its first line and a note, and return the new history. The note names
        the artifact with the full result.
        """
        return [self._reduce_message(message, artifacts) for message in history]

    def _reduce_message(self, message: Message, artifacts: dict[CallId, Artifact]) -> Message:
        if not isinstance(message, ToolMessage) or message.call_id in self.reduced:
            return message
        artifact = artifacts.get(message.call_id)
        if artifact is None:
            return message
        self.reduced[message.call_id] = message
        note = left_out_note(artifact.lines - 1, artifact.size, artifact.id)
        text = f"{_first_line(message)}\n{note}".strip()
        return message.model_copy(update={"content": (TextContent(text=text),)})

    def restore(
        self, history: Sequence[Message], seqs: Collection[int], seq: int
    ) -> tuple[list[Message], list[UserMessage]]:
        """Restore the messages of the events `seqs`. `seq` is the event that restores them.

        Returns the new history and a list of quotations. Reduced results are in the history in full. Summarised
        messages are quoted, and the caller must append the quotations to the history.
        """
        present_seqs = {message.seq for message in history}
        unreduced = [self._unreduce(message) if message.seq in seqs else message for message in history]
        restored = [
            message
            for message in self.originals(())
            if message.seq in seqs
            and message.seq not in present_seqs
            and self.restored.get(message.seq) not in present_seqs
        ]
        self.restored |= {message.seq: seq for message in restored}
        calls = calls_by_id(self.originals(())) if restored else {}
        return unreduced, [quote_message(message, seq, calls) for message in restored]

    def _unreduce(self, message: Message) -> Message:
        if not isinstance(message, ToolMessage):
            return message
        return self.reduced.pop(message.call_id, message)

    def undo(
        self, history: Sequence[Message], compaction: int, open_calls: Collection[CallId]
    ) -> list[Message]:
        """Undo the newest compaction. Return the history with all messages that the compaction removed.

        If `compaction` is not the newest compaction, the history is returned unchanged.
        """
        front = self.leading_summary(history)
        if not front or self.newest_compaction != compaction:
            return list(history)
        layer = self.layers.pop()
        return drop_unpaired_calls([*layer.messages, *history[len(front) :]], open_calls)

    def originals(self, history: Sequence[Message]) -> Iterator[Message]:
        """Yield every message of the session in its original form, in order. `history` is the current history."""
        previous_summary: int | None = None
        for layer in self.layers:
            has_summary = layer.messages and layer.messages[0].seq == previous_summary
            yield from map(self.original, layer.messages[1 if has_summary else 0 :])
            previous_summary = layer.seq
        yield from map(self.original, history[len(self.leading_summary(history)) :])

    def original(self, message: Message) -> Message:
        """Return the full form of a result that was reduced to one line. Return any other message unchanged."""
        return self.reduced.get(message.call_id, message) if isinstance(message, ToolMessage) else message


def _first_line(message: ToolMessage) -> str:
    first = message.content[0] if message.content else None
    text = text_preview(first.text) if isinstance(first, TextContent) else ""
    return text.strip().partition("\n")[0][:FIRST_LINE_CHARS]


def _retained_seqs(messages: Sequence[Message]) -> set[int]:
    """Return the seqs of the newest calls of `RETAINED_TOOLS`, and the seqs of the calls' results."""
    results = {message.call_id: message for message in messages if isinstance(message, ToolMessage)}
    newest: dict[str, tuple[int, int]] = {}
    for message in messages:
        for call in _calls(message) if isinstance(message, AssistantMessage) else ():
            result = results.get(call.call_id)
            # A plan counts only if it was approved, which means that its call succeeded.
            if (
                call.name in RETAINED_TOOLS
                and result is not None
                and (result.ok or call.name != RETAINED_TOOLS[0])
            ):
                newest[call.name] = message.seq, result.seq
    return {seq for pair in newest.values() for seq in pair}


def calls_by_id(messages: Iterable[Message]) -> dict[CallId, ToolCallPart]:
    """Return a `dict` that maps call ids to the calls in these messages."""
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    return {call.call_id: call for answer in answers for call in _calls(answer)}


def successful_calls(messages: Iterable[Message]) -> set[CallId]:
    """Return the ids of the calls with a successful result."""
    return {message.call_id for message in messages if isinstance(message, ToolMessage) and message.ok}


def call_ids(messages: Iterable[Message]) -> set[CallId]:
    """Return the ids of the calls in these messages."""
    return set(calls_by_id(messages))


def drop_unpaired_calls(messages: Sequence[Message], open_calls: Collection[CallId] = ()) -> list[Message]:
    """Return the messages without unpaired calls and results.

    A result without a call is unpaired. A call without a result is unpaired too, unless it is in `open_calls`.
    """
    answered = {message.call_id for message in messages if isinstance(message, ToolMessage)} | set(open_calls)
    remaining = [rest for message in messages if (rest := _without_open_calls(message, answered)) is not None]
    asked_ids = call_ids(remaining)
    return [
        message
        for message in remaining
        if not (isinstance(message, ToolMessage) and message.call_id not in asked_ids)
    ]


def _without_open_calls(message: Message, results: Collection[CallId]) -> Message | None:
    if not isinstance(message, AssistantMessage):
        return message
    parts = tuple(
        part for part in message.parts if not isinstance(part, ToolCallPart) or part.call_id in results
    )
    if len(parts) == len(message.parts):
        return message
    return message.model_copy(update={"parts": parts}) if parts else None


def quote_message(message: Message, seq: int, calls: Mapping[CallId, ToolCallPart]) -> UserMessage:
    """Return a user message that quotes `message`. The quotation is valid anywhere in a history. A quoted result
    includes its call.
    """
    match message:
        case UserMessage(content=content, origin=kind):
            return _quote(_ORIGINS[kind], content, seq)
        case ToolMessage(name=name, content=content, call_id=call_id):
            call = calls.get(call_id)
            call_text = (TextContent(text=format_call(call, QUOTED_CHARS)),) if call is not None else ()
            return _quote(f"the result of {name}", (*call_text, *content), seq)
        case SummaryMessage(text=text):
            return _quote("a summary", (TextContent(text=text),), seq)
        case AssistantMessage():
            texts = tuple(TextContent(text=part.text) for part in message.parts if isinstance(part, TextPart))
            requested = tuple(TextContent(text=format_call(part, QUOTED_CHARS)) for part in _calls(message))
            return _quote("your answer", (*texts, *requested), seq)


def _quote(origin: str, content: tuple[Content, ...], seq: int) -> UserMessage:
    heading = TextContent(text=f"{RESTORED_PREFIX}{origin}.]")
    return UserMessage(content=(heading, *content), seq=seq, origin="restored")


def _calls(message: AssistantMessage) -> Iterator[ToolCallPart]:
    return (part for part in message.parts if isinstance(part, ToolCallPart))


def format_call(call: ToolCallPart, max_chars: int = 200) -> str:
    """Return a call in one line: its name and at most `max_chars` characters of its arguments."""
    arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
    return f"{call.name} {arguments[:max_chars]}{'…' if len(arguments) > max_chars else ''}"


def preview(message: Message) -> str:
    """Return the beginning of a message's text."""
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            texts = [text_preview(part.text) for part in content if isinstance(part, TextContent)]
        case SummaryMessage(text=text):
            texts = [text_preview(text)]
        case AssistantMessage():
            texts = [text_preview(part.text) for part in message.parts if isinstance(part, TextPart)]
            texts += [format_call(part) for part in _calls(message)]
    return "\n".join(texts)
