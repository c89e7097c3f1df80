"""Stand-ins for the model, the tools, the repository map and the environment in a rerun of a recorded turn. They return
the recorded data.

Invariant: a real tool's methods with side effects are never called.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, ClassVar, NoReturn, TypeAlias

import anyio
from anyio.lowlevel import checkpoint
from pydantic import BaseModel

from tui_agent.engine.plugins.error_guard import ENGINE_KINDS
from tui_agent.engine.tools.arguments import parse_arguments
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.engine.tools.schema import json_schema
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.folds.projection import current_branch
from tui_agent.models.provider_faults import fault
from tui_agent.models.replay_model import chunks_of, recorded_answers
from tui_agent.plugin_host.registered_objects import OfferedTool
from tui_agent.ports.environment import (
    Environment,
    ExecResult,
    ExecSpec,
    FileContent,
    OutputSink,
    Sandbox,
)
from tui_agent.ports.log import BlobReader
from tui_agent.ports.model import ModelChunk, ModelRequest
from tui_agent.ports.repomap import MapRequest, RenderedMap
from tui_agent.ports.tool import ArgumentSettler, Preview, Tool, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.envelope import Envelope, Record, known_events
from tui_agent.protocol.events.context import RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.workspace.local.environment_wrapper import EnvironmentWrapper

WAIT_S = 2.0
_Edge: TypeAlias = tuple[str, CallId]
"""The start or the end of a tool call, as (kind of the event, id of the call)."""


class RecordedResults:
    """The recorded results of all tool calls of a session.

    Call `note_event` with every new event of the rerun, so that parallel calls end in the recorded order.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._results: dict[CallId, ToolResult] = {}
        self._before: dict[CallId, set[_Edge]] = {}
        """Maps a call's id to the starts and ends of other calls that the rerun waits for before the call ends."""
        self._seen_edges: set[_Edge] = set()
        self._changed = anyio.Event()
        self._called: list[ToolCalled] = []
        self._effects: dict[CallId, tuple[Effect, ...]] = {}
        running: dict[CallId, set[_Edge]] = {}
        """Maps a running call's id to the edges that were recorded since the call's start."""
        loose: list[Payload] = []
        """Events of tools that have not been assigned to a call yet."""
        for record in known_events(current_branch(records)):
            payload = record.payload
            edge = _edge(payload)
            for edges in running.values():
                edges |= {edge} if edge is not None else set()
            if isinstance(payload, ToolCalled):
                self._called.append(payload)
            elif isinstance(payload, PermissionDecided):
                self._effects[payload.call_id] = payload.effects
            elif isinstance(payload, ToolStarted):
                running[payload.call_id] = set()
            elif isinstance(payload, ToolFinished):
                between = running.pop(payload.call_id, set())
                self._before[payload.call_id] = between - {("tool.finished", payload.call_id)}
                # A tool's events are recorded right before its result. Of the events that change files, only those with
                # the id of this call are used.
                call_events = [
                    event for event in loose if getattr(event, "call_id", None) in (None, payload.call_id)
                ]
                loose = [event for event in loose if event not in call_events]
                self._results[payload.call_id] = _build_result(payload, call_events)
            elif running and not payload.kind.startswith(ENGINE_KINDS):
                loose.append(payload)

    def note_event(self, event: Envelope) -> None:
        """Process a new event of the rerun. Calls that wait for this event can then return their results."""
        edge = _edge(event.payload)
        if edge is not None:
            self._seen_edges.add(edge)
            # An event of `anyio` cannot be reset, so later waiters get a new one.
            self._changed.set()
            self._changed = anyio.Event()

    def effects_of(self, spec: ToolSpec, args: BaseModel) -> tuple[Effect, ...] | None:
        """Return the effects of a recorded call with this tool and these arguments.

        Return None if there is no such call.
        """
        for call in self._called:
            if call.name == spec.name and call.call_id in self._effects:
                parsed = parse_arguments(spec.name, spec.args, json_schema(spec.args), call.arguments)
                if parsed == args:
                    return self._effects[call.call_id]
        return None

    async def result_of_call(self, call_id: CallId) -> ToolResult:
        """Return the call's recorded result. First, wait for all events that were recorded before the end of this call.

        Raise `ToolError` if no result is recorded.
        """
        with anyio.move_on_after(WAIT_S):  # if the new log differs, an awaited event may never come
            while not self._before.get(call_id, set()) <= self._seen_edges:
                await self._changed.wait()
        result = self._results.get(call_id)
        if result is None:
            raise ToolError("This call has no recorded result.", hint="A rerun runs no tool.")
        return result


def _edge(payload: Payload) -> _Edge | None:
    return (payload.kind, payload.call_id) if isinstance(payload, ToolStarted | ToolFinished) else None


def _build_result(end: ToolFinished, events: Sequence[Payload]) -> ToolResult:
    return ToolResult(
        ok=end.status == "ok",
        content=end.content,
        summary=end.summary,
        display=end.display,
        data=end.data,
        events=tuple(events),
        full_output=end.full_output,
        environment=end.environment,
    )


