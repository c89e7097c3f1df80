"""Protection of the event loop from tasks that plugins start themselves.

Invariant: a plugin's task can neither end nor block the event loop, nor outlive the session.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from weakref import WeakSet

from tui_agent.engine.plugins.error_guard import EventLoopBlocked, guard_task
from tui_agent.engine.plugins.forced_stop import MIN_STOPS, STOP_GRACE_S, StopIgnored, stop_in_time
from tui_agent.errors import PluginError, StoreError
from tui_agent.plugin_host.error_text import error_line
from tui_agent.plugin_host.plugin_imports import plugin_of
from tui_agent.protocol.events.plugin import PluginFailed


@contextmanager
def guard_plugin_tasks(report: Callable[[PluginFailed], object]) -> Iterator[None]:
    """Guard the tasks of plugins in the `with` block.

    A task is a plugin's task if the plugin started it, or if it runs a coroutine of the plugin. After the block, the
    remaining tasks of plugins are cancelled again and again until they have ended.
    """
    guarded: WeakSet[asyncio.Task[Any]] = WeakSet()

    def create(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        code = getattr(coroutine, "cr_frame", None)
        plugin = (plugin_of(code.f_globals.get("__name__", "")) if code else "") or _calling_plugin()
        if not plugin:
            return asyncio.Task(coroutine, loop=loop, **options)
        task = asyncio.Task(_guard(plugin, coroutine, report), loop=loop, **options)
        guarded.add(task)
        return task

    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    loop.set_task_factory(create)  # type: ignore[arg-type]  # typeshed leaves out the keyword `context`
    try:
        yield
    finally:
        loop.set_task_factory(before)
        for task in guarded:
            _cancel_until_done(task)


def _calling_plugin() -> str:
    """Return the name of the plugin that starts a task; empty for tui-agent's own tasks.

    The plugin is the first one on the stack, before any code of tui-agent.
    """
    frame: FrameType | None = sys._getframe(2)  # skips this function and the task factory
    while frame is not None and not (module := frame.f_globals.get("__name__", "")).startswith("tui_agent."):
        if plugin := plugin_of(module):
            return plugin
        frame = frame.f_back
    return ""


def _cancel_until_done(task: asyncio.Task[Any]) -> None:
    if not task.done():
        task.cancel()
        task.get_loop().call_later(STOP_GRACE_S / MIN_STOPS, _cancel_until_done, task)


async def _guard(
    plugin: str, coroutine: Coroutine[Any, Any, object], report: Callable[[PluginFailed], object]
) -> object:
    try:
        with guard_task():
            return await stop_in_time(coroutine)
    except (SystemExit, KeyboardInterrupt, EventLoopBlocked, StopIgnored) as error:
        names = [] if isinstance(error, EventLoopBlocked | StopIgnored) else [type(error).__name__]
        message = f"It failed: {': '.join(filter(None, (*names, error_line(error))))}."
        task = getattr(coroutine, "__name__", "")
        failed = PluginFailed(plugin=plugin, message=message, part=f"task {task}".rstrip())
        try:
            report(failed)
        except StoreError:  # the session is closed, and only waits for its tasks to end
            raise asyncio.CancelledError from error
        raise PluginError(f"The {failed.title}: {message}") from error
