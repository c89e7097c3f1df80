"""read_job_output: what a background job printed since it was last read."""

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

    job_id: str = Field(description="as run_command told it: job-1")
    wait: float = Field(
        default=0, ge=0, le=MAX_WAIT, description="seconds to wait for something new where there is nothing"
    )


class ReadJobOutput:
    """Reads on in a job's output."""

    spec: ClassVar[ToolSpec]

    def target(self, args: ReadJobOutputArgs) -> str:
        """The job."""
        return args.job_id

    def effects(self, args: ReadJobOutputArgs) -> tuple[Effect, ...]:
        """Only what the session itself holds."""
        return (Internal(what="jobs"),)

    async def preview(self, args: ReadJobOutputArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: ReadJobOutputArgs, ctx: ToolContext) -> ToolResult:
        """What is new, and how the job stands."""
        if ctx.jobs is None:
            raise ToolError("There are no background jobs here.")
        return told(await ctx.jobs.read(args.job_id, args.wait), ctx)


def make(description: str) -> ReadJobOutput:
    """The tool with its description for the model."""
    ReadJobOutput.spec = ToolSpec(
        name="read_job_output",
        description=description,
        args=ReadJobOutputArgs,
        verb="read",
        timeout=MAX_WAIT + 10.0,
        needs=frozenset({"jobs"}),
    )
    return ReadJobOutput()
