"""The agent program opencode, run as `opencode run --format json`.

Lines of the types `text`, `reasoning` and `tool_use` (a finished call) are the parts of an answer. The last line of an
answer has its token counts. A line of the type `error` ends the task.
"""

from collections.abc import Iterator
from typing import Any

from tui_agent.engine.agent_programs.program_output import (
    CallResult,
    ProgramAnswer,
    ProgramEvent,
    ProgramFault,
    ProgramRequest,
    count_of,
    text_of,
)
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ModelPart, ReasoningPart, TextPart, ToolCallPart, Usage
from tui_agent.protocol.stored_text import JsonMap


class OpenCode:
    """A conversation with opencode; implements `AgentProgram`."""

    program = "opencode"

    def __init__(self, memory: JsonMap) -> None:
        self.memory = memory
        self._parts: list[ModelPart] = []
        self._results: list[CallResult] = []

    def command(self, request: ProgramRequest) -> tuple[str, ...]:
        permissions = {"accept-edits": (), "bypass": ("--auto",)}.get(request.policy, ("--agent", "plan"))
        model = ("--model", request.model) if request.model else ()
        effort = ("--variant", request.effort) if request.effort else ()
        known = text_of(self.memory.get("session"))
        session = ("--session", known) if known else ()
        return ("opencode", "run", "--format", "json", "--thinking", *permissions, *model, *effort, *session)

    def read(self, line: JsonMap) -> Iterator[ProgramEvent]:
        if session := text_of(line.get("sessionID")):
            self.memory = {"session": session}
        match line:
            case {"type": "text", "part": {"text": str(text)}}:
                self._parts.append(TextPart(text=text))
            case {"type": "reasoning", "part": {"text": str(text)}}:
                self._parts.append(ReasoningPart(text=text))
            case {"type": "tool_use", "part": dict(part)}:
                self._read_call(part)
            case {"type": "step_finish", "part": dict(part)}:
                yield from self._end_answer(part)
            case {"type": "error", "error": dict(error)}:
                yield from self.finish()
                yield ProgramFault(_message_of(error))

    def finish(self) -> Iterator[ProgramEvent]:
        return self._end_answer({})

    def _read_call(self, part: dict[str, Any]) -> None:
        state, call_id = part["state"], part["callID"]
        call_input = state.get("input")
        arguments = call_input if isinstance(call_input, dict) else {}
        self._parts.append(ToolCallPart(call_id=CallId(call_id), name=part["tool"], arguments=arguments))
        metadata = state.get("metadata")
        status = metadata.get("exit") if isinstance(metadata, dict) else None
        ok = state.get("status") == "completed" and status in (None, 0)
        self._results.append(CallResult(call_id, ok, text_of(state.get("output") or state.get("error"))))

    def _end_answer(self, part: dict[str, Any]) -> Iterator[ProgramEvent]:
        parts, self._parts = tuple(self._parts), []
        results, self._results = self._results, []
        cost = part.get("cost")
        if parts or part:
            yield ProgramAnswer(parts, _usage_of(part), cost if isinstance(cost, int | float) else None)
        yield from results


def _usage_of(part: dict[str, Any]) -> Usage:
    tokens = part.get("tokens")
    tokens = tokens if isinstance(tokens, dict) else {}
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    cached, written, reasoning = (
        count_of(cache, "read"),
        count_of(cache, "write"),
        count_of(tokens, "reasoning"),
    )
    # opencode counts cached tokens and reasoning separately; `Usage` includes them in the input and the output.
    return Usage(
        input_tokens=count_of(tokens, "input") + cached + written,
        output_tokens=count_of(tokens, "output") + reasoning,
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def _message_of(error: dict[str, Any]) -> str:
    details = error.get("data")
    message = text_of(details.get("message")) if isinstance(details, dict) else ""
    return message or text_of(error.get("name")) or "it reported an error"
