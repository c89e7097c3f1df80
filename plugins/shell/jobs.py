"""What a tool tells of a background job: how it stands, and what it printed since it was last asked for."""

from tui_agent.plugin_api import JobReport, JsonMap, TerminalBlock, TextContent, ToolContext, ToolResult

from .output import shown, whole


def told(report: JobReport, ctx: ToolContext) -> ToolResult:
    """The report for the model and for the row; a job that could not be started is a failure."""
    output = whole(report.output, 0, ctx.blobs.keep)
    text = shown(output)
    ahead = f"[{report.missed:,} bytes before this were not kept]\n" if report.missed else ""
    body = f"{ahead}{text}" if text else "(nothing new was printed)"
    data: JsonMap = {
        "job_id": report.job_id,
        "state": report.state,
        "exit_code": report.exit_code,
        "bytes": len(report.output) + report.missed,
    }
    return ToolResult(
        ok=report.state != "failed",
        content=(TextContent(text=f"[{report.job_id} {_standing(report)}]\n{body}"),),
        summary=f"{report.job_id}, {_short(report)}",
        display=(TerminalBlock(text=output.kept),) if text else (),
        data=data,
        full_output=output.kept if text else None,
    )


def _standing(report: JobReport) -> str:
    seconds = f"{report.seconds:.0f} s"
    match report.state:
        case "running":
            return f"has been running in the background for {seconds}; read_job_output reads on, stop_job ends it"
        case "failed":
            return f"could not be started: {report.message}"
        case "exited" if report.exit_code is not None:
            said = f". {report.message}" if report.message else ""
            return f"ended by itself after {seconds}, exit {report.exit_code}{said}"
        case "stopped":
            return f"was ended after {seconds}"
        case _:
            return f"ended after {seconds}"


def _short(report: JobReport) -> str:
    if report.state == "exited" and report.exit_code is not None:
        return f"exit {report.exit_code}"
    return {"running": "running", "failed": "not started"}.get(report.state, "ended")
