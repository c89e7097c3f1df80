"""read_job_output and stop_job, and the tool result that describes a background job."""

from pydantic import Field

import tui_agent.plugin_api as api

from .output import decode_output, shorten_for_model

MAX_WAIT = 60
READ_TIMEOUT_S = MAX_WAIT + 10.0


class JobArgs(api.FrozenModel):
    """Arguments of stop_job; read_job_output adds one."""

    job_id: str = Field(description="from run_command, e.g. job-1")


class ReadJobOutputArgs(JobArgs):
    """Arguments of read_job_output."""

    wait: float = Field(default=0, ge=0, le=MAX_WAIT, description="seconds to wait for new output")


class JobTool(api.SessionTool):
    """Base class for tools that handle one background job."""

    subject = "jobs"

    def target(self, args: JobArgs) -> str:
        """Return the job id."""
        return args.job_id


class ReadJobOutput(JobTool):
    """Reads the new output of a background job."""

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "read_job_output",
            __file__,
            ReadJobOutputArgs,
            verb="read",
            timeout=READ_TIMEOUT_S,
            needs={"jobs"},
        )

    async def run(self, args: ReadJobOutputArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Wait up to `wait` seconds for new output; return the output and the job's state."""
        return job_result(await background_jobs(ctx).read(args.job_id, args.wait), ctx)


class StopJob(JobTool):
    """Stops a job and all processes that it started."""

    def __init__(self) -> None:
        self.spec = api.load_spec("stop_job", __file__, JobArgs, verb="end", timeout=15.0, needs={"jobs"})

    async def run(self, args: JobArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Stop the job and return its last output."""
        return job_result(await background_jobs(ctx).stop(args.job_id), ctx)


def background_jobs(ctx: api.ToolContext) -> api.Jobs:
    """Return the session's jobs. Raises `ToolError` if jobs are not available in this run."""
    if ctx.jobs is None:
        raise api.ToolError("Background jobs are not available in this run.")
    return ctx.jobs


def job_result(report: api.JobReport, ctx: api.ToolContext) -> api.ToolResult:
    """Convert a job's report to a tool result, which is a failure if the job could not start."""
    output = decode_output(report.output, 0, ctx.blobs.put_text)
    text = shorten_for_model(output)
    missed_note = f"[{report.dropped_bytes:,} earlier bytes were not kept]\n" if report.dropped_bytes else ""
    body = f"{missed_note}{text}" if text else "(no new output)"
    return api.text_result(
        f"[{report.job_id} {_describe_state(report)}]\n{body}",
        ok=report.state != "failed",
        summary=f"{report.job_id}, {_summarise_state(report)}",
        display=(api.TerminalBlock(text=output.stored),) if text else (),
        data={
            "job_id": report.job_id,
            "state": report.state,
            "exit_code": report.exit_code,
            "bytes": len(report.output) + report.dropped_bytes,
        },
        full_output=output.stored if text else None,
    )


def _describe_state(report: api.JobReport) -> str:
    seconds = f"{report.seconds:.0f} s"
    match report.state:
        case "running":
            return f"has been running in the background for {seconds}; read_job_output reads more, stop_job stops it"
        case "failed":
            return f"could not start: {report.message}"
        case "exited" if report.exit_code is not None:
            detail = f". {report.message}" if report.message else ""
            return f"ended by itself after {seconds}, exit {report.exit_code}{detail}"
        case "stopped":
            return f"was stopped after {seconds}"
        case _:
            return f"ended after {seconds}"


def _summarise_state(report: api.JobReport) -> str:
    if report.state == "exited" and report.exit_code is not None:
        return f"exit {report.exit_code}"
    return {"running": "running", "failed": "not started"}.get(report.state, "ended")
