"""What the two tools say of a delegate's report, to the model, to the user and to programs."""

import json
from collections.abc import Mapping

from tui_agent.plugin_api import DelegateReport, DisplayBlock, JsonMap, TextBlock

_ENDS = {"completed": "done", "failed": "failed", "interrupted": "stopped", "budget": "out of budget"}


def as_json(said: Mapping[str, object]) -> str:
    """For the model: keys in order, readable text as it is."""
    return json.dumps(said, ensure_ascii=False, indent=1)


def outcome(report: DelegateReport) -> str:
    """The row's outcome: calls (of models and tools) where it went well, else how it ended."""
    count = report.iterations + report.tool_calls
    calls = "1 call" if count == 1 else f"{count} calls"
    return calls if report.success else _ENDS[report.reason]


def file_rows(report: DelegateReport) -> tuple[DisplayBlock, ...]:
    """The files that it wrote, where there are any."""
    rows = [f"created {path}" for path in report.files_created]
    rows += [f"changed {path}" for path in report.files_modified]
    return (TextBlock(text="\n".join(rows)),) if rows else ()


def report_data(report: DelegateReport) -> JsonMap:
    """The figures."""
    return {
        "id": report.agent,
        "reason": report.reason,
        "iterations": report.iterations,
        "tool_calls": report.tool_calls,
        "input_tokens": report.input_tokens,
        "output_tokens": report.output_tokens,
        "cost_usd": report.cost_usd,
    }