class RecordedTool:
    """Replaces the tool `tool`: returns the recorded results, and never runs the tool."""

    spec: ClassVar[ToolSpec]

    def __init__(self, tool: Tool[BaseModel], results: RecordedResults) -> None:
        self.spec = tool.spec  # type: ignore[misc]  # a class variable of tools, set per instance here
        self._tool = tool
        self._results = results

    def target(self, args: BaseModel) -> str:
        return self._tool.target(args)

    def effects(self, args: BaseModel) -> tuple[Effect, ...]:
        return self._tool.effects(args)

    async def preview(self, args: BaseModel, env: Environment) -> Preview:
        return Preview(())

    async def run(self, args: BaseModel, ctx: ToolContext) -> ToolResult:
        return await self._results.result_of_call(ctx.call_id)


class RecordedSettlingTool(RecordedTool):
    """Stand-in for a tool that completes its arguments from files (`ArgumentSettler`)."""

    def __init__(self, tool: Tool[BaseModel], results: RecordedResults) -> None:
        super().__init__(tool, results)
        self._settled: list[tuple[BaseModel, tuple[Effect, ...]]] = []

    async def settle_arguments(self, args: Any, env: Environment) -> BaseModel:
        """Return the arguments unchanged if they are recorded. Otherwise let the real tool complete the arguments."""
        known = self._results.effects_of(self.spec, args)
        if known is not None:
            self._settled.append((args, known))
            return args  # type: ignore[no-any-return]
        assert isinstance(self._tool, ArgumentSettler)
        return await self._tool.settle_arguments(args, env)

    def effects(self, args: BaseModel) -> tuple[Effect, ...]:
        known = next((effects for settled, effects in self._settled if settled is args), None)
        return super().effects(args) if known is None else known


def recorded_tools(offered: Sequence[OfferedTool], results: RecordedResults) -> ToolRegistry:
    """Return a registry that contains a `RecordedTool` for each tool, in the same order."""
    registry = ToolRegistry()
    for entry in offered:
        recorded_class = RecordedSettlingTool if isinstance(entry.tool, ArgumentSettler) else RecordedTool
        registry.add(entry.owner, recorded_class(entry.tool, results))
    return registry


class ReadOnlyEnvironment(EnvironmentWrapper):
    """Environment that refuses to write files and to run commands. `sandbox`: the sandbox of the recorded session."""

    def __init__(self, inner: Environment, sandbox: Sandbox) -> None:
        super().__init__(inner)
        self._sandbox = sandbox

    @property
    def sandbox(self) -> Sandbox:
        return self._sandbox

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        _refuse()

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        _refuse()

    async def remove(self, path: str, expected_digest: str) -> None:
        _refuse()


def _refuse() -> NoReturn:
    raise EnvironmentFault("A rerun cannot change files or run commands.")


class RecordedTurn:
    """The recorded answers and repository map of a turn, for a rerun. `name`: the turn's name in error messages."""

    def __init__(self, name: str, blobs: BlobReader) -> None:
        self._name = name
        self._blobs = blobs
        self._events: Sequence[Envelope] = ()
        self._answers: list[ModelResponded] = []
        self._requests = 0

    def begin(self, events: Sequence[Envelope]) -> None:
        """Switch to the events of the next turn."""
        self._events, self._requests = events, 0
        self._answers = list(recorded_answers(events, self._blobs))

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return the turn's next recorded answer; see `ports.model.ModelClient`."""
        return aclosing(self._chunks())

    async def _chunks(self) -> AsyncGenerator[ModelChunk, None]:
        await checkpoint()
        self._requests += 1
        if self._requests > len(self._answers):
            yield fault(
                "script",
                f"This turn of {self._name} has only {len(self._answers)} recorded answers, but another was requested.",
            )
            return
        for chunk in chunks_of(self._answers[self._requests - 1]):
            yield chunk

    async def render(self, request: MapRequest) -> RenderedMap:
        """Return the turn's first recorded repository map, or an empty map.

        Raises the recorded `EnvironmentFault` if the map failed in the recorded turn.
        """
        built = used = None
        for event in self._events:
            match event.payload:
                case RepomapBuilt() as payload:
                    built = built or payload
                case RepomapUsed(injected=True) as payload:
                    used = used or payload
                case ErrorRaised(where="repo_map") as recorded_fault:
                    raise EnvironmentFault(recorded_fault.message, hint=recorded_fault.hint)
        if built is None or used is None:
            return RenderedMap("", 0, (), 0, 0, False, 0.0)
        text = self._blobs.read_text(used.text)
        return RenderedMap(text, used.tokens, used.files, built.files, built.skipped, built.partial, 0.0)

    async def render_within(self, request: MapRequest, seconds: float) -> RenderedMap | None:
        """Return the turn's first recorded map."""
        maps = (event.payload for event in self._events if isinstance(event.payload, RepomapBuilt))
        first = next(maps, None)
        return None if first is not None and first.delay_reason else await self.render(request)

    def take_late_map(self) -> RenderedMap | None:
        """Return None: a rerun does not replay maps that became ready late."""
        # The log does not show when a late map became ready.
        return None

    async def aclose(self) -> None: ...
