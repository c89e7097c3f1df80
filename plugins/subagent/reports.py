"""Tool results made from a delegate's report, for the model, the user and programs."""

import json

from tui_agent.plugin_api import DelegateReport, DisplayBlock, JsonMap, TextBlock, TextContent, ToolResult

_ENDS = {"completed": "done", "failed": "failed", "interrupted": "stopped", "budget": "out of budget"}


def delegate_result(report: DelegateReport, found: JsonMap, display: tuple[DisplayBlock, ...]) -> ToolResult:
    """Return the result of a delegation: its `found` data, success and, on failure, the reason.

    The figures are left out of the model's text.
    """
    answer: JsonMap = {**found, "success": report.success}
    if not report.success:
        answer["reason"] = report.reason
    return ToolResult(
        content=(TextContent(text=json.dumps(answer, ensure_ascii=False, indent=1)),),
        ok=report.success,
        stopped=report.reason == "interrupted",
        summary=_describe_outcome(report),
        display=display,
        data={**answer, **_usage_figures(report)},
    )


def _describe_outcome(report: DelegateReport) -> str:
    """Return the number of tool calls after a success, else how the delegate ended."""
    calls = "1 tool call" if report.tool_calls == 1 else f"{report.tool_calls} tool calls"
    return calls if report.success else _ENDS[report.reason]


def file_rows(report: DelegateReport) -> tuple[DisplayBlock, ...]:
    """Return a block that lists the files the delegate wrote, if any."""
    rows = [f"created {path}" for path in report.files_created]
    rows += [f"changed {path}" for path in report.files_modified]
    return (TextBlock(text="\n".join(rows)),) if rows else ()


def _usage_figures(report: DelegateReport) -> JsonMap:
    return {
        "id": report.agent,
        "reason": report.reason,
        "iterations": report.iterations,
        "tool_calls": report.tool_calls,
        "input_tokens": report.input_tokens,
        "output_tokens": report.output_tokens,
        "cost_usd": report.cost_usd,
    }
