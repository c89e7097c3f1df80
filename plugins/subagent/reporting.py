"""What the two tools say of a delegate's report, to the model, to the user and to programs."""

import json

from tui_agent.plugin_api import DelegateReport, DisplayBlock, JsonMap, TextBlock, TextContent, ToolResult

_ENDS = {"completed": "done", "failed": "failed", "interrupted": "stopped", "budget": "out of budget"}


def result(report: DelegateReport, found: JsonMap, display: tuple[DisplayBlock, ...]) -> ToolResult:
    """What a delegation gives back: what was `found`, whether it went well, and why not; the figures are no model's."""
    said: JsonMap = {**found, "success": report.success}
    if not report.success:
        said["reason"] = report.reason
    return ToolResult(
        ok=report.success,
        stopped=report.reason == "interrupted",
        content=(TextContent(text=json.dumps(said, ensure_ascii=False, indent=1)),),
        summary=_outcome(report),
        display=display,
        data={**said, **_figures(report)},
    )


def _outcome(report: DelegateReport) -> str:
    """The row's outcome: its calls of tools where it went well, else how it ended."""
    calls = "1 tool call" if report.tool_calls == 1 else f"{report.tool_calls} tool calls"
    return calls if report.success else _ENDS[report.reason]


def file_rows(report: DelegateReport) -> tuple[DisplayBlock, ...]:
    """The files that it wrote, where there are any."""
    rows = [f"created {path}" for path in report.files_created]
    rows += [f"changed {path}" for path in report.files_modified]
    return (TextBlock(text="\n".join(rows)),) if rows else ()


def _figures(report: DelegateReport) -> JsonMap:
    return {
        "id": report.agent,
        "reason": report.reason,
        "iterations": report.iterations,
        "tool_calls": report.tool_calls,
        "input_tokens": report.input_tokens,
        "output_tokens": report.output_tokens,
        "cost_usd": report.cost_usd,
    }
