"""Pinned messages, and messages that can be restored after a compaction.

The newest `MAX_FULL_MESSAGES` removed messages are stored. Of the older ones, only important messages are stored.

Invariant: `RemovedMessages.originals` yields the stored messages in order, even after compactions and undos.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.artifacts import Artifact, left_out_note
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import Content, TextContent, TextPart, ToolCallPart, text_previews, tool_calls
from tui_agent.protocol.stored_text import LongText, text_preview

MAX_FULL_MESSAGES = 400
"""Maximum number of summarised messages that are stored in full."""
FIRST_USER_MESSAGES, NEWEST_USER_MESSAGES = 20, 200
"""When old messages are discarded, the user's first `FIRST_USER_MESSAGES` (with the task) and newest
`NEWEST_USER_MESSAGES` are kept."""
QUOTED_CHARS: Final = 4_000
"""Maximum length of the quoted arguments of a restored call, in characters."""
FIRST_LINE_CHARS: Final = 120
"""Maximum length of a reduced result's first line, in characters."""
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
class UserReply:
    """A user's text that reached the model in a call's result, such as the reason for a refusal.

    - `seq`: the event with the text.
    - `occasion`: phrase for the action in which the user wrote the text, such as `answering "Which file?"`.
    - `refused_call`: the call that the user refused (empty for other replies).
    """

    seq: int
    occasion: str
    words: LongText
    refused_call: CallId = CallId("")


@dataclass(frozen=True, slots=True)
class Layer:
    """The messages removed from the history by the compaction in event `seq`, in order.

    `is_thinned`: True if most of the messages were discarded, so that the compaction cannot be undone.
    """

    seq: int
    messages: tuple[Message, ...]
    is_thinned: bool = False


@dataclass(slots=True)
class RemovedMessages:
    """The messages that compaction removed from the model's history.

    A method that changes the history takes the history's current messages and returns the new ones.

    - `reduced`: full results of tool calls that were reduced to one line.
    - `pinned`: event numbers of pinned messages.
    - `user_seqs`: maps the event number of each message by the user to the words typed around a long paste (empty:
      nothing long was pasted).
    - `steered_seqs`: event numbers of messages that arrived during a turn.
    - `restored`: maps the event of each restored message to the event that quotes the message.
    - `replies`: the user's newest `NEWEST_USER_MESSAGES` replies.
    - `plan`: the newest approved plan, as the user edited it.
    """

    layers: list[Layer] = field(default_factory=list)
    reduced: dict[CallId, ToolMessage] = field(default_factory=dict)
    pinned: dict[int, None] = field(default_factory=dict)
    user_seqs: dict[int, str] = field(default_factory=dict)
    steered_seqs: dict[int, None] = field(default_factory=dict)
    restored: dict[int, int] = field(default_factory=dict)
    replies: list[UserReply] = field(default_factory=list)
    plan: LongText = ""

    def compact(self, messages: Sequence[Message], through: int, summary: SummaryMessage) -> list[Message]:
        """Replace all messages up to the event `through` by `summary`, and return the new history."""
        # A result is removed together with its call.
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
            *messages[:first],  # the previous summary, which an undo of this compaction needs again
            *(message for message in messages[first:] if id(message) not in staying_ids),
        )
        self.layers.append(Layer(summary.seq, removed))
        while sum(len(layer.messages) for layer in self.layers if not layer.is_thinned) > MAX_FULL_MESSAGES:
            if not self._thin_oldest():
                break
        return [summary, *staying]

    def add_reply(self, reply: UserReply) -> None:
        """Store a reply of the user, unless the reply has no words."""
        if text_preview(reply.words).strip():
            self.replies = [*self.replies, reply][-NEWEST_USER_MESSAGES:]

    def is_user_text(self, message: Message) -> bool:
        """Return True if the user wrote the message."""
        return (
            isinstance(message, UserMessage) and message.origin == "prompt" and message.seq in self.user_seqs
        )

    def starts_turn(self, message: Message) -> bool:
        """Return True if the user's message started a turn; False if the message arrived during a turn."""
        return self.is_user_text(message) and message.seq not in self.steered_seqs

    @property
    def newest_compaction(self) -> int | None:
        """The number of the newest compaction's event; None if that compaction cannot be undone."""
        return self.layers[-1].seq if self.layers and not self.layers[-1].is_thinned else None

    def _thin_oldest(self) -> bool:
        """Discard most messages of the oldest compaction whose messages are still complete.

        Return False, and discard nothing, if this is the newest compaction.
        """
        # Only the first layer can be thinned: it collects what is left of all older layers.
        thin_layer = self.layers[0] if self.layers[0].is_thinned else Layer(-1, ())
        layer = self.layers[int(thin_layer.is_thinned)]
        if layer is self.layers[-1]:
            return False
        messages = [*thin_layer.messages, *layer.messages]
        kept_seqs = {*self.pinned, *_newest_test_run(messages)}
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
        """Return the summary at the start of the history, or an empty sequence."""
        has_summary = bool(self.layers and history) and history[0].seq == self.layers[-1].seq
        return history[:1] if has_summary else ()

    def reduce(self, history: Sequence[Message], artifacts: dict[CallId, Artifact]) -> list[Message]:
        """Reduce each result in `artifacts` to its first line and a note, and return the new history."""
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
        """Restore the messages of the events `seqs`.

        Return (new history, quoted messages). Reduced results are restored in place; the caller must append the quoted
        messages.

        `seq`: the event that restores the messages.
        """
        present_seqs = {message.seq for message in history}
        unreduced = [self._unreduce(message) if message.seq in seqs else message for message in history]
        # A message is not restored again while the history still contains its quote.
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
        """Undo the newest compaction, and return the history with the removed messages.

        If `compaction` is not the newest compaction, return the history unchanged.
        """
        front = self.leading_summary(history)
        if not front or self.newest_compaction != compaction:
            return list(history)
        layer = self.layers.pop()
        return drop_unpaired_calls([*layer.messages, *history[len(front) :]], open_calls)

    def originals(self, history: Sequence[Message]) -> Iterator[Message]:
        """Yield every stored message in its original form, in order. `history`: the current history."""
        previous_summary: int | None = None
        for layer in self.layers:
            # Each later layer begins with the summary of the previous layer, which is not an original message.
            has_summary = layer.messages and layer.messages[0].seq == previous_summary
            yield from map(self.original, layer.messages[1 if has_summary else 0 :])
            previous_summary = layer.seq
        yield from map(self.original, history[len(self.leading_summary(history)) :])

    def original(self, message: Message) -> Message:
        """Return the full form of a reduced tool result, and any other message unchanged."""
        return self.reduced.get(message.call_id, message) if isinstance(message, ToolMessage) else message


