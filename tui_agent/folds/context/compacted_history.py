"""What a history has let go of, and can have back: summaries' originals, results that stand as a line, pins.

Invariant: nothing near is lost: `originals` is the history in its order, whatever was compacted, reduced or undone. Of what
lies further back than `WHOLE` messages only a person's words, pins, the plan in force and the newest tests are held: a
session that goes on for weeks stays small, and the log has it all.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserKind,
    UserMessage,
)
from tui_agent.protocol.parts import Content, TextContent, TextPart, ToolCallPart

WHOLE = 400
"""Messages behind summaries that are held whole."""
FIRST_WORDS, NEWEST_WORDS = 20, 200
"""Of a person's words further back: the task stands in the first."""
STAND: Final = ("present_plan", "run_tests")
"""Of these tools the newest call is held, however far back: of a plan the newest that was approved."""
QUOTED: Final = 4_000
"""Characters of what a call was given that come back with it."""
REDUCED = "[This output was put away to save room. "
_SAID: Final[dict[UserKind, str]] = {
    "said": "what the user said",
    "mentions": "what the user's message mentions",
    "map": "the map of the repository",
    "passing": "a note",
    "restored": "what was brought back before",
    "instructions": "instructions of a folder",
}
RESTORED = "[Brought back from before the summary: "


@dataclass(frozen=True, slots=True)
class Layer:
    """What one compaction, event `seq`, took out of the history, in order. The newest layer's summary leads the history. A
    `thin` one is only what is held of all that lies far back, and cannot be put back."""

    seq: int
    messages: tuple[Message, ...]
    thin: bool = False


@dataclass(frozen=True, slots=True)
class ForgottenState:
    """All that is held, to be kept and taken up again."""

    layers: tuple[Layer, ...] = ()
    reduced: tuple[ToolMessage, ...] = ()
    pinned: tuple[int, ...] = ()
    spoken: tuple[int, ...] = ()
    back: tuple[tuple[int, int], ...] = ()


class Forgotten:
    """Beside a history: every function takes its messages and gives those that stand from now on."""

    def __init__(self, kept: ForgottenState | None = None) -> None:
        kept = kept or ForgottenState()
        self.layers: list[Layer] = list(kept.layers)
        self.reduced: dict[CallId, ToolMessage] = {one.call_id: one for one in kept.reduced}
        self.pinned: dict[int, None] = dict.fromkeys(kept.pinned)
        self.spoken: dict[int, None] = dict.fromkeys(kept.spoken)
        """The events that a person's own words come from."""
        self.back: dict[int, int] = dict(kept.back)
        """Messages that were brought back, each with the event whose quotation of it stands for it."""

    def kept(self) -> ForgottenState:
        """The state, to be taken up."""
        return ForgottenState(
            tuple(self.layers),
            tuple(self.reduced.values()),
            tuple(self.pinned),
            tuple(self.spoken),
            tuple(self.back.items()),
        )

    def compact(self, held: Sequence[Message], through: int, summary: SummaryMessage) -> list[Message]:
        """Let `summary` stand for everything up to `through`, an older summary too; results whose call is gone go with
        it."""
        first = len(self.front(held))
        kept = [message for message in held[first:] if message.seq > through]
        asked = called(kept)
        stay = [one for one in kept if not isinstance(one, ToolMessage) or one.call_id in asked]
        still = {id(one) for one in stay}
        gone = (*held[:first], *(one for one in held[first:] if id(one) not in still))
        self.layers.append(Layer(summary.seq, gone))
        while sum(len(one.messages) for one in self.layers if not one.thin) > WHOLE and self._thin():
            pass
        return [summary, *stay]

    def own(self, message: Message) -> bool:
        """Whether it is a person's own words: not what goes along with them, which has their seq."""
        return isinstance(message, UserMessage) and message.kind == "said" and message.seq in self.spoken

    @property
    def newest(self) -> int | None:
        """The newest compaction, where it can be taken back."""
        return self.layers[-1].seq if self.layers and not self.layers[-1].thin else None

    def _thin(self) -> bool:
        """Let go of the oldest layer that is whole, but for a person's words and what is pinned; the newest stays."""
        far = self.layers[0] if self.layers[0].thin else Layer(-1, ())
        layer = self.layers[int(far.thin)]
        if layer is self.layers[-1]:
            return False
        both = [*far.messages, *layer.messages]
        kept = {*self.pinned, *_standing(both)}
        words = [one for one in both if self.own(one) or one.seq in kept]
        if len(words) > FIRST_WORDS + NEWEST_WORDS:
            among = [one for one in words[FIRST_WORDS:-NEWEST_WORDS] if one.seq in kept]
            words = [*words[:FIRST_WORDS], *among, *words[-NEWEST_WORDS:]]
        for one in both:
            if isinstance(one, ToolMessage) and one.seq not in kept:
                self.reduced.pop(one.call_id, None)
        self.layers[: int(far.thin) + 1] = [Layer(layer.seq, tuple(words), thin=True)]
        return True

    def front(self, held: Sequence[Message]) -> Sequence[Message]:
        """The newest summary, where the history begins with one."""
        leads = bool(self.layers and held) and held[0].seq == self.layers[-1].seq
        return held[:1] if leads else ()

    def reduce(self, held: Sequence[Message], artifacts: dict[CallId, Artifact]) -> list[Message]:
        """Let a line stand for each of these results."""
        return [self._line(one, artifacts) for one in held]

    def _line(self, message: Message, artifacts: dict[CallId, Artifact]) -> Message:
        if not isinstance(message, ToolMessage) or message.call_id in self.reduced:
            return message
        artifact = artifacts.get(message.call_id)
        if artifact is None:
            return message
        self.reduced[message.call_id] = message
        words = f"{REDUCED}read_artifact reads it again: {artifact.about}.]"
        return message.model_copy(update={"content": (TextContent(text=words),)})

    def restore(
        self, held: Sequence[Message], seqs: Collection[int], now: int
    ) -> tuple[list[Message], list[UserMessage]]:
        """The history with these results whole again, and what is to be added to it of what a summary stands for."""
        whole = [self._whole(one) if one.seq in seqs else one for one in held]
        here = {one.seq for one in held}
        back = [
            one
            for one in self.originals(())
            if one.seq in seqs and one.seq not in here and self.back.get(one.seq) not in here
        ]
        self.back |= {one.seq: now for one in back}
        calls = calls_of(self.originals(())) if back else {}
        return whole, [quoted(one, now, calls) for one in back]

    def _whole(self, message: Message) -> Message:
        if not isinstance(message, ToolMessage):
            return message
        return self.reduced.pop(message.call_id, message)

    def undo(self, held: Sequence[Message], compaction: int, open_calls: Collection[CallId]) -> list[Message]:
        """Put back all that the newest compaction took; of another one nothing."""
        front = self.front(held)
        if not front or self.newest != compaction:
            return list(held)
        layer = self.layers.pop()
        return legal([*layer.messages, *held[len(front) :]], open_calls)

    def originals(self, held: Sequence[Message]) -> Iterator[Message]:
        """Every message in its order, whatever stands for it now; `held` is the history as it stands."""
        before: int | None = None
        for layer in self.layers:
            led = layer.messages and layer.messages[0].seq == before
            yield from map(self.original, layer.messages[1 if led else 0 :])
            before = layer.seq
        yield from map(self.original, held[len(self.front(held)) :])

    def original(self, message: Message) -> Message:
        """The message as it was before it was put away."""
        return self.reduced.get(message.call_id, message) if isinstance(message, ToolMessage) else message


