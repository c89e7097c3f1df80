"""The tool read_job_output, and the result for a background job."""

from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

from .command_output import decode_output, shorten_for_model

MAX_WAIT = 60
READ_TIMEOUT_S = MAX_WAIT + 10.0


def _target(job_id: str, wait: float, stop: bool) -> str:
    return f"{job_id} stop" if stop else job_id


@api.tool(
    internal="jobs",
    target=_target,
    verb="read",
    timeout=READ_TIMEOUT_S,
    needs=["jobs", "started_jobs"],
)
async def read_job_output(
    ctx: api.ToolContext,
    job_id: str,
    wait: Annotated[float, Field(ge=0, description="seconds to wait for output"), api.at_most(MAX_WAIT)] = 0,
    stop: bool = False,
) -> api.ToolResult:
    """Read what a background job has printed since the last read, or stop it."""
    jobs = background_jobs(ctx)
    report = await (jobs.stop(job_id) if stop else jobs.read(job_id, wait))
    return job_result(report, ctx)


def background_jobs(ctx: api.ToolContext) -> api.Jobs:
    """Return the session's background jobs; raise `ToolError` if jobs are not available in this run."""
    if ctx.jobs is None:
        raise api.ToolError("Background jobs are not available in this run.")
    return ctx.jobs


def job_result(report: api.JobReport, ctx: api.ToolContext) -> api.ToolResult:
    """Convert a job's report to a tool result. The result is a failure if the job could not start."""
    output = decode_output(report.output, 0, ctx.blobs.put_text)
    text = shorten_for_model(output)
    missed_note = (
        f"[{api.format_bytes(report.dropped_bytes)} of earlier output was not kept]\n"
        if report.dropped_bytes
        else ""
    )
    body = f"{missed_note}{text}" if text else "(no new output)"
    note = f"\n[{report.note}]" if report.note else ""
    return api.text_result(
        f"[{report.job_id} {_describe_state(report)}]\n{body}{note}",
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
    seconds = api.format_duration(report.seconds)
    match report.state:
        case "running":
            return f"has been running in the background for {seconds}; read_job_output reads more or stops it"
        case "failed":
            return f"could not start: {report.message}"
        case "exited" if report.exit_code is not None:
            detail = f". {report.message}" if report.message else ""
            return f"ended by itself after {seconds}, exit {report.exit_code}{detail}"
        case "stopped":
            return f"was stopped after {seconds}{report.stop_reason}"
        case _:
            return f"ended after {seconds}"


def _summarise_state(report: api.JobReport) -> str:
    if report.state == "exited" and report.exit_code is not None:
        return f"exit {report.exit_code}"
    return {"running": "running", "failed": "not started"}.get(report.state, "ended")
