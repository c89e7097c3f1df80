"""A history made ready to be sent: whole, in order, and only its growth is worked on."""

from collections.abc import Sequence

from tui_agent.engine.model.message_loading import RequestBuilder
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import ReasoningPart, TextContent, TextPart, ToolCallPart
from tui_agent.protocol.stored_text import BlobText, JsonMap, LongText


class CountingBlobs:
    """Blobs that are their own digest, and how often each was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def read(self, blob_sha256: str) -> bytes:
        return blob_sha256.encode()

    def read_text(self, text: LongText) -> str:
        if isinstance(text, str):
            return text
        self.asked.append(text.blob_sha256)
        return f"whole {text.blob_sha256}"

    def resolve(self, data: JsonMap) -> JsonMap:
        return data


def _said(name: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=BlobText(blob_sha256=name, size=9000, preview="…")),))


def _calls(*ids: str) -> AssistantMessage:
    parts = tuple(ToolCallPart(call_id=CallId(i), name="echo", arguments={}) for i in ids)
    return AssistantMessage(parts=parts, model="m")


def _result(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=CallId(call_id), name="echo", content=(TextContent(text=call_id),))


def _ids(messages: Sequence[Message]) -> list[str]:
    return [message.call_id for message in messages if isinstance(message, ToolMessage)]


def test_results_come_in_the_order_of_their_calls_however_they_finished() -> None:
    builder = RequestBuilder(CountingBlobs())
    history = (_said("a"), _calls("1", "2", "3"), _result("3"), _result("1"), _result("2"))
    assert _ids(builder.resolve_messages(history)) == ["1", "2", "3"]
    grown = (*history, _calls("4", "5"), _result("5"), _result("4"))
    assert _ids(builder.resolve_messages(grown)) == ["1", "2", "3", "4", "5"]


def test_a_history_that_only_grew_costs_its_growth_and_a_changed_one_is_done_again() -> None:
    blobs = CountingBlobs()
    builder = RequestBuilder(blobs)
    history: tuple[Message, ...] = (_said("a"), _said("b"))
    builder.resolve_messages(history)
    first = builder.resolve_messages((*history, _said("c")))
    assert blobs.asked == ["a", "b", "c"]
    assert builder.resolve_messages((*history, first[0])) is not None
    compacted = (SummaryMessage(text="what came before"), _said("d"))
    again = builder.resolve_messages(compacted)
    assert len(again) == 2 and isinstance(again[0], SummaryMessage) and blobs.asked[-1] == "d"


def test_what_is_whole_is_not_held_twice() -> None:
    history: tuple[Message, ...] = (
        UserMessage(content=(TextContent(text="do it"),)),
        AssistantMessage(
            parts=(
                ReasoningPart(text="hm", signature="signed"),
                TextPart(text="yes"),
                ToolCallPart(call_id=CallId("1"), name="echo", arguments={"path": "a"}),
            ),
            model="m",
        ),
        _result("1"),
        SummaryMessage(text="what came before"),
        _said("a"),
    )
    ready = RequestBuilder(CountingBlobs()).resolve_messages(history)
    assert [one is held for one, held in zip(ready, history, strict=True)] == [True] * 4 + [False]


def test_a_signature_and_its_text_are_resolved_each_for_itself() -> None:
    stored = BlobText(blob_sha256="s", size=9000, preview="…")
    part = ReasoningPart(text="hm", signature=stored)
    (ready,) = RequestBuilder(CountingBlobs()).resolve_messages((AssistantMessage(parts=(part,), model="m"),))
    assert isinstance(ready, AssistantMessage)
    assert ready.parts == (ReasoningPart(text="hm", signature="whole s"),)


def test_a_huge_answer_goes_back_as_its_head_and_tail_and_is_counted_as_that() -> None:
    huge = "begin " + "x" * 10_000_000 + " end"
    message = AssistantMessage(parts=(TextPart(text=huge),), model="m")
    (sent,) = RequestBuilder(CountingBlobs()).resolve_messages((message,))
    assert isinstance(sent, AssistantMessage) and isinstance(sent.parts[0], TextPart)
    text = sent.parts[0].text
    assert isinstance(text, str) and len(text) < 130_000
    assert text.startswith("begin ") and text.endswith(" end") and "MB left out" in text
    signed = ReasoningPart(text="y" * 1_000_000, signature="s")
    (kept,) = RequestBuilder(CountingBlobs()).resolve_messages(
        (AssistantMessage(parts=(signed,), model="m"),)
    )
    assert isinstance(kept, AssistantMessage) and kept.parts == (signed,)
