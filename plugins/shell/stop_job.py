"""stop_job: stop a background job."""

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    FrozenModel,
    InternalEffect,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    tool_description,
)

from .jobs import job_result


class StopJobArgs(FrozenModel):
    """Arguments of stop_job."""

    job_id: str = Field(description="from run_command, e.g. job-1")


class StopJob(BaseTool):
    """Stops a job and every process it started."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="stop_job",
            description=tool_description(__file__),
            args=StopJobArgs,
            verb="end",
            timeout=15.0,
            needs=frozenset({"jobs"}),
        )

    def target(self, args: StopJobArgs) -> str:
        """Return the job id."""
        return args.job_id

    def effects(self, args: StopJobArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only the session's own jobs change."""
        return (InternalEffect(subject="jobs"),)

    async def run(self, args: StopJobArgs, ctx: ToolContext) -> ToolResult:
        """Stop the job and return its last output."""
        if ctx.jobs is None:
            raise ToolError("Background jobs are not available in this run.")
        return job_result(await ctx.jobs.stop(args.job_id), ctx)