def _standing(messages: Sequence[Message]) -> set[int]:
    """The events of the newest calls of `STAND`, and of their results."""
    results = {one.call_id: one for one in messages if isinstance(one, ToolMessage)}
    newest: dict[str, tuple[int, int]] = {}
    for one in messages:
        for call in _calls(one) if isinstance(one, AssistantMessage) else ():
            result = results.get(call.call_id)
            if call.name in STAND and result is not None and (result.ok or call.name != STAND[0]):
                newest[call.name] = one.seq, result.seq
    return {seq for pair in newest.values() for seq in pair}


def calls_of(messages: Iterable[Message]) -> dict[CallId, ToolCallPart]:
    """The calls that these messages ask for, by their ids."""
    answers = (one for one in messages if isinstance(one, AssistantMessage))
    return {call.call_id: call for one in answers for call in _calls(one)}


def called(messages: Iterable[Message]) -> set[CallId]:
    """The ids of the calls that these messages ask for."""
    return set(calls_of(messages))


def legal(messages: Sequence[Message], open_calls: Collection[CallId] = ()) -> list[Message]:
    """The messages without calls that have no result (but for open ones), and without results that have no call."""
    results = {one.call_id for one in messages if isinstance(one, ToolMessage)} | set(open_calls)
    made = [_answered(one, results) for one in messages]
    asked = called([one for one in made if one is not None])
    return [
        one
        for one in made
        if one is not None and not (isinstance(one, ToolMessage) and one.call_id not in asked)
    ]


def _answered(message: Message, results: Collection[CallId]) -> Message | None:
    if not isinstance(message, AssistantMessage):
        return message
    parts = tuple(
        part for part in message.parts if not isinstance(part, ToolCallPart) or part.call_id in results
    )
    if len(parts) == len(message.parts):
        return message
    return message.model_copy(update={"parts": parts}) if parts else None


def quoted(message: Message, seq: int, calls: Mapping[CallId, ToolCallPart]) -> UserMessage:
    """A message as a quotation, which can stand anywhere; a result with the call that it answers."""
    match message:
        case UserMessage(content=content, kind=kind):
            return _quote(_SAID[kind], content, seq)
        case ToolMessage(name=name, content=content, call_id=call_id):
            call = calls.get(call_id)
            asked = (TextContent(text=call_words(call, QUOTED)),) if call is not None else ()
            return _quote(f"the result of {name}", (*asked, *content), seq)
        case SummaryMessage(text=text):
            return _quote("a summary", (TextContent(text=text),), seq)
        case AssistantMessage():
            words = tuple(TextContent(text=part.text) for part in message.parts if isinstance(part, TextPart))
            made = tuple(TextContent(text=call_words(one, QUOTED)) for one in _calls(message))
            return _quote("what you said", (*words, *made), seq)


def _quote(what: str, content: tuple[Content, ...], seq: int) -> UserMessage:
    words = TextContent(text=f"{RESTORED}{what}.]")
    return UserMessage(content=(words, *content), seq=seq, kind="restored")


def _calls(message: AssistantMessage) -> Iterator[ToolCallPart]:
    return (part for part in message.parts if isinstance(part, ToolCallPart))


def call_words(call: ToolCallPart, most: int = 200) -> str:
    """A call in one line: its name and its arguments, cut behind so many characters."""
    words = json.dumps(call.arguments, ensure_ascii=False, default=str)
    return f"{call.name} {words[:most]}{'…' if len(words) > most else ''}"


def preview(message: Message) -> str:
    """The beginning of what a message says."""
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            texts = [text_preview(one.text) for one in content if isinstance(one, TextContent)]
        case SummaryMessage(text=text):
            texts = [text_preview(text)]
        case AssistantMessage():
            texts = [text_preview(one.text) for one in message.parts if isinstance(one, TextPart)]
            texts += [call_words(one) for one in _calls(message)]
    return "\n".join(texts)
