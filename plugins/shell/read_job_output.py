"""read_job_output: the output of a background job since the last read."""

from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    Internal,
    Preview,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
)

from .jobs import told

MAX_WAIT = 60


class ReadJobOutputArgs(Frozen):
    """Arguments of read_job_output."""

    job_id: str = Field(description="from run_command, e.g. job-1")
    wait: float = Field(default=0, ge=0, le=MAX_WAIT, description="seconds to wait for new output")


class ReadJobOutput:
    """Reads the new output of a background job."""

    spec: ClassVar[ToolSpec]

    def target(self, args: ReadJobOutputArgs) -> str:
        """Return the job id."""
        return args.job_id

    def effects(self, args: ReadJobOutputArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only session data is read."""
        return (Internal(what="jobs"),)

    async def preview(self, args: ReadJobOutputArgs, env: Environment) -> Preview:
        """Return an empty preview: this call never needs approval."""
        return Preview(())

    async def run(self, args: ReadJobOutputArgs, ctx: ToolContext) -> ToolResult:
        """Return the new output and the job's state."""
        if ctx.jobs is None:
            raise ToolError("Background jobs are not available in this run.")
        return told(await ctx.jobs.read(args.job_id, args.wait), ctx)


def make(description: str) -> ReadJobOutput:
    """Create the tool with its description for the model."""
    ReadJobOutput.spec = ToolSpec(
        name="read_job_output",
        description=description,
        args=ReadJobOutputArgs,
        verb="read",
        timeout=MAX_WAIT + 10.0,
        needs=frozenset({"jobs"}),
    )
    return ReadJobOutput()
