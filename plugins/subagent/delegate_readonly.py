"""delegate_readonly: a question about the repository for an agent that can only read."""

from collections.abc import Collection
from contextlib import suppress

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    DelegateTask,
    Effect,
    Environment,
    EnvironmentFault,
    FrozenModel,
    InternalEffect,
    MarkdownBlock,
    Preview,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    tool_description,
)

from .evidence import Findings, read_findings
from .reports import delegate_result

INVESTIGATOR = "investigator"


class DelegateReadonlyArgs(FrozenModel):
    """Arguments of delegate_readonly."""

    task: str = Field(min_length=1, description="the question, and what is already known")


class DelegateReadonly(BaseTool):
    """Runs an investigator agent and returns its findings."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="delegate_readonly",
            description=tool_description(__file__),
            args=DelegateReadonlyArgs,
            verb="[Subtask]",
            timeout=None,
            parallel_safe=True,
            parallel_group="subtasks",
            needs=frozenset({"delegate"}),
        )

    def target(self, args: DelegateReadonlyArgs) -> str:
        """Return the question."""
        return f"{INVESTIGATOR}: {' '.join(args.task.split())}"

    def effects(self, args: DelegateReadonlyArgs) -> tuple[Effect, ...]:
        """Return an internal effect: the investigator's own reads are judged call by call."""
        return (InternalEffect(subject="subtask"),)

    async def preview(self, args: DelegateReadonlyArgs, env: Environment) -> Preview:
        """Return an empty preview: the question says enough."""
        return Preview((), content=args.task)

    async def run(self, args: DelegateReadonlyArgs, ctx: ToolContext) -> ToolResult:
        """Return the findings: a summary and its evidence."""
        if ctx.delegate is None:
            raise ToolError("Tasks cannot be delegated in this run.")
        report = await ctx.delegate.run(DelegateTask(args.task, INVESTIGATOR))
        findings = read_findings(report.summary, trusted=report.success)
        missing = await _missing_paths({place.path for place in findings.evidence}, ctx.env)
        findings = findings.without_missing_files(missing)
        lengths = await _count_lines({place.path for place in findings.evidence if place.lines}, ctx.env)
        findings = findings.mark_past_end(lengths)
        return delegate_result(report, findings.as_json(), (MarkdownBlock(text=_format_findings(findings)),))


async def _missing_paths(paths: Collection[str], env: Environment) -> set[str]:
    """Return the paths that do not exist or cannot be read."""
    missing: set[str] = set()
    for path in paths:
        try:
            exists = await env.stat(path) is not None
        except (EnvironmentFault, ValueError):
            exists = False
        if not exists:
            missing.add(path)
    return missing


async def _count_lines(paths: Collection[str], env: Environment) -> dict[str, int]:
    """Return the number of lines of each file that can be read."""
    lines: dict[str, int] = {}
    for path in paths:
        with suppress(EnvironmentFault, ValueError):
            data = (await env.read(path)).data
            lines[path] = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    return lines


def _format_findings(findings: Findings) -> str:
    """Format the summary, the evidence and the open questions for the user."""
    lines = [findings.summary]
    if findings.evidence:
        lines.append("")
    for evidence in findings.evidence:
        place = f"`{evidence.path}:{evidence.lines}`" if evidence.lines else f"`{evidence.path}`"
        missing = f" ({evidence.not_found})" if evidence.not_found else ""
        lines.append(f"- {place} {evidence.what}".rstrip() + missing)
    if findings.not_there:
        lines += ["", f"Not found: {', '.join(f'`{path}`' for path in findings.not_there)}"]
    if findings.open_questions:
        lines += ["", "Open:", *(f"- {question}" for question in findings.open_questions)]
    return "\n".join([*lines, "", f"Confidence: {findings.confidence}"])
