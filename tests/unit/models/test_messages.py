"""The history as each provider wants it: pairs in order, images where they are taken, nothing foreign."""

import base64

import pytest

from tests.stubs.model_contract import request
from tui_agent.models import chat_messages, responses
from tui_agent.models.chat_completions import build_body
from tui_agent.models.endpoint import Endpoint
from tui_agent.ports.model import ModelRequest
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import (
    Content,
    ImageContent,
    ReasoningPart,
    TextContent,
    TextPart,
    ToolCallPart,
)
from tui_agent.protocol.settings import ModelInfo

PICTURE = ImageContent(media_type="image/png", blob_sha256="ab", size=3)
URL = f"data:image/png;base64,{base64.b64encode(b'png').decode()}"


def said(*messages: Message, images: bool = True) -> ModelRequest:
    asked = request(ModelInfo(profile="p", provider="x", model="m", images=images), *messages)
    asked.images["ab"] = b"png"
    return asked


def user(*content: Content) -> UserMessage:
    return UserMessage(content=content)


def result(call_id: str, *content: Content) -> ToolMessage:
    return ToolMessage(call_id=CallId(call_id), name="read_file", content=content)


CALLS = AssistantMessage(
    model="p",
    parts=(
        ReasoningPart(text="hm", opaque={"field": "reasoning_content"}),
        TextPart(text="I look."),
        ToolCallPart(call_id=CallId("a"), name="read_file", arguments={"path": "ä"}),
        ToolCallPart(call_id=CallId("b"), name="read_file", arguments={}, malformed='{"path'),
    ),
)
TEXT = TextContent(text="found")


def test_chat_messages_keep_calls_and_results_together_and_put_their_images_behind() -> None:
    asked = said(user(TEXT), CALLS, result("a", TEXT, PICTURE), result("b", TEXT), user(TEXT))
    found = chat_messages.messages(asked)
    assert [message["role"] for message in found] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert found[2]["reasoning_content"] == "hm"
    assert [call["function"]["arguments"] for call in found[2]["tool_calls"]] == ['{"path": "ä"}', "{}"]  # type: ignore[union-attr,index,call-overload]
    assert found[3]["content"] == "found"
    assert URL in str(found[5])


def test_what_a_user_says_side_by_side_is_one_message_and_a_later_request_begins_the_same() -> None:
    asked = said(user(TEXT), user(TextContent(text="more")), user(PICTURE), CALLS)
    found = chat_messages.merge_user_turns(chat_messages.messages(asked))
    assert [message["role"] for message in found] == ["system", "user", "assistant"]
    assert found[1]["content"] == [
        {"type": "text", "text": "found\n\n---\n\nmore"},
        {"type": "image_url", "image_url": {"url": URL}},
    ]
    later = chat_messages.merge_user_turns(
        chat_messages.messages(said(*asked.messages, result("a", TEXT), result("b", TEXT)))
    )
    assert later[:3] == found


def test_a_users_image_goes_out_or_is_named() -> None:
    asked = user(TEXT, PICTURE)
    taken = chat_messages.messages(said(asked))[1]["content"]
    assert taken == [{"type": "text", "text": "found"}, {"type": "image_url", "image_url": {"url": URL}}]
    assert "does not accept images" in str(chat_messages.messages(said(asked, images=False))[1]["content"])


def test_a_result_for_a_model_without_images_says_what_is_left_out() -> None:
    found = chat_messages.messages(said(CALLS, result("a", PICTURE), result("b", TEXT), images=False))
    assert "does not accept images" in str(found[2]["content"])
    assert len(found) == 4


def test_a_summary_is_what_the_user_says() -> None:
    assert chat_messages.messages(said(SummaryMessage(text="earlier")))[1] == {
        "role": "user",
        "content": "earlier",
    }


def test_responses_items_keep_order_and_send_reasoning_items_back_unchanged() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
    first = CALLS.model_copy(
        update={"parts": (ReasoningPart(text="hm", opaque={"item": item}), *CALLS.parts[1:])}
    )
    asked = said(user(TEXT, PICTURE), first, result("a", TEXT, PICTURE), result("b", TEXT))
    found = responses.build_body(asked, Endpoint("http://h/v1"))
    sent = found["input"]
    assert isinstance(sent, list)
    kinds = [entry.get("type") or entry["role"] for entry in sent if isinstance(entry, dict)]
    assert kinds == [
        "user",
        "reasoning",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert sent[1] == item
    assert URL in str(sent[0])
    assert URL in str(sent[5])
    assert sent[6]["output"] == "found"  # type: ignore[index,call-overload]
    assert (found["store"], found["instructions"], found["max_output_tokens"]) == (False, "be brief", 1_000)


def test_an_effort_is_sent_by_responses_only() -> None:
    asked = request(ModelInfo(profile="p", provider="x", model="m", effort="minimal", effective_effort="low"))
    assert responses.build_body(asked, Endpoint("http://h/v1"))["reasoning"] == {
        "effort": "low",
        "summary": "auto",
    }
    assert "low" not in str(build_body(asked, Endpoint("http://h/v1")))


def test_chat_bodies_carry_the_token_limit_under_the_name_that_the_server_knows() -> None:
    asked = said(user(TEXT))
    assert build_body(asked, Endpoint("http://h/v1"))["max_tokens"] == 1_000
    assert build_body(asked, Endpoint("https://api.openai.com/v1"))["max_completion_tokens"] == 1_000
    plain = build_body(asked, Endpoint("http://h/v1", stream=False))
    assert plain["stream"] is False
    assert "stream_options" not in plain


def bare(*messages: Message, profile: str = "p") -> ModelRequest:
    return request(ModelInfo(profile=profile, provider="x", model="m"), *messages)


def test_an_answer_that_no_request_holds_any_more_is_forgotten() -> None:
    memo = chat_messages.MessageCache()
    gone = [CALLS.model_copy(update={"seq": number}) for number in range(20)]
    chat_messages.messages(bare(*gone), memo)
    assert len(memo) == len(gone)
    for _ in range(2 * chat_messages.CACHE_AGE):
        chat_messages.messages(bare(user(TEXT)), memo)
    assert len(memo) == 0


def test_an_answer_that_each_request_holds_is_written_once_for_each_profile() -> None:
    memo = chat_messages.MessageCache()
    first = chat_messages.messages(bare(CALLS), memo)
    for _ in range(3 * chat_messages.CACHE_AGE):
        again = chat_messages.messages(bare(CALLS), memo)
    assert again == first and again[1] is first[1]
    other = chat_messages.messages(bare(CALLS, profile="q"), memo)
    assert "reasoning_content" in first[1] and "reasoning_content" not in other[1]


@pytest.mark.parametrize("text", ["Done.", "", "grün – 🙂"])
def test_an_answer_of_one_text_is_written_alike_and_held_once(text: str) -> None:
    memo = chat_messages.MessageCache()
    answer = AssistantMessage(parts=(TextPart(text=text),), model="p", seq=1)
    for known in (memo, None):
        assert chat_messages.messages(bare(answer), known)[1:] == [{"role": "assistant", "content": text}]
    assert len(memo) == 0
