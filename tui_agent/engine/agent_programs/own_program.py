"""tui-agent itself as a program in another environment: `tui-agent run --json`, which prints a session's events."""

from collections.abc import Iterator

from tui_agent.engine.agent_programs.program_output import (
    CallResult,
    ProgramAnswer,
    ProgramEvent,
    ProgramFault,
    ProgramRequest,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.parts import ModelPart, ToolCallPart, text_previews
from tui_agent.protocol.stored_text import JsonMap, text_preview


class OwnProgram:
    """A session of tui-agent that runs as a program in the environment; implements `AgentProgram`."""

    program = "tui-agent"

    def __init__(self, memory: JsonMap) -> None:
        self.memory = memory

    def command(self, request: ProgramRequest) -> tuple[str, ...]:
        model = ("--model", request.model) if request.model else ()
        effort = ("--reasoning-effort", request.effort) if request.effort else ()
        known = self.memory.get("session")
        session = ("--session", known) if isinstance(known, str) else ()
        return ("tui-agent", "run", "-", "--json", "--policy", request.policy, *model, *effort, *session)

    def read(self, line: JsonMap) -> Iterator[ProgramEvent]:
        event = Envelope.model_validate(line, extra="ignore")
        self.memory = {"session": event.session}
        if event.agent != MAIN_AGENT:
            return
        match event.payload:
            case ModelResponded(parts=parts, usage=usage, cost_usd=cost):
                yield ProgramAnswer(tuple(map(_strip_references, parts)), usage, cost)
            case ToolFinished(call_id=call_id, status=status, content=content):
                texts = text_previews(content)
                yield CallResult(call_id, status == "ok", "\n".join(texts))
            case TurnFinished(reason=reason, detail=detail) if reason != "finished":
                yield ProgramFault(detail or f"its turn ended with the reason {reason}")

    def finish(self) -> Iterator[ProgramEvent]:
        return iter(())  # each event is complete


def _strip_references(part: ModelPart) -> ModelPart:
    """Return a part with only the start of a long text, because the full text is in the other program's store."""
    if isinstance(part, ToolCallPart):
        return part
    return part.model_copy(update={"text": text_preview(part.text)})
