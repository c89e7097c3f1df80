"""A history's messages are held in little room, and are the same to whoever reads, copies or stores them."""

import copy
import tracemalloc

import pytest

from tui_agent.protocol.frozen_model import FrozenModel, share_field_tables
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart

COUNT = 500
PIECE = TextContent(text="made")
MESSAGES: list[FrozenModel] = [
    UserMessage(content=(PIECE,), seq=3),
    ToolMessage(call_id=CallId("c"), name="read_file", content=(PIECE,), ok=False, seq=4),
    AssistantMessage(
        parts=(
            TextPart(text="I look."),
            ToolCallPart(call_id=CallId("c"), name="read_file", arguments={"a": [1]}),
        ),
        model="p",
        seq=5,
    ),
    SummaryMessage(text="What was said.", seq=6),
]


def fresh(message: FrozenModel) -> FrozenModel:
    return type(message).model_validate_json(message.model_dump_json())


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: type(one).__name__)
def test_a_held_message_is_the_same_in_every_way(message: FrozenModel) -> None:
    held = share_field_tables(fresh(message))
    assert held == message and hash(repr(held)) == hash(repr(message))
    assert held.model_dump_json() == message.model_dump_json()
    assert held.model_dump() == message.model_dump()
    for copied in (copy.copy(held), copy.deepcopy(held), held.model_copy(update={"seq": 9})):
        assert copied.model_dump(exclude={"seq"}) == message.model_dump(exclude={"seq"})
    assert list(held.__dict__) == list(message.__dict__)


def size(*, held: bool) -> float:
    tracemalloc.start()
    kept = [fresh(message) for message in MESSAGES * COUNT]
    if held:
        for message in kept:
            pieces = getattr(message, "content", None) or getattr(message, "parts", ())
            share_field_tables(message, pieces)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return taken / len(kept)


def test_a_held_message_takes_less_than_two_thirds_of_the_room() -> None:
    size(held=True)
    assert size(held=True) < size(held=False) * 2 / 3
