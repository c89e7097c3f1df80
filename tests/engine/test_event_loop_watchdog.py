"""Code of a plugin that blocks the event loop fails its own call by name, and the turn goes on."""

import asyncio
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.engine.harness import HeldTool, call, running, say
from tests.engine.test_broken_plugins import BrokenTool, expect_named
from tui_agent.engine.plugins.error_guard import EventLoopBlocked, guard_plugin
from tui_agent.engine.plugins.event_loop_watchdog import watch_event_loop
from tui_agent.engine.plugins.forced_stop import stop_in_time
from tui_agent.engine.plugins.plugin_tasks import guard_plugin_tasks
from tui_agent.errors import PluginError
from tui_agent.plugin_host.plugin_imports import import_from, unload_modules
from tui_agent.ports.session import STOP_SIGNAL
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.plugin import PluginFailed


def loop_without_await() -> BaseException:
    while True:
        try:
            time.monotonic()
        except Exception:  # noqa: BLE001 - as an author may write it
            continue


@pytest.mark.slow_variants
@pytest.mark.parametrize("where", ["target", "effects", "run"])
@pytest.mark.parametrize("block", [loop_without_await, partial(time.sleep, 60)], ids=["loop", "sleep"])
async def test_a_tool_that_blocks_the_event_loop_is_interrupted_and_named(
    tmp_path: Path, where: str, block: Callable[[], BaseException]
) -> None:
    started = time.monotonic()
    with watch_event_loop(limit_s=0.5):
        await expect_named(tmp_path, BrokenTool(where, block), f"`{where}`", "blocked the session")
    assert time.monotonic() - started < 20


async def test_the_user_stops_it_at_once(tmp_path: Path) -> None:
    stop = threading.Timer(0.5, os.kill, (os.getpid(), STOP_SIGNAL))
    stop.start()
    with watch_event_loop(limit_s=60), anyio.fail_after(50):
        await expect_named(tmp_path, BrokenTool("run", loop_without_await), "`run`", "until you stopped it")


async def test_the_user_stops_code_that_begins_to_block_before_the_command_arrives() -> None:
    """The signal to stop comes at once, the command through a pipe and the event loop."""

    async def block() -> None:
        loop_without_await()

    with watch_event_loop(limit_s=20), guard_plugin("It", PluginError):
        os.kill(os.getpid(), STOP_SIGNAL)
        await anyio.sleep(0.5)  # until the watch has seen that the loop answers
        with pytest.raises(EventLoopBlocked, match="until you stopped it"):
            await stop_in_time(block())


async def test_the_user_stops_code_that_begins_to_block_right_after_the_command_arrived() -> None:
    """The call was about to run in the round of the event loop that received the command."""

    async def block() -> None:
        loop_without_await()

    with watch_event_loop(limit_s=20) as receive_stop, guard_plugin("It", PluginError):
        os.kill(os.getpid(), STOP_SIGNAL)
        await anyio.sleep(0.5)  # until the watch has seen that the loop answers
        receive_stop()
        with pytest.raises(EventLoopBlocked, match="until you stopped it"):
            await stop_in_time(block())


async def test_nothing_is_interrupted_at_the_end_of_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop cannot answer while it waits for the end of the watching thread."""
    sent: list[int] = []
    monkeypatch.setattr(signal, "pthread_kill", lambda _, number: sent.append(number))
    with watch_event_loop(limit_s=20) as receive_stop:
        os.kill(os.getpid(), STOP_SIGNAL)
        await anyio.lowlevel.checkpoint()
        receive_stop()
    assert not sent


async def test_a_request_to_stop_ends_nothing_that_answers(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        with watch_event_loop(limit_s=60):
            bench.submit(SubmitPrompt(text="go"))
            await tool.started.wait()
            os.kill(os.getpid(), STOP_SIGNAL)
            await anyio.lowlevel.checkpoint()
            tool.go.set()
            await bench.until("turn.finished")
        (end,) = bench.results()
    assert end.status == "ok"


@pytest.mark.slow
async def test_code_that_catches_every_interruption_is_given_up_and_named(tmp_path: Path) -> None:
    given_up: list[PluginError] = []

    def catch_everything() -> BaseException:
        while not given_up:
            with suppress(BaseException):
                loop_without_await()
        return ValueError("given up")

    with watch_event_loop(limit_s=0.5, give_up=given_up.append):
        await expect_named(tmp_path, BrokenTool("run", catch_everything), "given up")
    [error] = given_up
    assert re.fullmatch(
        r"The function BrokenTool.run \(test_broken_plugins.py, line \d+\) blocked the session and could not be stopped.",
        error.message,
    )


@pytest.mark.parametrize(
    ("body", "words"), [("while True: pass", "blocked the session"), ("raise SystemExit(3)", "SystemExit: 3")]
)
async def test_a_task_that_a_plugin_started_is_stopped_and_named(
    tmp_path: Path, body: str, words: str
) -> None:
    source = tmp_path / "spawner.py"
    source.write_text(f"async def work():\n    {body}\n", encoding="utf-8")
    spawner, reports = import_from("spawner", source), list[PluginFailed]()
    with (
        watch_event_loop(limit_s=0.3),
        guard_plugin_tasks(reports.append),
        pytest.raises(PluginError, match=words),
        anyio.fail_after(50),
    ):
        await asyncio.get_running_loop().create_task(spawner.work())
    unload_modules("spawner")
    assert [report.title for report in reports] == ["task work of the plugin spawner"]


async def test_a_task_of_a_library_that_a_plugin_started_is_named(tmp_path: Path) -> None:
    source = tmp_path / "leaver.py"
    source.write_text(
        "import asyncio, sys\ndef begin():\n    return asyncio.create_task(asyncio.to_thread(sys.exit, 3))\n",
        encoding="utf-8",
    )
    leaver, reports = import_from("leaver", source), list[PluginFailed]()
    with guard_plugin_tasks(reports.append), pytest.raises(PluginError, match="SystemExit: 3"):
        await leaver.begin()
    unload_modules("leaver")
    assert [report.title for report in reports] == ["task to_thread of the plugin leaver"]


async def test_a_task_that_catches_cancellations_ends_with_the_session(tmp_path: Path) -> None:
    body = "while True:\n        try: await asyncio.sleep(5)\n        except asyncio.CancelledError: pass"
    source = tmp_path / "lingerer.py"
    source.write_text(f"import asyncio\nasync def work():\n    {body}\n", encoding="utf-8")
    lingerer, reports = import_from("lingerer", source), list[PluginFailed]()
    with guard_plugin_tasks(reports.append):
        task = asyncio.get_running_loop().create_task(lingerer.work())
        await anyio.lowlevel.checkpoint()
    with pytest.raises(PluginError, match="after it was cancelled"), anyio.fail_after(20):
        await task
    unload_modules("lingerer")
    assert [report.title for report in reports] == ["task work of the plugin lingerer"]


async def test_the_engines_own_code_is_not_interrupted() -> None:
    with watch_event_loop(limit_s=0.1):
        started = time.monotonic()
        while time.monotonic() - started < 0.5:
            pass
