"""Tool results for background jobs: the job's state and its output since the last read."""

from tui_agent.plugin_api import JobReport, JsonMap, TerminalBlock, ToolContext, ToolResult, text_result

from .output import decode_output, shorten_for_model


def job_result(report: JobReport, ctx: ToolContext) -> ToolResult:
    """Return the report for the model and the user; a job that could not start is a failure."""
    output = decode_output(report.output, 0, ctx.blobs.put_text)
    text = shorten_for_model(output)
    missed_note = f"[{report.dropped_bytes:,} earlier bytes were not kept]\n" if report.dropped_bytes else ""
    body = f"{missed_note}{text}" if text else "(no new output)"
    data: JsonMap = {
        "job_id": report.job_id,
        "state": report.state,
        "exit_code": report.exit_code,
        "bytes": len(report.output) + report.dropped_bytes,
    }
    return text_result(
        f"[{report.job_id} {_describe_state(report)}]\n{body}",
        ok=report.state != "failed",
        summary=f"{report.job_id}, {_summarise_state(report)}",
        display=(TerminalBlock(text=output.stored),) if text else (),
        data=data,
        full_output=output.stored if text else None,
    )


def _describe_state(report: JobReport) -> str:
    seconds = f"{report.seconds:.0f} s"
    match report.state:
        case "running":
            return f"has been running in the background for {seconds}; read_job_output reads more, stop_job ends it"
        case "failed":
            return f"could not start: {report.message}"
        case "exited" if report.exit_code is not None:
            detail = f". {report.message}" if report.message else ""
            return f"ended by itself after {seconds}, exit {report.exit_code}{detail}"
        case "stopped":
            return f"was stopped after {seconds}"
        case _:
            return f"ended after {seconds}"


def _summarise_state(report: JobReport) -> str:
    if report.state == "exited" and report.exit_code is not None:
        return f"exit {report.exit_code}"
    return {"running": "running", "failed": "not started"}.get(report.state, "ended")
