"""Conversion of a session to OpenTelemetry spans, in the JSON form of OTLP and with the names of the GenAI conventions.

Invariant: spans have names, times, tokens and costs, but no texts of the conversation.
"""

import hashlib
from pathlib import Path
from typing import Any, Final

from tui_agent import __version__
from tui_agent.export.export_content import Texts
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.spans import Span
from tui_agent.protocol.envelope import Envelope, known_events
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished
from tui_agent.protocol.events.model import ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import iterate_records
from tui_agent.store.redaction.redactor import Redactor

INTERNAL: Final = 1
CLIENT: Final = 3
ERROR: Final = 2
PROGRAM: Final = "tui-agent"


def to_otel(folder: Path, redactor: Redactor) -> dict[str, Any]:
    """Return the spans of a session as an OTLP export request. Raise `SessionNotFound` if there is no log."""
    builder = _OtelBuilder(folder.name)
    texts = Texts(open_blobs(folder), redactor)
    for record in known_events(iterate_records(folder)):
        builder.apply(texts.redact_event(record))
    return builder.document()


class _OtelBuilder:
    def __init__(self, session: str) -> None:
        self._session = session
        self._trace = Trace()
        self._details: dict[int, dict[str, Any]] = {}
        """Maps an event's number to attributes of the span that begins or ends with it."""
        self._agent_names: dict[str, str] = {MAIN_AGENT: "default"}
        self._evaluations: list[tuple[Envelope, dict[str, Any]]] = []
        self._last_time = 0.0

    def apply(self, event: Envelope) -> None:
        self._trace.apply(event)
        self._last_time = event.time
        match event.payload:
            case SessionStarted(settings=settings):
                self._agent_names[MAIN_AGENT] = settings.agent
            case AgentSpawned(name=name):
                self._agent_names[event.agent] = name
            case ModelRequested(model=model, max_tokens=max_tokens):
                self._details[event.seq] = {
                    "gen_ai.provider.name": model.provider,
                    "gen_ai.request.model": model.model,
                    "gen_ai.request.max_tokens": max_tokens,
                }
            case ModelResponded(usage=usage, finish=finish):
                self._details[event.seq] = {
                    "gen_ai.response.finish_reasons": [finish],
                    "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
                    "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
                }
            case ToolCalled(name=name, call_id=call_id):
                self._details[event.seq] = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
            case TestFinished() as tests:
                total = max(tests.passed, 0) + max(tests.failed, 0)
                score = max(tests.passed, 0) / total if total else float(tests.exit_code == 0)
                self._evaluations.append((event, _evaluation(tests.command, score)))
            case VerifierFinished(verifier=name, reward=reward):
                self._evaluations.append((event, _evaluation(name, reward)))
            case _:
                pass

    def document(self) -> dict[str, Any]:
        spans = self._trace.view().spans
        parents = {span.index: _find_parent(span, spans) for span in spans}
        # The conventions have no span for an iteration, so its requests and calls belong to the turn directly.
        exported = [self._span(span, parents) for span in spans if span.kind != "iteration"]
        scope = {"name": PROGRAM, "version": __version__}
        resource = _attributes({"service.name": PROGRAM, "service.version": __version__})
        return {
            "resourceSpans": [
                {
                    "resource": {"attributes": resource},
                    "scopeSpans": [{"scope": scope, "spans": exported}],
                }
            ]
        }

    def _span(self, span: Span, parents: dict[int, int | None]) -> dict[str, Any]:
        details = {**self._details.get(span.first_seq, {}), **self._details.get(span.last_seq, {})}
        name, operation = self._name(span, details)
        attributes = {
            "gen_ai.conversation.id": self._session,
            **operation,
            **details,
            "gen_ai.usage.input_tokens": span.tokens_in,
            "gen_ai.usage.output_tokens": span.tokens_out,
            "tui_agent.cost_usd": span.cost_usd,
            "tui_agent.cost_precision": None if span.cost_usd is None else span.cost_precision,
            "tui_agent.part": span.part,
            "error.type": span.outcome or span.state if span.state in ("failed", "denied") else None,
        }
        parent = parents[span.index]
        end = self._last_time if span.end is None else span.end
        return {
            "traceId": _digest(self._session, 32),
            "spanId": self._span_id(span.index),
            **({} if parent is None else {"parentSpanId": self._span_id(parent)}),
            "name": name,
            "kind": CLIENT if span.kind == "model" else INTERNAL,
            "startTimeUnixNano": _nanoseconds(span.start),
            "endTimeUnixNano": _nanoseconds(max(end, span.start)),
            "attributes": _attributes(attributes),
            "events": self._events(span, end) if span.kind == "turn" else [],
            "status": {"code": ERROR, "message": span.outcome} if span.state == "failed" else {},
        }

    def _name(self, span: Span, details: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        match span.kind:
            case "model":
                return f"chat {span.name}", {"gen_ai.operation.name": "chat"}
            case "tool":
                tool = details.get("gen_ai.tool.name", span.name)
                return f"execute_tool {tool}", {"gen_ai.operation.name": "execute_tool"}
            case "turn" | "subtask":
                agent = self._agent_names.get(span.agent, span.agent)
                operation = {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": agent,
                    "gen_ai.agent.id": span.agent,
                }
                return f"invoke_agent {agent}", operation
            case _:
                return span.name, {}

    def _events(self, span: Span, end: float) -> list[dict[str, Any]]:
        return [
            {
                "timeUnixNano": _nanoseconds(event.time),
                "name": "gen_ai.evaluation.result",
                "attributes": _attributes(attributes),
            }
            for event, attributes in self._evaluations
            if span.start <= event.time <= end
        ]

    def _span_id(self, index: int) -> str:
        return _digest(f"{self._session}/{index}", 16)


def _find_parent(span: Span, spans: Any) -> int | None:
    """Return the index of the nearest ancestor that is not an iteration, or None if there is none."""
    parent = span.parent
    while parent is not None and spans[parent].kind == "iteration":
        parent = spans[parent].parent
    return parent


def _evaluation(name: str, score: float) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": float(score),
        "gen_ai.evaluation.score.label": "pass" if score >= 1.0 else "fail",
    }


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any_value(value)} for key, value in values.items() if value is not None]


def _any_value(value: Any) -> dict[str, Any]:
    match value:
        case list():
            return {"arrayValue": {"values": [_any_value(item) for item in value]}}
        case int():
            # The JSON form of OTLP writes 64-bit integers as strings.
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": str(value)}


def _nanoseconds(time: float) -> str:
    # Microseconds are as precise as the log's times.
    return str(round(time * 1e6) * 1000)


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