def _first_line(message: ToolMessage) -> str:
    first = message.content[0] if message.content else None
    text = text_preview(first.text) if isinstance(first, TextContent) else ""
    return text.strip().partition("\n")[0][:FIRST_LINE_CHARS]


def _newest_test_run(messages: Sequence[Message]) -> set[int]:
    """Return the seqs of the newest finished call of `run_tests` and of its result."""
    results = {message.call_id: message for message in messages if isinstance(message, ToolMessage)}
    for message in reversed(messages):
        for call in reversed(tool_calls(message.parts)) if isinstance(message, AssistantMessage) else ():
            if call.name == "run_tests" and call.call_id in results:
                return {message.seq, results[call.call_id].seq}
    return set()


def calls_by_id(messages: Iterable[Message]) -> dict[CallId, ToolCallPart]:
    """Return a `dict` that maps call ids to the calls in these messages."""
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    return {call.call_id: call for answer in answers for call in tool_calls(answer.parts)}


def successful_calls(messages: Iterable[Message]) -> set[CallId]:
    """Return the ids of the calls with a successful result."""
    return {message.call_id for message in messages if isinstance(message, ToolMessage) and message.ok}


def call_ids(messages: Iterable[Message]) -> set[CallId]:
    """Return the ids of the calls in these messages."""
    return set(calls_by_id(messages))


def drop_unpaired_calls(messages: Sequence[Message], open_calls: Collection[CallId]) -> list[Message]:
    """Return the messages without unpaired calls and results.

    A call needs its result, and a result needs its call. Calls in `open_calls` stay.
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
    """Return a user message that quotes `message`. If `message` is a tool result, its call is quoted too."""
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
            requested = tuple(
                TextContent(text=format_call(part, QUOTED_CHARS)) for part in tool_calls(message.parts)
            )
            return _quote("your answer", (*texts, *requested), seq)


def _quote(origin: str, content: tuple[Content, ...], seq: int) -> UserMessage:
    heading = TextContent(text=f"{RESTORED_PREFIX}{origin}.]")
    return UserMessage(content=(heading, *content), seq=seq, origin="restored")


def format_call(call: ToolCallPart, max_chars: int = 200) -> str:
    """Return a call in one line: its name and at most `max_chars` characters of its arguments."""
    arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
    return f"{call.name} {arguments[:max_chars]}{'…' if len(arguments) > max_chars else ''}"


def preview(message: Message) -> str:
    """Return the beginning of a message's text."""
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            texts = text_previews(content)
        case SummaryMessage(text=text):
            texts = [text_preview(text)]
        case AssistantMessage():
            texts = text_previews(message.parts)
            texts += [format_call(part) for part in tool_calls(message.parts)]
    return "\n".join(texts)
