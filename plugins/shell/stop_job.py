"""stop_job: ends a background job."""

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


class StopJobArgs(Frozen):
    """Arguments of stop_job."""

    job_id: str = Field(description="as run_command told it: job-1")


class StopJob:
    """Ends a job with all that it started."""

    spec: ClassVar[ToolSpec]

    def target(self, args: StopJobArgs) -> str:
        """The job."""
        return args.job_id

    def effects(self, args: StopJobArgs) -> tuple[Effect, ...]:
        """Only what the session itself holds."""
        return (Internal(what="jobs"),)

    async def preview(self, args: StopJobArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: StopJobArgs, ctx: ToolContext) -> ToolResult:
        """End it, and tell what it printed last."""
        if ctx.jobs is None:
            raise ToolError("There are no background jobs here.")
        return told(await ctx.jobs.stop(args.job_id), ctx)


def make(description: str) -> StopJob:
    """The tool with its description for the model."""
    StopJob.spec = ToolSpec(
        name="stop_job",
        description=description,
        args=StopJobArgs,
        verb="end",
        timeout=15.0,
        needs=frozenset({"jobs"}),
    )
    return StopJob()
