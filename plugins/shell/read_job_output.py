"""read_job_output: the output of a background job since the last read."""

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

MAX_WAIT = 60


class ReadJobOutputArgs(FrozenModel):
    """Arguments of read_job_output."""

    job_id: str = Field(description="from run_command, e.g. job-1")
    wait: float = Field(default=0, ge=0, le=MAX_WAIT, description="seconds to wait for new output")


class ReadJobOutput(BaseTool):
    """Reads the new output of a background job."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="read_job_output",
            description=tool_description(__file__),
            args=ReadJobOutputArgs,
            verb="read",
            timeout=MAX_WAIT + 10.0,
            needs=frozenset({"jobs"}),
        )

    def target(self, args: ReadJobOutputArgs) -> str:
        """Return the job id."""
        return args.job_id

    def effects(self, args: ReadJobOutputArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only session data is read."""
        return (InternalEffect(subject="jobs"),)

    async def run(self, args: ReadJobOutputArgs, ctx: ToolContext) -> ToolResult:
        """Return the new output and the job's state."""
        if ctx.jobs is None:
            raise ToolError("Background jobs are not available in this run.")
        return job_result(await ctx.jobs.read(args.job_id, args.wait), ctx)
