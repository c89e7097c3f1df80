"""Sessions as OpenTelemetry spans, which the classes of OTLP accept, with the names of the GenAI conventions."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from tests.stubs.golden import GOLDEN, golden_session
from tests.stubs.store import store
from tests.stubs.story import called, finished, requested, responded, started, tool_call
from tui_agent.export.otel import to_otel
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.turn import IterationStarted, TurnFinished, TurnStarted
from tui_agent.store.redaction.redactor import Redactor

LOGS = sorted(path.stem for path in GOLDEN.glob("*.jsonl"))
DEPRECATED = {"gen_ai.system", "gen_ai.prompt", "gen_ai.completion"}
NAMES = {
    value
    for name, value in vars(gen_ai_attributes).items()
    if name.startswith("GEN_AI") and isinstance(value, str)
} - DEPRECATED


def spans_of(folder: Path) -> list[dict[str, Any]]:
    document = to_otel(folder, Redactor())
    json_format.Parse(json.dumps(document), ExportTraceServiceRequest())
    [resource] = document["resourceSpans"]
    [scope] = resource["scopeSpans"]
    spans: list[dict[str, Any]] = scope["spans"]
    return spans


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


@pytest.mark.parametrize("name", LOGS)
def test_otlp_accepts_every_span_and_knows_its_parent_and_names(tmp_path: Path, name: str) -> None:
    spans = spans_of(golden_session(tmp_path, name))
    ids = {span["spanId"] for span in spans}
    assert len(ids) == len(spans) > 10
    assert {span["parentSpanId"] for span in spans if "parentSpanId" in span} <= ids
    assert {(len(span["traceId"]), len(span["spanId"])) for span in spans} == {(32, 16)}
    assert all(int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) for span in spans)
    used = {key for span in spans for key in attributes(span) if key.startswith("gen_ai.")}
    assert used <= NAMES


def test_a_turn_is_an_invocation_of_the_agent_over_requests_and_calls(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    for payload in (
        TurnStarted(turn=1),
        IterationStarted(iteration=1, local_iteration=1),
        requested("r0"),
        responded("r0", tool_call("c0")),
        called("c0"),
        started("c0"),
        TestFinished(framework="pytest", command="pytest", passed=3, failed=1, skipped=0, exit_code=1),
        finished("c0", "failed"),
        TurnFinished(turn=1, reason="finished"),
    ):
        log.append(payload)
    log.close()
    turn, chat, call = spans_of(log.folder)
    assert [span["name"] for span in (turn, chat, call)] == [
        "invoke_agent default",
        "chat fast-1",
        "execute_tool run_command",
    ]
    assert [span.get("parentSpanId") for span in (turn, chat, call)] == [None, turn["spanId"], turn["spanId"]]
    assert [span["kind"] for span in (turn, chat, call)] == [1, 3, 1]
    assert attributes(chat)["gen_ai.usage.input_tokens"] == "100"
    assert attributes(chat)["gen_ai.provider.name"] == "test"
    assert attributes(call)["gen_ai.tool.call.id"] == "c0"
    assert call["status"] == {"code": 2, "message": "sum c0"}
    [event] = turn["events"]
    assert (event["name"], attributes(event)["gen_ai.evaluation.score.value"]) == (
        "gen_ai.evaluation.result",
        0.75,
    )
