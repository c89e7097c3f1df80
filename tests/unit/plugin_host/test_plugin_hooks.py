"""A plugin's hooks: asked like a command's, and never more than said of when they fail."""

import asyncio

import anyio
import pytest

from tui_agent.errors import PluginError
from tui_agent.plugin_api import HookAnswer
from tui_agent.plugin_host.registration import OwnedApi
from tui_agent.wiring.extensions import ask_plugin_function


def asked(target, limit: float = 5.0):
    api = OwnedApi("mine", None)
    api.hook("before_tool", target)
    return ask_plugin_function(api.offers.hooks[0], {"tool_name": "echo"}, limit)


async def test_its_answer_counts():
    async def no(given):
        return HookAnswer("deny", f"no {given['tool_name']}")

    reply = await asked(no)
    assert (reply.answer.decision, reply.answer.reason, reply.fault) == ("deny", "no echo", "")


async def test_none_says_nothing():
    async def nothing(given):
        return None

    assert (await asked(nothing)).answer == HookAnswer()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"decision": "deny"}, "instead of a HookAnswer"),
        (HookAnswer("never"), "decision"),
        (HookAnswer(reason=3), "reason"),
        (HookAnswer(reason="\ud800"), "JSON"),
        (HookAnswer(updated_input={"a": object()}), "JSON"),
        (HookAnswer(updated_input={"a": float("nan")}), "JSON"),
    ],
)
async def test_what_is_no_answer_is_a_fault(answer, words):
    async def wrong(given):
        return answer

    assert words in (await asked(wrong)).fault


async def test_an_exception_is_a_fault():
    async def broken(given):
        raise RuntimeError("oh")

    assert (await asked(broken)).fault == "It failed: RuntimeError: oh"


async def test_one_that_never_ends_is_stopped():
    async def slow(given):
        await anyio.sleep_forever()

    assert "time limit" in (await asked(slow, 0.05)).fault


async def test_cancelling_goes_through():
    started = anyio.Event()

    async def slow(given):
        started.set()
        await anyio.sleep_forever()

    task = asyncio.ensure_future(asked(slow))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_only_an_async_function_can_be_asked():
    with pytest.raises(PluginError, match="async def"):
        OwnedApi("mine", None).hook("before_tool", print)


def test_an_event_kind_is_listened_to_and_not_asked():
    api = OwnedApi("mine", None)
    api.hook("tool.finished", print)
    assert len(api.offers.listeners) == 1 and not api.offers.hooks
