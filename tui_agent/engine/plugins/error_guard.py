"""Protection of the engine from errors in the code of plugins.

Invariant: if a plugin raises any error, the guard raises an error of tui-agent that names the plugin.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from tui_agent.engine.plugins.forced_stop import StopIgnored, stop_in_time, stop_though_shielded
from tui_agent.errors import PluginError, ToolCrash, TuiAgentError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.plugin_host.error_text import error_line, unwrap_group
from tui_agent.ports.environment import Environment
from tui_agent.ports.tool import (
    ArgumentSettler,
    FailurePredictor,
    Preview,
    Tool,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    McpCallEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.parts import Content
from tui_agent.protocol.stored_text import JsonMap, LongText
from tui_agent.units import format_bytes

ENGINE_KINDS = tuple(
    "tool. permission. model. checkpoint. context. memory. iteration. turn. user. run. env. session.".split()  # noqa: SIM905 - read as prose
)
"""Prefixes of the kinds of events that only the engine can record."""
MAX_PLUGIN_EVENT = 64 * 1024
"""Maximum size of a `plugin.event`'s data as JSON, in bytes."""
MAX_EVENTS = 100
"""Maximum number of events that one call of a plugin's code can record."""
MAX_EVENTS_SIZE = 1_000_000
"""Maximum size of the events that one call of a plugin's code can record, in bytes."""
_FILE = "Store the data in a file, and its path in the event."
_guarded_tasks: set[asyncio.Task[object] | None] = set()
"""The tasks that currently run plugin code inside a guard. None stands for code that runs outside of any task."""
_EFFECTS = (ReadEffect, WriteEffect, NetworkEffect, RunEffect, InternalEffect, McpCallEffect)


class EventLoopBlocked(BaseException):
    """Raised in a plugin's code that blocks the event loop. `except Exception` does not catch it."""

    TOO_LONG = "it blocked the session for too long; use `await`, or a function that is not `async`"
    STOPPED = "it blocked the session until you stopped it; use `await`, or a function that is not `async`"


@contextmanager
def guard_plugin(label: str, error_type: type[TuiAgentError]) -> Iterator[None]:
    """Turn any error in the `with` block into `error_type`, with a message that begins with `label`.

    Cancellations by the engine and tui-agent's own errors are not changed. Code that blocks the event loop is
    interrupted.
    """
    try:
        with guard_task():
            yield
    except BaseException as error:
        if isinstance(error, TuiAgentError) and not isinstance(error, PluginError):
            raise
        # A plugin can raise the exception of a cancellation itself, which must not end the turn.
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        cause = unwrap_group(error)
        text = error_line(cause)
        names = (
            [] if isinstance(cause, PluginError | EventLoopBlocked | StopIgnored) else [type(cause).__name__]
        )
        raise error_type(": ".join(filter(None, (f"{label} failed", *names, text)))) from error


@contextmanager
def guard_task() -> Iterator[None]:
    """While the `with` block runs, interrupt the current task if its code blocks the event loop."""
    task = _current_task()
    # Guards can be nested. Only the outermost one ends the protection.
    is_outermost = task not in _guarded_tasks
    _guarded_tasks.add(task)
    try:
        yield
    finally:
        if is_outermost:
            _guarded_tasks.discard(task)


def is_guarded(loop: asyncio.AbstractEventLoop) -> bool:
    """Return True if the event loop, possibly of another thread, runs code inside a plugin guard."""
    return asyncio.current_task(loop) in _guarded_tasks


def _current_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs, as in `plugins check`
        return None


