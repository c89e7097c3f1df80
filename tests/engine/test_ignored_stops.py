"""Code of a plugin that catches cancellations is stopped and named, and the turn goes on."""

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from tests.engine.harness import EchoTool, Words, call, running, say
from tests.engine.test_broken_plugins import expect_named
from tui_agent.engine.plugins import forced_stop
from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.engine.plugins.forced_stop import StopIgnored, stop_in_time
from tui_agent.engine.plugins.wrappers import GuardedMiddleware
from tui_agent.errors import PluginError
from tui_agent.plugin_api import BaseMiddleware, tool
from tui_agent.plugin_host.registered_objects import OfferedHook
from tui_agent.ports.middleware import ToolNext
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.turn import IterationStarted, TurnFinished
from tui_agent.protocol.parts import ToolCallPart
from tui_agent.wiring.extensions import ask_plugin_function

IGNORED = "it kept running for 0.1 s after it was cancelled"


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forced_stop, "STOP_GRACE_S", 0.1)
    monkeypatch.setattr(forced_stop, "SHIELD_GRACE_S", 0.6)


async def go_on_forever(caught: type[BaseException] = asyncio.CancelledError) -> None:
    while True:
        try:
            await asyncio.sleep(5)
        except GeneratorExit:  # raised when the coroutine is collected, long after the test
            raise
        except caught:
            pass


async def sleep_shielded() -> None:
    with anyio.CancelScope(shield=True):
        await anyio.sleep_forever()


class EndlessTool(EchoTool):
    """Catches every cancellation."""

    def __init__(self, caught: type[BaseException] = asyncio.CancelledError, **options: Any) -> None:
        super().__init__(**options)
        self.started = anyio.Event()
        self._caught = caught

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        self.started.set()
        await go_on_forever(self._caught)
        raise AssertionError


@pytest.mark.parametrize("caught", [asyncio.CancelledError, BaseException])
async def test_the_time_limit_ends_a_tool_that_catches_cancellations(
    tmp_path: Path, caught: type[BaseException]
) -> None:
    with anyio.fail_after(20):
        await expect_named(tmp_path, EndlessTool(caught, timeout=0.1), "`run`", IGNORED)


@pytest.mark.slow
async def test_code_that_also_catches_the_last_error_gets_no_second_time_and_is_never_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[type[BaseException]] = []

    async def catch_everything() -> None:
        while True:
            try:
                await asyncio.sleep(5)
            except BaseException as error:  # noqa: BLE001 - as an author may write it
                raised.append(type(error))

    monkeypatch.setattr(forced_stop, "STOP_GRACE_S", 0.2)
    with (
        anyio.move_on_after(0.05),
        pytest.raises(PluginError, match="after it was cancelled"),
        guard_plugin("It", PluginError),
    ):
        await stop_in_time(catch_everything())
    gc.collect()
    named = raised.index(StopIgnored)
    assert raised[named + 1 :] == [asyncio.CancelledError] * forced_stop.MIN_STOPS


@pytest.mark.slow
async def test_code_that_blocks_between_cancellations_is_stopped_after_fewer_of_them() -> None:
    raised: list[type[BaseException]] = []

    async def block_in_between() -> None:
        while True:
            end = time.monotonic() + 0.15
            while time.monotonic() < end:
                pass
            try:
                await asyncio.sleep(0)
            except BaseException as error:  # noqa: BLE001 - as an author may write it
                raised.append(type(error))

    with (
        anyio.move_on_after(0.05),
        pytest.raises(PluginError, match="after it was cancelled"),
        guard_plugin("It", PluginError),
    ):
        await stop_in_time(block_in_between())
    assert raised == [asyncio.CancelledError] * forced_stop.MIN_BUSY_STOPS + [StopIgnored]


async def test_the_user_can_stop_the_turn_of_such_a_tool(tmp_path: Path) -> None:
    tool = EndlessTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Interrupt())
        end = await bench.until_payload(TurnFinished)
        (raised,) = bench.of(ErrorRaised)
        (result,) = bench.results()
        assert len(bench.of(IterationStarted)) == 1
    assert (end.reason, result.status, raised.where) == ("interrupted", "failed", "tool echo")
    assert raised.message.startswith(f"The tool echo (plugin test), in `run`, failed: {IGNORED}")


