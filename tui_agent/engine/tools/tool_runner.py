"""Execution of calls that passed the gate: records start and end, limits the time, merges output.

Invariant: `tool.started` is stored before the tool runs. An exception in the tool becomes the call's result.
"""

import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread

from tui_agent.engine.checkpoints.checkpoint_recorder import CheckpointRecorder
from tui_agent.engine.components import EngineParts, is_overridden
from tui_agent.engine.delta_merge import FlushTimer
from tui_agent.engine.questions import Asker
from tui_agent.engine.tools.gate import Gate
from tui_agent.engine.tools.judged_call import find_changed_files
from tui_agent.engine.tools.large_results import (
    RecordableResult,
    StoppedOutput,
    offload_large_result,
    store_stopped_output,
)
from tui_agent.engine.tools.live_output import CollectedOutput, OutputSampler, open_sampler
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.engine.tools.sandbox_retry import CommandRunner, Verdict
from tui_agent.engine.tools.tool_access import may_connect, may_read
from tui_agent.engine.tools.tool_programs import Background
from tui_agent.engine.tools.truncating_blobs import TruncatingBlobs, cut_to_line
from tui_agent.errors import EnvironmentFault, EnvironmentLost, StaleFile, StoreFull, ToolCrash, ToolError
from tui_agent.plugin_api import BaseMiddleware
from tui_agent.ports.checkpoint import WorkspaceChanges
from tui_agent.ports.delegate import Delegates
from tui_agent.ports.environment import ExecResult
from tui_agent.ports.middleware import Middleware, ToolNext
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.effects import McpCallEffect, NetworkEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.files import Author, FileChanged
from tui_agent.protocol.events.plugin import MCP_OWNER
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress, ToolStarted, ToolStatus
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.parts import TextContent, ToolCallPart
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_time_limit
from tui_agent.workspace.local.file_change_events import RecordingEnvironment
from tui_agent.workspace.local.granted_paths import grant_paths

MAX_SUMMARY_CHARS = 200
_DecisionT = TypeVar("_DecisionT")


