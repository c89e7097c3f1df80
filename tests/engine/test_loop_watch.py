"""Code of a plugin that blocks the event loop fails its own call by name, and the turn goes on."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.engine.test_broken_plugins import BrokenTool, expect_named
from tui_agent.engine.loop_watch import watch_event_loop


def loop_without_await() -> BaseException:
    while True:
        try:
            time.monotonic()
        except Exception:  # noqa: BLE001 - as an author may write it
            continue


@pytest.mark.parametrize("where", ["target", "effects", "run"])
@pytest.mark.parametrize("block", [loop_without_await, partial(time.sleep, 60)], ids=["loop", "sleep"])
async def test_a_tool_that_blocks_the_event_loop_is_interrupted_and_named(
    tmp_path: Path, where: str, block: Callable[[], BaseException]
) -> None:
    started = time.monotonic()
    with watch_event_loop(limit_s=0.5):
        await expect_named(tmp_path, BrokenTool(where, block), f"`{where}`", "blocked the session")
    assert time.monotonic() - started < 20


async def test_the_engines_own_code_is_not_interrupted() -> None:
    with watch_event_loop(limit_s=0.1):
        started = time.monotonic()
        while time.monotonic() - started < 0.5:
            pass