async def test_a_hook_that_catches_cancellations_is_stopped_with_a_reason() -> None:
    async def never_ending(facts: object) -> None:
        await go_on_forever()

    reply = await ask_plugin_function(OfferedHook("mine", "before_tool", never_ending), {}, 0.1)
    assert reply.fault.startswith(f"It failed: {IGNORED}")


class EndlessMiddleware(BaseMiddleware):
    name = "endless"

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        await go_on_forever()
        return await call_next(call)


async def test_a_middleware_that_catches_cancellations_is_stopped_and_left_out(tmp_path: Path) -> None:
    reports: list[PluginFailed] = []
    guarded = GuardedMiddleware("mine", EndlessMiddleware(), reports.append)
    answers = [call(("echo", "{}")), say("Done.")]
    async with running(tmp_path, answers, [EchoTool(timeout=0.1)], middlewares=[guarded]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
    assert end.reason == "finished"
    assert reports and IGNORED in reports[0].message


async def test_time_limits_inside_the_code_are_not_counted() -> None:
    async def poll() -> str:
        for _ in range(30):
            with anyio.move_on_after(0.01):
                await anyio.sleep_forever()
        return "polled"

    assert await stop_in_time(poll()) == "polled"


async def test_shielded_work_at_the_end_may_take_longer() -> None:
    ended = []

    async def clean_up() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.3)
            ended.append("cleaned")
            await anyio.lowlevel.checkpoint()

    with anyio.move_on_after(0.05) as scope, guard_plugin("It", PluginError):
        await stop_in_time(clean_up())
    assert scope.cancelled_caught and ended == ["cleaned"]


class ShieldedTool(EchoTool):
    """Waits in a scope that no cancellation reaches."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.started = anyio.Event()

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        self.started.set()
        await sleep_shielded()
        raise AssertionError


async def test_the_user_can_stop_a_tool_that_shields_itself(tmp_path: Path) -> None:
    tool = ShieldedTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done."), say("Here.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Interrupt())
        end = await bench.until_payload(TurnFinished)
        (raised,) = bench.of(ErrorRaised)
        assert (end.reason, raised.where) == ("interrupted", "tool echo")
        assert raised.message.startswith(
            "The tool echo (plugin test), in `run`, failed: it kept running for 0.6 s after it was cancelled; do not shield"
        )
        bench.submit(SubmitPrompt(text="go on"))
        await bench.until("turn.finished", 2)


async def test_the_time_limit_ends_a_tool_that_shields_itself(tmp_path: Path) -> None:
    await expect_named(tmp_path, ShieldedTool(timeout=0.1), "`run`", "it kept running for 0.6 s")


async def test_a_function_in_a_thread_that_goes_on_after_a_stop_is_named_and_its_thread_reported(
    tmp_path: Path,
) -> None:
    started, go = threading.Event(), threading.Event()

    @tool(internal="nothing")
    def wait_long() -> str:
        """Wait."""
        started.set()
        go.wait(60)
        return "waited"

    try:
        async with running(tmp_path, [call(("wait_long", "{}")), say("Done.")], [wait_long]) as bench:
            bench.submit(SubmitPrompt(text="go"))
            await to_thread.run_sync(started.wait)
            bench.submit(Interrupt())
            end = await bench.until_payload(TurnFinished)
            (raised,) = bench.of(ErrorRaised)
    finally:
        go.set()
    assert end.reason == "interrupted" and "The tool wait_long (plugin test)" in raised.message
    assert raised.message.endswith("its thread runs until the function returns")


@pytest.mark.parametrize("wait", [go_on_forever, sleep_shielded])
async def test_the_stream_of_a_model_that_ignores_a_stop_is_named(
    tmp_path: Path, wait: Callable[[], Awaitable[None]]
) -> None:
    asked = anyio.Event()

    async def hold() -> None:
        asked.set()
        await wait()

    async with running(tmp_path, [[hold, *say("Never.")]]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await asked.wait()
        bench.submit(Interrupt())
        end = await bench.until_payload(TurnFinished)
        (failed,) = bench.of(ModelFailed)
    assert end.reason in ("interrupted", "model_error")
    assert (
        failed.message.startswith("The client of the model provider")
        and "after it was cancelled" in failed.message
    )
