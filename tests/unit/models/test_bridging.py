"""What is sent to models whose template knows one order alone: an answer between results and a user, short ids."""

import pytest

from tests.stubs.clock import FakeClock
from tests.stubs.story import MODEL as INFO
from tui_agent.config.settings.settings import ModelProfile
from tui_agent.models import chat_messages, litellm_client
from tui_agent.models.chat_completions import build_body
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.factory import ModelFactory
from tui_agent.ports.model import ModelRequest
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent, ToolCallPart
from tui_agent.protocol.stored_text import JsonMap

CALL, SHORT = CallId("call_0123456789abcdef"), CallId("aB3dE6gH9")


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),))


def result(call: CallId) -> ToolMessage:
    return ToolMessage(call_id=call, name="grep", content=(TextContent(text="found"),), ok=True)


STOPPED: tuple[Message, ...] = (
    user("look"),
    AssistantMessage(
        parts=tuple(ToolCallPart(call_id=one, name="grep", arguments={}) for one in (CALL, SHORT))
    ),
    result(CALL),
    result(SHORT),
    user("[The user interrupted here.]"),
    user("go on"),
)


def sent(endpoint: Endpoint, *, litellm: bool = False) -> list[JsonMap]:
    request = ModelRequest(RequestId("r1"), INFO, "be brief", STOPPED, (), 100)
    made = litellm_client.call_arguments(request, endpoint) if litellm else build_body(request, endpoint)
    messages = made["messages"]
    assert isinstance(messages, list)
    return messages  # type: ignore[return-value]


@pytest.mark.parametrize("litellm", [False, True], ids=["direct", "litellm"])
def test_a_users_words_behind_results_have_an_answer_before_them_where_the_template_wants_it(
    litellm: bool,
) -> None:
    found = sent(Endpoint("http://h/v1", bridge=True), litellm=litellm)
    assert [one["role"] for one in found] == [
        *("system", "user", "assistant", "tool", "tool", "assistant", "user")
    ]
    assert found[5]["content"] == chat_messages.BRIDGE_TEXT
    asked = [call["id"] for call in found[2]["tool_calls"]]  # type: ignore[union-attr,index,call-overload]
    assert asked == [found[3]["tool_call_id"], found[4]["tool_call_id"]] and asked[1] == SHORT
    assert all(len(str(one)) == 9 and str(one).isalnum() for one in asked)


def test_other_models_are_sent_what_was_said() -> None:
    found = sent(Endpoint("http://h/v1"))
    assert [one["role"] for one in found][-3:] == ["tool", "tool", "user"]
    assert found[3]["tool_call_id"] == CALL


def test_the_models_name_says_whether_its_template_does_and_a_profile_overrides_it() -> None:
    names = ("devstral-small-2507", "mistralai/Magistral-Small", "open-mixtral-8x7b", "codestral-latest")
    assert all(map(chat_messages.has_strict_template, names))
    assert not any(
        map(
            chat_messages.has_strict_template,
            ("qwen3-coder", "gpt-5", "claude-sonnet-4-5", "gemini-pro-latest"),
        )
    )
    for model, said, wanted in (("devstral", None, True), ("devstral", False, False), ("tuned", True, True)):
        profile = ModelProfile(
            provider="openai-chat", model=model, base_url="http://127.0.0.1:1", bridge_tool_results=said
        )
        factory = ModelFactory({"own": profile}, {}, FakeClock())
        client = factory.client(factory.resolve("own"))
        assert client._endpoint.bridge is wanted  # type: ignore[attr-defined]
