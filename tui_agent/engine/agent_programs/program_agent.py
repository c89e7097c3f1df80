"""The agent that runs a program in the session's environment.

The program's output is recorded as parts of the session.

Invariant: each part is recorded when the program prints it, and each result is followed by a checkpoint.
"""

import math
from collections.abc import AsyncIterator, Callable, Iterator

import anyio
from anyio.abc import ObjectReceiveStream

from tui_agent.context.truncation import head_and_tail
from tui_agent.engine.agent_programs.codex import Codex
from tui_agent.engine.agent_programs.opencode import OpenCode
from tui_agent.engine.agent_programs.own_program import OwnProgram
from tui_agent.engine.agent_programs.program_output import (
    AgentProgram,
    CallResult,
    ProgramAnswer,
    ProgramEvent,
    ProgramFault,
    ProgramRequest,
)
from tui_agent.engine.budget_limits import is_budget_exhausted, reached_limit
from tui_agent.engine.checkpoints.checkpoint_recorder import CheckpointRecorder
from tui_agent.engine.components import EngineParts
from tui_agent.errors import EnvironmentFault, ModelError, StoreError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.json_text import parse_json
from tui_agent.ports.agent import Action, AskModel, CallTools, Finish
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import IterationFinished, IterationStarted
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import ModelPart, TextContent, ToolCallPart, tool_calls
from tui_agent.protocol.stored_text import JsonMap

PROGRAMS: dict[str, Callable[[JsonMap], AgentProgram]] = {
    "codex": Codex,
    "opencode": OpenCode,
    "tui-agent": OwnProgram,
}
"""Maps an agent's name to a function that creates a conversation from the program's `memory`."""
DESCRIPTIONS = {
    "codex": "runs OpenAI's Codex CLI in the session's environment",
    "opencode": "runs opencode in the session's environment",
    "tui-agent": "runs tui-agent as a separate process in the session's environment",
}
INSTALL_HINTS = {
    "codex": "Install it: npm install -g @openai/codex",
    "opencode": "Install it: npm install -g opencode-ai",
    "tui-agent": "Install it in that environment: pip install tui-agent",
}
MAX_OUTPUT_BYTES = 1_000_000
"""Maximum bytes of output kept in addition to the recorded parts."""
MAX_ERROR_BYTES = 20_000
_VERBS = {"command_execution": "run", "bash": "run", "run_command": "run", "file_change": "edit"}
"""Maps a program's tool to the short verb shown in the app, such as `bash` to `run`."""
_TARGETS = ("command", "filePath", "path", "pattern", "query", "url", "tool")
"""Names of arguments that can describe the target of a call, the best one first."""


