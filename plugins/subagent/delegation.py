"""spawn_subtask and delegate_readonly: give a task to another agent, which has its own context."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

from .investigator_answer import Evidence, Findings, read_findings

MAX_TOKENS = 4_096
INVESTIGATOR = "investigator"
_ENDS = {"completed": "done", "failed": "failed", "interrupted": "stopped", "budget": "out of budget"}


class DelegationTool(api.SessionTool):
    """Base class for tools that give a task to another agent. The policy judges each tool call of that agent."""

    subject = "subtask"

    def __init__(self, name: str, args: type[api.FrozenModel]) -> None:
        self.spec = api.load_spec(
            name,
            __file__,
            args,
            verb="[Subtask]",
            timeout=None,
            parallel_safe=True,
            parallel_group="subtasks",
            needs={"delegate"},
        )


async def _delegate(task: api.DelegateTask, ctx: api.ToolContext) -> api.DelegateReport:
    if ctx.delegate is None:
        raise api.ToolError("Tasks cannot be delegated in this run.")
    return await ctx.delegate.run(task)


class SpawnSubtaskArgs(api.FrozenModel):
    """Arguments of the tool `spawn_subtask`."""

    prompt: str = Field(min_length=1)
    allowed_tools: tuple[str, ...] | None = Field(
        default=None,
        description="omitted: the file tools",
    )
    max_tokens: Annotated[int, api.at_most(65_536)] = Field(default=MAX_TOKENS, ge=256)
    agent: str = ""


class SpawnSubtask(DelegationTool):
    """Tool that gives a task to another agent and returns its report."""

    def __init__(self) -> None:
        super().__init__("spawn_subtask", SpawnSubtaskArgs)

    def target(self, args: SpawnSubtaskArgs) -> str:
        """Return the task, preceded by the agent's name if the call names an agent."""
        task = " ".join(args.prompt.split())
        return f"{args.agent}: {task}" if args.agent else task

    async def preview(self, args: SpawnSubtaskArgs, env: api.Environment) -> api.Preview:
        return api.Preview((), content=args.prompt)

    async def run(self, args: SpawnSubtaskArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Run the other agent; return its report, without its conversation."""
        task = api.DelegateTask(args.prompt, tools=args.allowed_tools, max_tokens=args.max_tokens)
        if args.agent:
            task = replace(task, role=args.agent)
        report = await _delegate(task, ctx)
        answer: api.JsonMap = {
            "summary": report.summary,
            "files_created": list(report.files_created),
            "files_modified": list(report.files_modified),
        }
        if report.files_deleted:
            answer["files_deleted"] = list(report.files_deleted)
        return _build_result(report, answer, (api.MarkdownBlock(text=report.summary), *_file_rows(report)))


class DelegateReadonlyArgs(api.FrozenModel):
    """Arguments of delegate_readonly."""

    task: str = Field(min_length=1)


class DelegateReadonly(DelegationTool):
    """Tool that asks an investigator agent and returns its findings."""

    def __init__(self) -> None:
        super().__init__("delegate_readonly", DelegateReadonlyArgs)

    def target(self, args: DelegateReadonlyArgs) -> str:
        return f"{INVESTIGATOR}: {' '.join(args.task.split())}"

    async def preview(self, args: DelegateReadonlyArgs, env: api.Environment) -> api.Preview:
        return api.Preview((), content=args.task)

    async def run(self, args: DelegateReadonlyArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Run the investigator and return its findings. Evidence that refers to missing files or lines is marked."""
        report = await _delegate(api.DelegateTask(args.task, INVESTIGATOR), ctx)
        findings = read_findings(report.summary, trusted=report.success)
        findings = findings.check(await _count_lines(findings.evidence, ctx.env))
        return _build_result(
            report, findings.as_json(), (api.MarkdownBlock(text=_format_findings(findings)),)
        )


async def _count_lines(evidence: Sequence[Evidence], env: api.Environment) -> dict[str, int]:
    """Map each existing file in the evidence to its number of lines, or to `sys.maxsize` if it is unreadable."""
    lengths: dict[str, int] = {}
    for path in {place.path for place in evidence}:
        with suppress(api.EnvironmentFault, ValueError):
            if await env.stat(path) is not None:
                lengths[path] = sys.maxsize  # replaced below, unless the file cannot be read
                data = (await env.read(path)).data
                lengths[path] = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    return lengths


def _format_findings(findings: Findings) -> str:
    lines = [findings.summary]
    if findings.evidence:
        lines.append("")
    for evidence in findings.evidence:
        place = f"`{evidence.path}:{evidence.lines}`" if evidence.lines else f"`{evidence.path}`"
        missing = f" ({evidence.not_found})" if evidence.not_found else ""
        lines.append(f"- {place} {evidence.description}".rstrip() + missing)
    if findings.not_there:
        lines += ["", f"Not found: {', '.join(f'`{path}`' for path in findings.not_there)}"]
    if findings.open_questions:
        lines += ["", "Open:", *(f"- {question}" for question in findings.open_questions)]
    return "\n".join([*lines, "", f"Confidence: {findings.confidence}"])


def _build_result(
    report: api.DelegateReport, findings: api.JsonMap, display: tuple[api.DisplayBlock, ...]
) -> api.ToolResult:
    """Return the tool result for an agent's report: JSON with the findings, `success`, and the `reason` of a failure."""
    answer: api.JsonMap = {**findings, "success": report.success}
    if not report.success:
        answer["reason"] = report.reason
    calls = api.format_count(report.tool_calls, "tool call")
    return api.ToolResult(
        content=(api.TextContent(text=json.dumps(answer, ensure_ascii=False, indent=1)),),
        ok=report.success,
        stopped=report.reason == "interrupted",
        summary=calls if report.success else _ENDS[report.reason],
        display=display,
        data={**answer, **_usage_figures(report)},
    )


def _file_rows(report: api.DelegateReport) -> tuple[api.DisplayBlock, ...]:
    rows = [f"created {path}" for path in report.files_created]
    rows += [f"changed {path}" for path in report.files_modified]
    rows += [f"deleted {path}" for path in report.files_deleted]
    return (api.TextBlock(text="\n".join(rows)),) if rows else ()


def _usage_figures(report: api.DelegateReport) -> api.JsonMap:
    return {
        "id": report.agent,
        "reason": report.reason,
        "iterations": report.iterations,
        "tool_calls": report.tool_calls,
        "input_tokens": report.input_tokens,
        "output_tokens": report.output_tokens,
        "cost_usd": report.cost_usd,
    }
