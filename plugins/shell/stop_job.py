"""stop_job: stop a background job."""

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

    job_id: str = Field(description="from run_command, e.g. job-1")


class StopJob:
    """Stops a job and every process it started."""

    spec: ClassVar[ToolSpec]

    def target(self, args: StopJobArgs) -> str:
        """Return the job id."""
        return args.job_id

    def effects(self, args: StopJobArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only the session's own jobs change."""
        return (Internal(what="jobs"),)

    async def preview(self, args: StopJobArgs, env: Environment) -> Preview:
        """Return an empty preview: this call never needs approval."""
        return Preview(())

    async def run(self, args: StopJobArgs, ctx: ToolContext) -> ToolResult:
        """Stop the job and return its last output."""
        if ctx.jobs is None:
            raise ToolError("Background jobs are not available in this run.")
        return told(await ctx.jobs.stop(args.job_id), ctx)


def make(description: str) -> StopJob:
    """Create the tool with its description for the model."""
    StopJob.spec = ToolSpec(
        name="stop_job",
        description=description,
        args=StopJobArgs,
        verb="end",
        timeout=15.0,
        needs=frozenset({"jobs"}),
    )
    return StopJob()