class ProgramAgent:
    """Runs one program; implements `ports.agent.Agent`."""

    def __init__(self, name: str, parts: EngineParts, checkpointing: CheckpointRecorder) -> None:
        self.name = name
        known = parts.recorder.state.extra.get(name)
        self._memory: JsonMap = known if isinstance(known, dict) else {}
        self._program = PROGRAMS[name](self._memory)
        self._parts = parts
        self._checkpointing = checkpointing
        self._call_ids: dict[str, ToolCallPart] = {}
        """Maps the program's own id of each call to the recorded call."""
        self._fault = ""
        self._has_answer = self._is_limited = False

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Run the program on the newest message until it ends or the session reaches a limit.

        Raise `ModelError` if the program fails.
        """
        assert state.settings is not None
        settings, model = state.settings, state.settings.model
        # Another provider's model was chosen for another agent.
        name = model.profile if model.provider == self.name else ""
        request = ProgramRequest(name, model.effort, settings.policy)
        spec = ExecSpec(
            argv=self._program.command(request),
            stdin=self._newest_message().encode(),
            max_output=MAX_OUTPUT_BYTES,
            max_stderr_bytes=MAX_ERROR_BYTES,
            unsandboxed=True,  # it has a sandbox of its own, and needs its account and the network
            allow_network=True,
        )
        self._call_ids, self._fault, self._has_answer, self._is_limited = {}, "", False, False
        await self._checkpointing.prepare_call(self._parts.ids.call(), "command")
        try:
            ended = await self._run(spec)
        finally:
            rest = list(self._program.finish())  # else it would be a part of the next turn
            with anyio.CancelScope(shield=True):
                for event in rest if not self._is_limited else ():
                    await self._record(event)
            self._save_memory()
        if ended is None:
            return CallTools(())  # the loop then ends the turn, because the limit is reached
        if fault := self._fault or _describe_failure(
            self._program.program, ended, has_answer=self._has_answer
        ):
            raise ModelError(f"{self.name}: {fault}")
        return Finish()

    def _save_memory(self) -> None:
        """Record the program's `memory`, with which the next turn continues the conversation."""
        memory = self._program.memory
        if memory != self._memory:
            self._parts.recorder.append(PluginEvent(plugin=self.name, name="state", version=1, data=memory))

    def _newest_message(self) -> str:
        for message in reversed(self._parts.recorder.messages()):
            if isinstance(message, UserMessage):
                texts = (part.text for part in message.content if isinstance(part, TextContent))
                return "\n".join(map(self._parts.blobs.read_text, texts))
        return ""

    async def _run(self, spec: ExecSpec) -> ExecResult | EnvironmentFault | None:
        """Run the program and record its output."""
        # The buffer is unlimited, because the callback of `exec` cannot wait for space in it.
        send, receive = anyio.create_memory_object_stream[bytes](math.inf)
        ended: ExecResult | EnvironmentFault | None = None
        failure: StoreError | None = None

        async def execute() -> None:
            nonlocal ended
            with send:
                try:
                    ended = await self._parts.env.exec(spec, send.send_nowait)
                except EnvironmentFault as fault:
                    ended = fault

        with receive:
            async with anyio.create_task_group() as group:
                group.start_soon(execute)
                try:
                    self._is_limited = await self._record_output(receive)
                except StoreError as error:  # raised outside of the task group, which would wrap it
                    failure = error
                group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return None if self._is_limited else ended

    async def _record_output(self, receive: ObjectReceiveStream[bytes]) -> bool:
        """Record the program's output until it ends. Return True if the session reached a limit first."""
        recorder = self._parts.recorder
        async for line in _lines(receive):
            for event in self._read(line):
                if self._starts_iteration(event) and reached_limit(recorder.state) is not None:
                    return True
                await self._record(event)
                if is_budget_exhausted(recorder.state):
                    return True
        return False

    def _starts_iteration(self, event: ProgramEvent) -> bool:
        return isinstance(event, ProgramAnswer) and bool(event.parts) and self._has_answer

    def _read(self, line: bytes) -> Iterator[ProgramEvent]:
        """Yield the events in a line of the output."""
        try:
            data: JsonMap = parse_json(line)
            yield from self._program.read(data)
        except (ValueError, LookupError, TypeError, AttributeError):
            return  # a warning, or the output of a newer version: the other lines are still useful

    async def _record(self, event: ProgramEvent) -> None:
        match event:
            case ProgramAnswer():
                self._record_answer(event)
            case CallResult() if event.call_id in self._call_ids:
                await self._record_result(event)
            case ProgramFault(message=message):
                self._fault = message

    def _record_answer(self, answer: ProgramAnswer) -> None:
        """Record an answer as an iteration, and record the start of the answer's calls."""
        recorder = self._parts.recorder
        if self._starts_iteration(answer):
            state = recorder.state
            recorder.append(IterationFinished(iteration=state.iteration, action="calls", duration_ms=0.0))
            recorder.append(
                IterationStarted(iteration=state.iteration + 1, local_iteration=state.local_iteration + 1)
            )
        self._has_answer = self._has_answer or bool(answer.parts)
        parts = tuple(map(self._with_own_id, answer.parts))
        recorder.append(
            ModelResponded(
                request_id=self._parts.ids.request(),
                first_part=recorder.state.parts,
                parts=parts,
                finish="tool_calls" if tool_calls(parts) else "stop",
                usage=answer.usage,
                cost_usd=answer.cost_usd,
                duration_ms=0.0,
            )
        )
        for call in tool_calls(parts):
            targets = (call.arguments.get(name) for name in _TARGETS)
            recorder.append(
                ToolCalled(
                    call_id=call.call_id,
                    name=call.name,
                    arguments=call.arguments,
                    iteration=recorder.state.own_iteration,
                    verb=_VERBS.get(call.name, call.name[:9]),
                    target=next((target for target in targets if isinstance(target, str)), ""),
                )
            )
            recorder.append(ToolStarted(call_id=call.call_id, writes=True))

    def _with_own_id(self, part: ModelPart) -> ModelPart:
        """Give a tool call a new id of this session; return any other part unchanged."""
        # The program can use one id for several calls.
        if not isinstance(part, ToolCallPart):
            return part
        call = part.model_copy(update={"call_id": self._parts.ids.call()})
        self._call_ids[part.call_id] = call
        return call

    async def _record_result(self, result: CallResult) -> None:
        recorder, call = self._parts.recorder, self._call_ids.pop(result.call_id)
        output = head_and_tail(result.output).text
        part = recorder.state.parts
        changes = await self._checkpointing.find_call_changes(None, call.call_id)
        recorder.append(
            ToolFinished(
                call_id=call.call_id,
                name=call.name,
                status="ok" if result.ok else "failed",
                part=part,
                content=(TextContent(text=output),),
                display=(TerminalBlock(text=output),) if output else (),
                summary=output.partition("\n")[0][:60],
            )
        )
        await self._checkpointing.commit_changes(changes, part, goes_on=True)


async def _lines(receive: ObjectReceiveStream[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of the output."""
    buffer = bytearray()
    async for piece in receive:
        end, *starts = piece.split(b"\n")
        buffer += end
        for start in starts:
            yield bytes(buffer)
            buffer = bytearray(start)
    yield bytes(buffer)


def _describe_failure(program: str, ended: ExecResult | EnvironmentFault, *, has_answer: bool) -> str:
    """Return the reason why a program failed without a `ProgramFault`. Empty if the program did not fail."""
    if isinstance(ended, EnvironmentFault):
        return str(ended)
    if ended.outcome != "exited":
        return ended.message or f"{program} was stopped"
    if ended.exit_code == 0 and has_answer:
        return ""
    lines = (ended.stderr or ended.output).decode("utf-8", "replace").splitlines()
    # A line that begins with `{` is an event, not a message to a person.
    messages = [line.strip() for line in lines if line.strip() and not line.startswith("{")]
    last = f": {messages[-1][:500]}" if messages else ""
    if ended.exit_code == 0:
        return f"{program} ended without an answer{last}"
    end = f"was {ended.message}" if ended.message else f"ended with status {ended.exit_code}"
    return f"{program} {end}{last}"