class CallRunner:
    """Runs tool calls, and can stop each of them."""

    def __init__(
        self,
        parts: EngineParts,
        ticker: FlushTimer,
        asker: Asker,
        checkpointing: CheckpointRecorder,
        background: Background,
        gate: Gate,
        delegates: Callable[[CallId, AgentId], Delegates],
    ) -> None:
        self._parts = parts
        self._delegates = delegates
        self._change_lock = anyio.Lock()
        """A lock that all agents share. A call that can change something holds the lock while it runs."""
        self._gate = gate
        self._background = background
        self._checkpointing = checkpointing
        self._ticker = ticker
        self._asker = asker
        self._scopes: dict[CallId, anyio.CancelScope] = {}
        self._written_paths: dict[CallId, set[str]] = {}
        self._waits_s: dict[CallId, float] = {}
        """Maps the id of each running call to its seconds of waiting for the user."""
        self._reported_calls: set[CallId] = set()
        """Ids of the calls for which a storage error was already reported."""
        self.stopped_outputs: dict[CallId, StoppedOutput] = {}
        """The output of each call that was stopped and has no result yet."""

    def stop(self, call_id: CallId) -> bool:
        """Cancel a running call. Return False if the call is not running."""
        scope = self._scopes.get(call_id)
        if scope is None:
            return False
        scope.cancel()
        return True

    async def run(self, checked: CheckedCall, verdict: Verdict) -> ToolFinished:
        """Run a call and record its result, and a checkpoint if the call changed files."""
        writes = any(
            isinstance(effect, WriteEffect | RunEffect | NetworkEffect | McpCallEffect)
            for effect in checked.effects
        )
        # A delegate's own calls need the lock, so the call that starts the delegate must not hold it.
        if not writes or "delegate" in checked.tool.spec.needs:
            return await self._run(checked, verdict, writes=writes)
        async with self._change_lock:
            return await self._run(checked, verdict, writes=True)

    async def _run(self, checked: CheckedCall, verdict: Verdict, *, writes: bool) -> ToolFinished:
        recorder, call, agent = self._parts.recorder, checked.call, checked.agent
        if writes:
            written = [effect.path for effect in checked.effects if isinstance(effect, WriteEffect)]
            written += await to_thread.run_sync(
                find_changed_files, self._parts.policy, self._parts.env.root, checked.effects
            )
            paths = await to_thread.run_sync(
                paths_in_workspace, self._parts.env.root, written, verdict.sandbox_grant.judged
            )
            author: Author | None = "command" if checked.may_change_any_file else "agent"
            await self._checkpointing.prepare_call(
                call.call_id, None if verdict.only_reads else author, paths
            )
        delegates = "delegate" in checked.tool.spec.needs
        recorder.append(ToolStarted(call_id=call.call_id, writes=writes, delegates=delegates), agent=agent)
        # A crash must not leave changes by a call that the log does not know.
        await (recorder.commit() if writes else recorder.let_clients_read())
        started = self._parts.clock.monotonic()
        emit = partial(self._record_progress, call.call_id, agent)
        with anyio.CancelScope() as scope, open_sampler(self._ticker, self._parts.clock, emit) as sampler:
            self._scopes[call.call_id] = scope
            try:
                status, result = await self._outcome(checked, sampler, verdict)
            finally:
                del self._scopes[call.call_id]
                waited = self._waits_s.pop(call.call_id, 0.0)
        changes = await self._find_changes(call.call_id, checked.may_change_any_file) if writes else None
        if scope.cancelled_caught:
            status = "interrupted"
            stopped = self.stopped_outputs.pop(call.call_id, StoppedOutput(""))
            result = _stop_result("The user stopped this call.", "stopped", stopped)
        duration_ms = (self._parts.clock.monotonic() - started - waited) * 1000
        recordable = await self._prepare_result(call, agent, result)
        part = recorder.state.parts
        end = self._finish(call, agent, status, result, recordable, duration_ms)
        if writes:
            await self._checkpointing.commit_changes(changes, part)
        return end

    async def _find_changes(self, call_id: CallId, runs: bool) -> WorkspaceChanges | None:
        """Return the file changes that a call made.

        `runs`: True if the call may have changed any file. Otherwise, only the files that the tool reported as written
        are compared.
        """
        reported = self._written_paths.pop(call_id, set())
        return await self._checkpointing.find_call_changes(None if runs else reported)

    async def _outcome(
        self, checked: CheckedCall, sampler: OutputSampler, verdict: Verdict
    ) -> tuple[ToolStatus, ToolResult]:
        call, timeout, output = checked.call, checked.tool.spec.timeout, CollectedOutput()

        def add_output(text: str) -> None:
            output.add(text)
            sampler.add(text)

        try:
            with anyio.fail_after(timeout) as limit:
                chain: ToolNext = partial(self._call, checked, add_output, verdict, limit)
                for middleware in reversed(self._parts.middlewares):
                    if is_overridden(middleware.wrap_tool, BaseMiddleware.wrap_tool):
                        chain = partial(_call_middleware, middleware, chain)
                result = await chain(call)
        except ToolCrash as crash:
            self.record_crash(call, checked.agent, crash)
            return "failed", _failure(str(crash), "tool broken")
        except (ToolError, EnvironmentFault) as error:
            failure = _failure(str(error), summarise_fault(error))
            broken = isinstance(error, EnvironmentFault) and not isinstance(error, StaleFile)
            return "failed", replace(failure, environment=broken, lost=isinstance(error, EnvironmentLost))
        except TimeoutError:
            message = f"Stopped after {format_time_limit(timeout or 0)}, the tool's time limit."
            with anyio.CancelScope(shield=True):
                stopped = await self._store_output(call, checked.agent, output)
            return "failed", _stop_result(message, "timed out", stopped)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                self.stopped_outputs[call.call_id] = await self._store_output(call, checked.agent, output)
            raise
        return ("ok" if result.ok else "interrupted" if result.stopped else "failed"), result

    async def _call(
        self,
        checked: CheckedCall,
        add_output: Callable[[str], None],
        verdict: Verdict,
        limit: anyio.CancelScope,
        call: ToolCallPart,
    ) -> ToolResult:
        parts, agent, granted = self._parts, checked.agent, verdict.sandbox_grant
        checked = replace(checked, call=call)
        emit = partial(self._emit, agent, call.call_id)
        timeout, needs = checked.tool.spec.timeout, checked.tool.spec.needs
        asks = "ask" in needs or checked.tool.spec.may_ask
        env = grant_paths(parts.env, checked.effects, granted.judged)
        commands = CommandRunner(
            env,
            granted,
            ask=partial(self._decide, self._gate.decide_rerun, checked) if checked.is_command else None,
            ask_after_trial=partial(self._decide, self._gate.decide_after_trial, checked)
            if checked.is_command
            else None,
            limit=limit,
        )
        blobs = TruncatingBlobs(parts.blobs)
        context = ToolContext(
            env=RecordingEnvironment(env, blobs, emit, call.call_id, run=commands.exec),
            blobs=blobs,
            call_id=call.call_id,
            progress=add_output,
            deadline=None if timeout is None else parts.clock.monotonic() + timeout,
            state=parts.recorder.state_of(agent),
            ask=partial(self._asker.ask, agent=agent) if asks and parts.interactive else None,
            skills=parts.knowledge.skills if "skills" in needs else None,
            jobs=self._background.jobs.for_call(call.call_id, agent, granted) if "jobs" in needs else None,
            programs=self._background.programs.for_call(parts.tools.owner(call.name), granted)
            if "programs" in needs
            else None,
            may_read=partial(may_read, parts, agent, call.name),
            may_connect=partial(may_connect, parts, agent, call.name),
            repomap=parts.repomap if "repomap" in needs else None,
            delegate=self._delegates(call.call_id, agent) if "delegate" in needs else None,
        )
        try:
            return await checked.tool.run(checked.args, context)
        finally:
            self._report_storage_fault(call, agent, blobs)

    async def _decide(
        self,
        decide: Callable[[CheckedCall, ExecResult], Awaitable[_DecisionT]],
        checked: CheckedCall,
        result: ExecResult,
    ) -> _DecisionT:
        """Call `decide`. The time until `decide` returns counts as time that the call waited for the user."""
        clock, call_id = self._parts.clock, checked.call.call_id
        asked_at = clock.monotonic()
        try:
            return await decide(checked, result)
        finally:
            self._waits_s[call_id] = self._waits_s.get(call_id, 0.0) + clock.monotonic() - asked_at

    def _emit(self, agent: AgentId, call_id: CallId, payload: Payload) -> None:
        if isinstance(payload, FileChanged):
            self._written_paths.setdefault(call_id, set()).add(payload.path)
        self._parts.recorder.append(payload, agent=agent)

    def _record_progress(self, call_id: CallId, agent: AgentId, text: str, skipped_lines: int) -> None:
        progress = ToolProgress(call_id=call_id, text=text, skipped_lines=skipped_lines)
        self._parts.recorder.append(progress, agent=agent)

    def record_crash(self, call: ToolCallPart, agent: AgentId, crash: ToolCrash) -> None:
        """Record that a tool's own code failed, and how to turn its plugin off."""
        owner = self._parts.tools.owner(call.name)
        is_plugin = owner and not owner.startswith(MCP_OWNER)
        advice = f"To turn the plugin off: tui-agent plugins disable {owner}" if is_plugin else ""
        error = ErrorRaised(where=f"tool {call.name}", message=crash.message, hint=crash.hint or advice)
        self._parts.recorder.append(error, agent=agent)

    async def _prepare_result(
        self, call: ToolCallPart, agent: AgentId, result: ToolResult
    ) -> RecordableResult:
        blobs = TruncatingBlobs(self._parts.blobs)
        recordable = await offload_large_result(result, call.name, self._window(agent), blobs)
        self._report_storage_fault(call, agent, blobs)
        if call.call_id in self._reported_calls:
            self._reported_calls.discard(call.call_id)
            recordable = replace(recordable, storage_failed=True)
        return recordable

    async def _store_output(
        self, call: ToolCallPart, agent: AgentId, output: CollectedOutput
    ) -> StoppedOutput:
        """Store the output of a call that was stopped. The output can be large, so this happens in a thread."""
        text = output.text()
        if not text:
            return StoppedOutput("")
        blobs = TruncatingBlobs(self._parts.blobs)
        stopped = await to_thread.run_sync(store_stopped_output, text, call.name, self._window(agent), blobs)
        self._report_storage_fault(call, agent, blobs)
        return stopped

    def _window(self, agent: AgentId) -> int:
        """Return the size of the window of an agent's model, in tokens (0: unknown)."""
        recorder = self._parts.recorder
        settings = recorder.state_of(agent).settings
        return recorder.windows.effective_window(settings.model) if settings is not None else 0

    def _report_storage_fault(self, call: ToolCallPart, agent: AgentId, blobs: TruncatingBlobs) -> None:
        for fault in blobs.faults[:1] if call.call_id not in self._reported_calls else ():
            self._reported_calls.add(call.call_id)
            error = ErrorRaised(where=f"artifact of {call.name}", message=fault.message, hint=fault.hint)
            self._parts.recorder.append(error, agent=agent)

    def _finish(
        self,
        call: ToolCallPart,
        agent: AgentId,
        status: ToolStatus,
        result: ToolResult,
        recordable: RecordableResult,
        duration_ms: float,
    ) -> ToolFinished:
        recorder = self._parts.recorder
        for event in result.events:
            recorder.append(event, agent=agent)
        end = ToolFinished(
            call_id=call.call_id,
            name=call.name,
            status=status,
            part=recorder.state.parts,
            content=recordable.content,
            display=result.display,
            summary=recordable.summary,
            data=result.data,
            full_output=recordable.full_output,
            artifact=recordable.artifact,
            duration_ms=round(duration_ms, 1),
            environment=result.environment or recordable.storage_failed,
            lost=result.lost,
        )
        try:
            recorder.append(end, agent=agent)
        except StoreFull:  # no space for long texts; a result that fits in a log line is better than none
            recorder.append(cut_to_line(end), agent=agent)
        return end