class EventCheck:
    """Checks the events recorded by one call of a plugin, and limits their number and size."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._count = self._size = 0

    def check(self, event: object) -> None:
        """Raise `PluginError` if the plugin must not record this event."""
        if not isinstance(event, Payload):
            raise PluginError(f"A plugin's event must be an event of tui-agent, not {type(event).__name__}.")
        if event.kind.startswith(ENGINE_KINDS):
            raise PluginError(f"A plugin cannot record the event {event.kind}; only the engine can.")
        if isinstance(event, PluginEvent) and event.plugin != self._owner:
            raise PluginError(
                f"The plugin {self._owner} cannot record an event of the plugin {event.plugin}."
            )
        size = len(to_json(event.data)) if isinstance(event, PluginEvent) else 0
        if isinstance(event, PluginEvent) and size > MAX_PLUGIN_EVENT:
            limit = format_bytes(MAX_PLUGIN_EVENT)
            raise PluginError(f"The event {event.name} of {event.plugin} is larger than {limit}.", hint=_FILE)
        self._count, self._size = self._count + 1, self._size + size
        if self._count > MAX_EVENTS:
            raise PluginError(
                f"A call can record at most {MAX_EVENTS} events.", hint="Combine them into fewer events."
            )
        if self._size > MAX_EVENTS_SIZE:
            limit = format_bytes(MAX_EVENTS_SIZE)
            raise PluginError(f"Together, the events of a call are larger than {limit}.", hint=_FILE)


def _is_cancelled() -> bool:
    task = _current_task()
    return task is not None and task.cancelling() > 0


class _CheckedResult(FrozenModel):
    """Model that checks the types in a plugin's `ToolResult`. This model has only the recorded fields."""

    content: tuple[Content, ...]
    display: tuple[DisplayBlock, ...]
    summary: str
    data: JsonMap
    full_output: LongText | None


def _check_result(result: ToolResult, owner: str) -> None:
    """Raise `PluginError` if a tool result of the plugin `owner` cannot be recorded."""
    fields = {name: getattr(result, name) for name in _CheckedResult.model_fields}
    try:
        _CheckedResult(**fields)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise PluginError(f"its result's `{fault['loc'][0]}` is not valid: {fault['msg']}.") from error
    check = EventCheck(owner)
    for event in result.events:
        check.check(event)


class GuardedTool:
    """Wraps a plugin's tool for the engine. Errors of the tool's code are raised as `ToolCrash`."""

    def __init__(self, owner: str, tool: Tool[BaseModel]) -> None:
        self.spec: ToolSpec = tool.spec
        self._tool, self._owner = tool, owner
        self._label = f"The tool {tool.spec.name} (plugin {owner})"
        self.can_settle_arguments = isinstance(tool, ArgumentSettler)
        """True if the tool can complete a call's arguments before the policy judges the call."""

    def _guard(self, method: str) -> AbstractContextManager[None]:
        return guard_plugin(f"{self._label}, in `{method}`,", ToolCrash)

    def _expect(self, method: str, value: object, expected: type | tuple[type, ...], name: str) -> None:
        if not isinstance(value, expected):
            raise ToolCrash(f"{self._label}: `{method}` returned {type(value).__name__} instead of {name}.")

    def target(self, args: BaseModel) -> str:
        """Return the short text that identifies a call on the screen, such as a path or a command."""
        with self._guard("target"):
            target = self._tool.target(args)
        self._expect("target", target, str, "a text")
        return target

    def effects(self, args: BaseModel) -> tuple[Effect, ...]:
        """Return everything that a call would do."""
        with self._guard("effects"):
            effects = tuple(self._tool.effects(args))
        for effect in effects:
            self._expect("effects", effect, _EFFECTS, "effects")
        return effects

    async def settle_arguments(self, args: BaseModel, env: Environment) -> BaseModel:
        """Return the call's arguments as completed by the tool."""
        assert isinstance(self._tool, ArgumentSettler)
        with self._guard("settle_arguments"):
            settled = await stop_in_time(self._tool.settle_arguments(args, env))
        self._expect("settle_arguments", settled, self.spec.args, self.spec.args.__name__)
        return settled

    async def predict_failure(self, args: BaseModel, env: Environment, state: SessionStateView) -> None:
        """Raise `ToolError` if the call will certainly fail."""
        if isinstance(self._tool, FailurePredictor):
            with self._guard("predict_failure"):
                await stop_in_time(self._tool.predict_failure(args, env, state))

    async def preview(self, args: BaseModel, env: Environment) -> Preview:
        """Return the preview that the user sees when asked about a call."""
        with self._guard("preview"):
            preview = await stop_in_time(self._tool.preview(args, env))
        self._expect("preview", preview, Preview, "a Preview")
        return preview

    async def run(self, args: BaseModel, ctx: ToolContext) -> ToolResult:
        """Run a call that the policy allowed."""
        with self._guard("run"):
            result = await stop_though_shielded(self._tool.run(args, ctx))
        self._expect("run", result, ToolResult, "a ToolResult")
        try:
            _check_result(result, self._owner)
        except PluginError as error:
            raise ToolCrash(f"{self._label}: {error.message}", hint=error.hint) from error
        return result
