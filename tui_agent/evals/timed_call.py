"""Calls of other people's functions with a time limit that holds even if the function blocks.

Invariant: whatever the function does, the caller gets a result soon after the time limit.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from anyio.to_thread import run_sync

from tui_agent.engine.plugin_guard import guard_plugin
from tui_agent.errors import PluginError, TuiAgentError

MAX_FAULT_CHARS = 300
BLOCKED_S = 2.0
"""Seconds after the time limit at which a function that blocks its thread is abandoned."""


async def call_in_thread(name: str, function: Callable[[], Awaitable[object]], timeout_s: float) -> str:
    """Call `function` in a thread; return what went wrong, or an empty text.

    `name` is the function's name in that text.
    """
    fault = f"{name} was stopped after {timeout_s:g} s"

    async def call() -> str:
        with anyio.move_on_after(timeout_s), guard_plugin(name, PluginError):
            await function()
            return ""
        return fault

    with anyio.move_on_after(timeout_s + BLOCKED_S):
        try:
            return await run_sync(partial(anyio.run, call), abandon_on_cancel=True)
        except TuiAgentError as error:
            return error.message[:MAX_FAULT_CHARS]
    return fault
