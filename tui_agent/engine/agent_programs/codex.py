"""The agent program Codex of OpenAI, run as `codex exec --json`."""

import json
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
from tui_agent.protocol.settings import PolicyName
from tui_agent.protocol.stored_text import JsonMap

_SANDBOXES: dict[PolicyName, tuple[str, ...]] = {
    "accept-edits": ("--sandbox", "workspace-write"),
    "bypass": ("--dangerously-bypass-approvals-and-sandbox",),
}
"""Maps a policy to options that let Codex change files. Under other policies, Codex only reads files."""
_ARGUMENTS = ("command", "changes", "query", "server", "tool", "arguments")
_NOT_RECORDED = ("error", "todo_list")
"""Types of items that are not recorded: warnings, and the program's own list of tasks."""


class Codex:
    """A conversation with Codex; implements `AgentProgram`."""

    program = "codex"

    def __init__(self, memory: JsonMap) -> None:
        self.memory = memory
        """Data for the next turn: the id and the token usage of the thread (a conversation in Codex)."""
        self._pending: list[ModelPart] = []
        """The parts of an incomplete answer, as received so far."""
        self._open_calls: set[str] = set()

    def command(self, request: ProgramRequest) -> tuple[str, ...]:
        sandbox = _SANDBOXES.get(request.policy, ("--sandbox", "read-only"))
        model = ("--model", request.model) if request.model else ()
        effort = ("-c", f'model_reasoning_effort="{request.effort}"') if request.effort else ()
        # Codex refuses to run outside a git repository unless told otherwise. `-` reads the prompt from stdin.
        conversation = ("resume", thread) if (thread := text_of(self.memory.get("thread"))) else ()
        options = ("--json", "--skip-git-repo-check", *sandbox, *model, *effort)
        return ("codex", "exec", *options, *conversation, "-")

    def read(self, line: JsonMap) -> Iterator[ProgramEvent]:
        match line:
            case {"type": "thread.started", "thread_id": str(thread)}:
                self.memory = {**self.memory, "thread": thread}
            case {"type": "item.started" | "item.completed" as event, "item": dict(item)}:
                yield from self._read_item(item, is_done=event == "item.completed")
            case {"type": "turn.completed", "usage": dict(total)}:
                yield ProgramAnswer(self._take_pending(), self._usage_since(total))
            case {"type": "turn.failed", "error": {"message": str(message)}}:
                yield from self.finish()
                yield ProgramFault(message)

    def finish(self) -> Iterator[ProgramEvent]:
        if self._pending:
            yield ProgramAnswer(self._take_pending())

    def _read_item(self, item: dict[str, Any], *, is_done: bool) -> Iterator[ProgramEvent]:
        kind = text_of(item["type"])
        if kind in _NOT_RECORDED:
            return
        if kind in ("agent_message", "reasoning"):
            if is_done and text_of(item.get("text")):
                # An answer has one message, so a second message begins the next answer.
                if any(isinstance(part, TextPart) for part in self._pending):
                    yield from self.finish()
                text = item["text"]
                self._pending.append(
                    TextPart(text=text) if kind == "agent_message" else ReasoningPart(text=text)
                )
            return
        call_id = item["id"]
        # Codex can report a call only when it is completed. Record its start then.
        if call_id not in self._open_calls:
            self._open_calls.add(call_id)
            arguments = {name: item[name] for name in _ARGUMENTS if name in item}
            call = ToolCallPart(call_id=CallId(call_id), name=kind, arguments=arguments)
            yield ProgramAnswer((*self._take_pending(), call))
        if is_done:
            self._open_calls.discard(call_id)
            ok = item.get("status") in (None, "completed")
            yield CallResult(call_id, ok, _output_of(item))

    def _take_pending(self) -> tuple[ModelPart, ...]:
        parts, self._pending = tuple(self._pending), []
        return parts

    def _usage_since(self, total: JsonMap) -> Usage:
        """Return the usage of the last turn: the thread's total usage minus the usage of earlier turns."""
        before = self.memory.get("usage")
        before = before if isinstance(before, dict) else {}
        self.memory = {**self.memory, "usage": total}
        names = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
        counts = [max(0, count_of(total, name) - count_of(before, name)) for name in names]
        reasoning = count_of(total, "reasoning_output_tokens") - count_of(before, "reasoning_output_tokens")
        return Usage(
            input_tokens=counts[0],
            output_tokens=counts[1],
            cached_tokens=counts[2],
            cache_write_tokens=counts[3],
            reasoning_tokens=max(0, reasoning),
        )


def _output_of(item: dict[str, Any]) -> str:
    for name in ("aggregated_output", "result", "error"):
        value = item.get(name)
        if value:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    changes = item.get("changes")
    rows = changes if isinstance(changes, list) else []
    return "\n".join(f"{row.get('kind', '')} {row.get('path', '')}" for row in rows if isinstance(row, dict))
