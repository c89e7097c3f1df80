"""A strict checker of histories, as three provider shapes would judge them: Chat Completions, Responses, Messages.

The bodies are those that the clients send; the third is litellm's translation to Anthropic's form.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from tests.stubs.legal_history import check_pairs
from tui_agent.models import chat_messages, responses
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.litellm_client import load
from tui_agent.ports.model import ModelRequest
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import Message
from tui_agent.protocol.settings import ModelInfo

MODEL = ModelInfo(profile="strict", provider="openai", model="strict", window=100_000, max_output=1_000)


def faults_in(messages: Sequence[Message], *, anthropic: bool = False) -> list[str]:
    """What any provider would refuse, one sentence a fault. `anthropic` also asks litellm, which is slow to load."""
    request = ModelRequest(RequestId("req_strict"), MODEL, "be brief", tuple(messages), (), 100)
    found = [
        *check_pairs(messages),
        *chat_faults(chat_messages.merge_user_turns(chat_messages.messages(request))),
    ]
    items = responses.build_body(request, Endpoint(base_url="", api_key=""))["input"]
    assert isinstance(items, list)
    found += _responses([item for item in items if isinstance(item, dict)])
    if anthropic and messages:
        found += _anthropic(_translate()(chat_messages.messages(request)[1:]))
    return found


def chat_faults(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Chat Completions: results stand right behind the answer that asked for them, each once; users take turns."""
    wanted: list[str] = []
    before = ""
    for place, message in enumerate(messages):
        match message["role"]:
            case "tool":
                if message["tool_call_id"] not in wanted:
                    yield f"chat {place}: a result for {message['tool_call_id']}, which nothing asked for"
                else:
                    wanted.remove(message["tool_call_id"])
                if not isinstance(message["content"], str):
                    yield f"chat {place}: a result that is no text"
                continue
            case _ if wanted:
                yield f"chat {place}: no results for {wanted}"
                wanted = []
        calls = message.get("tool_calls", ())
        if message["role"] == "assistant":
            if not calls and not isinstance(message["content"], str):
                yield f"chat {place}: an answer with neither words nor calls"
            wanted = [call["id"] for call in calls]
            if len(set(wanted)) < len(wanted):
                yield f"chat {place}: two calls share an id"
        elif message["role"] == "user" and not message["content"]:
            yield f"chat {place}: a message that says nothing"
        elif message["role"] == "user" == before:
            yield f"chat {place}: two messages of a user side by side"
        before = message["role"]
    if wanted:
        yield f"chat: it ends without results for {wanted}"


def _responses(items: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Responses: every call has one output behind it, before anybody speaks again."""
    wanted: list[str] = []
    for place, item in enumerate(items):
        match item.get("type"):
            case "function_call":
                if item["call_id"] in wanted:
                    yield f"responses {place}: two calls share the id {item['call_id']}"
                wanted.append(item["call_id"])
            case "function_call_output" if item["call_id"] in wanted:
                wanted.remove(item["call_id"])
            case "function_call_output":
                yield f"responses {place}: an output for {item['call_id']}, which nothing asked for"
            case _ if item.get("role") == "user":
                if wanted:
                    yield f"responses {place}: no outputs for {wanted}"
                    wanted = []
                if not item["content"]:
                    yield f"responses {place}: a message that says nothing"
            case _:
                pass
    if wanted:
        yield f"responses: it ends without outputs for {wanted}"


def _anthropic(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Messages: roles take turns, the user first; all results of an answer open the very next message."""
    wanted: set[str] = set()
    for place, message in enumerate(messages):
        if message["role"] != ("user", "assistant")[place % 2]:
            yield f"messages {place}: {message['role']} twice in a row, or not first"
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not blocks:
            yield f"messages {place}: no content"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        kinds = [block["type"] for block in blocks]
        if wanted != set(results) or len(results) != len(set(results)):
            yield f"messages {place}: asked for {sorted(wanted)}, given {sorted(results)}"
        if "tool_result" in kinds[len(results) :]:
            yield f"messages {place}: a result behind other content"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield f"messages {place}: a text of nothing"
        wanted = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if wanted:
        yield f"messages: it ends without results for {sorted(wanted)}"


@cache
def _translate() -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """litellm's way from Chat Completions to Anthropic's form."""
    load()
    factory = import_module("litellm.litellm_core_utils.prompt_templates.factory")

    def translate(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = factory.anthropic_messages_pt(
            messages=messages, model="claude-sonnet-4-5", llm_provider="anthropic"
        )
        return made

    return translate
