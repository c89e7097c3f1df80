"""Conversion of a session to the Agent Trajectory Interchange Format (ATIF), which other evaluation tools read.

Invariant: the document contains only the current branch.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tui_agent import __version__
from tui_agent.errors import UsageError
from tui_agent.export.export_content import Texts
from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
from tui_agent.protocol.envelope import Envelope, known_events
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId
from tui_agent.protocol.parts import (
    ReasoningPart,
    TextContent,
    TextPart,
    Usage,
    tool_calls,
)
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import LongText
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import iterate_records
from tui_agent.store.redaction.redactor import Redactor

SCHEMA_VERSION: Final = "ATIF-v1.7"


@dataclass
class _AgentTrajectory:
    name: str
    model: ModelInfo | None = None
    entries: list[dict[str, Any]] = field(default_factory=list)
    usage: UsageTotals = NO_USAGE


def to_atif(folder: Path, redactor: Redactor) -> dict[str, Any]:
    """Return the current branch of a session as an ATIF document.

    Raise `SessionNotFound` if there is no log, `UsageError` if the branch has no messages.
    """
    builder = _AtifBuilder(Texts(open_blobs(folder), redactor))
    for record in known_events(iterate_records(folder, current_branch_only=True)):
        builder.apply(builder.texts.redact_event(record))
    return builder.document(folder.name)


class _AtifBuilder:
    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self._agents: dict[AgentId, _AgentTrajectory] = {MAIN_AGENT: _AgentTrajectory("tui-agent")}
        self._calls: dict[CallId, dict[str, Any]] = {}
        """Maps a call's id to the entry that contains the call."""
        self._delegates: dict[CallId, AgentId] = {}
        self._extra: dict[str, Any] = {}

    def apply(self, event: Envelope) -> None:
        agent = self._agents.setdefault(event.agent, _AgentTrajectory(event.agent))
        match event.payload:
            case SessionStarted(workspace=workspace, settings=settings):
                agent.model = settings.model
                self._extra |= {"workspace": workspace, "policy": settings.policy}
            case SessionTitled(title=title):
                self._extra["title"] = title
            case UserMessageReceived(text=text) | UserSteered(text=text):
                self._add(agent, event, "user", message=self.texts.full_text(text))
            case AgentSpawned() as spawned:
                agent.name = spawned.name
                agent.model = spawned.model
                if spawned.call_id is not None:
                    self._delegates[spawned.call_id] = event.agent
                self._add(agent, event, "user", message=self.texts.full_text(spawned.task))
            case ModelRequested(model=model):
                agent.model = model
            case ModelResponded() as answer:
                self._add_answer(agent, event, answer)
                agent.usage = agent.usage.with_call(answer)
            case ModelFailed() as failure:
                agent.usage = agent.usage.with_call(failure)
            case ToolFinished() as result:
                self._add_result(result)
            case _:
                pass

    def _add(self, agent: _AgentTrajectory, event: Envelope, source: str, **fields: Any) -> dict[str, Any]:
        entry = {
            "step_id": len(agent.entries) + 1,
            "timestamp": datetime.fromtimestamp(event.time, UTC).isoformat(timespec="milliseconds"),
            "source": source,
            **{name: value for name, value in fields.items() if value is not None},
        }
        agent.entries.append(entry)
        return entry

    def _add_answer(self, agent: _AgentTrajectory, event: Envelope, answer: ModelResponded) -> None:
        is_model = answer.author == "model"
        reasoning = self._join(part.text for part in answer.parts if isinstance(part, ReasoningPart))
        calls = list(tool_calls(answer.parts))
        entry = self._add(
            agent,
            event,
            "agent",
            model_name=agent.model.model if agent.model and is_model else None,
            message=self._join(part.text for part in answer.parts if isinstance(part, TextPart)),
            reasoning_content=reasoning if reasoning and is_model else None,
            tool_calls=[
                {
                    "tool_call_id": call.call_id,
                    "function_name": call.name,
                    "arguments": self.texts.full_json(call.arguments),
                }
                for call in calls
            ]
            or None,
            metrics=_metrics(answer.usage, answer.cost_usd) if is_model else None,
            llm_call_count=int(is_model),
            extra={"first_part": answer.first_part, "seq": event.seq},
        )
        self._calls |= {call.call_id: entry for call in calls}

    def _add_result(self, result: ToolFinished) -> None:
        entry = self._calls.pop(result.call_id, None)
        if entry is None:
            return
        observed: dict[str, Any] = {
            "source_call_id": result.call_id,
            "content": self._join(item.text for item in result.content if isinstance(item, TextContent)),
            "extra": {"status": result.status, "duration_ms": result.duration_ms},
        }
        delegate = self._delegates.get(result.call_id)
        if delegate is not None:
            observed["subagent_trajectory_ref"] = [{"trajectory_id": delegate}]
        entry.setdefault("observation", {"results": []})["results"].append(observed)

    def _join(self, texts: Iterable[LongText]) -> str:
        return "\n\n".join(filter(None, map(self.texts.full_text, texts)))

    def document(self, session: str) -> dict[str, Any]:
        main = self._agents[MAIN_AGENT]
        if not main.entries:
            raise UsageError(f"The session {session} has no messages.", hint="Export another session.")
        delegates = {
            name: agent for name, agent in self._agents.items() if name != MAIN_AGENT and agent.entries
        }
        document = _describe(main, session, session)
        usage = main.usage
        for agent in delegates.values():
            usage = usage.with_totals(agent.usage)
        if usage.cost_usd is not None:
            document["final_metrics"]["total_cost_usd"] = usage.cost_usd
        if delegates:
            document["subagent_trajectories"] = [
                _describe(agent, name, session) for name, agent in delegates.items()
            ]
        return {**document, "extra": {**self._extra, "cost_precision": usage.cost_precision}}


def _describe(agent: _AgentTrajectory, trajectory: str, session: str) -> dict[str, Any]:
    usage = agent.usage
    totals = {
        "total_prompt_tokens": usage.input_tokens,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cached_tokens,
        "total_steps": len(agent.entries),
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": session,
        "trajectory_id": trajectory,
        "agent": {
            "name": agent.name,
            "version": __version__,
            **({"model_name": agent.model.model} if agent.model else {}),
        },
        "steps": agent.entries,
        "final_metrics": totals if usage.cost_usd is None else {**totals, "total_cost_usd": usage.cost_usd},
    }


def _metrics(usage: Usage, cost_usd: float | None) -> dict[str, Any]:
    metrics = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
    }
    return metrics if cost_usd is None else {**metrics, "cost_usd": cost_usd}
