"""delegate_readonly: a question about the repository for an agent that only looks."""

from collections.abc import Collection
from contextlib import suppress
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    EnvironmentFault,
    Errand,
    Frozen,
    Internal,
    MarkdownBlock,
    Preview,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
)

from .evidence import Findings, read_findings
from .reporting import result

INVESTIGATOR = "investigator"


class DelegateReadonlyArgs(Frozen):
    """Arguments of delegate_readonly."""

    task: str = Field(min_length=1, description="the question, and what is known about it")


class DelegateReadonly:
    """Runs an investigator, and gives what it found."""

    spec: ClassVar[ToolSpec]

    def target(self, args: DelegateReadonlyArgs) -> str:
        """The question."""
        return f"{INVESTIGATOR}: {' '.join(args.task.split())}"

    def effects(self, args: DelegateReadonlyArgs) -> tuple[Effect, ...]:
        """None of its own: what the investigator reads is judged call by call."""
        return (Internal(what="subtask"),)

    async def preview(self, args: DelegateReadonlyArgs, env: Environment) -> Preview:
        """Nothing beyond the question."""
        return Preview((), content=args.task)

    async def run(self, args: DelegateReadonlyArgs, ctx: ToolContext) -> ToolResult:
        """What it found: a summary, and the evidence for it."""
        if ctx.delegate is None:
            raise ToolError("Nothing can be delegated here.")
        report = await ctx.delegate.run(Errand(args.task, INVESTIGATOR))
        found = read_findings(report.summary, trusted=report.success)
        found = found.without(await _not_there({one.path for one in found.evidence}, ctx.env))
        found = found.ending(await _lengths({one.path for one in found.evidence if one.lines}, ctx.env))
        return result(report, found.as_json(), (MarkdownBlock(text=_shown(found)),))


async def _not_there(paths: Collection[str], env: Environment) -> set[str]:
    """The paths that an investigator named and that lead nowhere, or out of what can be looked at."""
    gone: set[str] = set()
    for path in paths:
        try:
            there = await env.stat(path) is not None
        except (EnvironmentFault, ValueError):
            there = False
        if not there:
            gone.add(path)
    return gone


async def _lengths(paths: Collection[str], env: Environment) -> dict[str, int]:
    """How many lines each of these files has, as far as they can be read."""
    lines: dict[str, int] = {}
    for path in paths:
        with suppress(EnvironmentFault, ValueError):
            data = (await env.read(path)).data
            lines[path] = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    return lines


def _shown(found: Findings) -> str:
    """For the user: the summary, the places, what is open."""
    lines = [found.summary]
    if found.evidence:
        lines.append("")
    for one in found.evidence:
        place = f"`{one.path}:{one.lines}`" if one.lines else f"`{one.path}`"
        missing = f" ({one.not_found})" if one.not_found else ""
        lines.append(f"- {place} {one.what}".rstrip() + missing)
    if found.not_there:
        lines += ["", f"Not there: {', '.join(f'`{path}`' for path in found.not_there)}"]
    if found.open_questions:
        lines += ["", "Open:", *(f"- {question}" for question in found.open_questions)]
    return "\n".join([*lines, "", f"Confidence: {found.confidence}"])


def make(description: str) -> DelegateReadonly:
    """The tool with its description for the model."""
    DelegateReadonly.spec = ToolSpec(
        name="delegate_readonly",
        description=description,
        args=DelegateReadonlyArgs,
        verb="[Subtask]",
        timeout=None,
        parallel_safe=True,
        parallel_among="subtasks",
        needs=frozenset({"delegate"}),
    )
    return DelegateReadonly()