def summarise_fault(fault: ToolError | EnvironmentFault) -> str:
    """Return the first line of a call's error, for the call's row on the screen."""
    return clip_line(fault.message.partition("\n")[0], MAX_SUMMARY_CHARS)


def _failure(message: str, summary: str) -> ToolResult:
    return ToolResult(ok=False, content=(TextContent(text=message),), summary=summary)


def _stop_result(message: str, summary: str, output: StoppedOutput) -> ToolResult:
    return ToolResult(
        ok=False,
        content=(TextContent(text=output.append_to(message)),),
        summary=summary,
        display=output.display,
        full_output=output.stored,
    )


async def _call_middleware(middleware: Middleware, call_next: ToolNext, call: ToolCallPart) -> ToolResult:
    return await middleware.wrap_tool(call, call_next)


def paths_in_workspace(root: str, paths: Sequence[str], judged: Mapping[str, str] | None = None) -> list[str]:
    """Return the paths that are in the workspace, as relative paths with links resolved.

    `judged`: maps a path to the real path that the policy has judged. Other paths are resolved now.
    """
    top = os.path.realpath(root)
    relative = []
    for path in paths:
        with contextlib.suppress(ValueError, OSError):  # skip an invalid path; the tool refuses it
            real = (judged or {}).get(path) or os.path.realpath(os.path.join(top, path))  # noqa: PTH118
            relative.append(os.path.relpath(real, top))
    return [path for path in relative if path != "." and path.split("/")[0] != ".."]
