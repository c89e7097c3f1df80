"""Calls functions of users and plugins with a time limit. The limit holds even if a function blocks.

Invariant: whatever the function does, the caller gets a result soon after the time limit.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.errors import ConfigError, PluginError, TuiAgentError
from tui_agent.protocol.unicode_text import limit_text
from tui_agent.units import format_time_limit

MAX_FAULT_CHARS = 300
BLOCKED_S = 2.0
"""If a function still blocks this many seconds after its time limit or a cancellation, it is abandoned."""
_Result = TypeVar("_Result")


async def call_in_thread(name: str, function: Callable[[], Awaitable[object]], timeout_s: float) -> str:
    """Call `function` in a thread. Return an error text, or an empty text if the call succeeded.

    `name`: the function's name in the error text. If the task that called `call_in_thread` is cancelled, the call of
    `function` is cancelled too.
    """
    fault = f"{name} was stopped after {format_time_limit(timeout_s)}"
    cancel_call: Callable[[], object] | None = None
    ended = threading.Event()

    async def call() -> str:
        nonlocal cancel_call
        with anyio.move_on_after(timeout_s) as scope, guard_plugin(name, PluginError):
            cancel_call = partial(asyncio.get_running_loop().call_soon_threadsafe, scope.cancel)
            await function()
            return ""
        return fault

    def run() -> str:
        try:
            return anyio.run(call)
        finally:
            ended.set()

    with anyio.move_on_after(timeout_s + BLOCKED_S):
        try:
            return await run_sync(run, abandon_on_cancel=True)
        except TuiAgentError as error:
            return limit_text(error.message, MAX_FAULT_CHARS)
        except anyio.get_cancelled_exc_class():
            if cancel_call is not None and not ended.is_set():
                with suppress(RuntimeError):  # the call ended meanwhile
                    cancel_call()
                with anyio.CancelScope(shield=True):
                    await run_sync(ended.wait, BLOCKED_S)
            raise
    return fault


def call_with_limit(name: str, function: Callable[[], _Result], timeout_s: float) -> _Result:
    """Call `function` in a thread and return its result. Raise `ConfigError` if the call fails or takes too long.

    `name`: the function's name in the error.
    """
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            with guard_plugin(name, ConfigError):
                future.set_result(function())
        except TuiAgentError as error:
            future.set_exception(ConfigError(f"{error.message.rstrip('.')}.", hint=error.hint))

    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        return future.result(timeout_s)
    except TimeoutError:
        raise ConfigError(
            f"{name} was stopped after {format_time_limit(timeout_s)}, its time limit.",
            hint="It may wait for input or have an endless loop. If not, make it faster.",
        ) from None
