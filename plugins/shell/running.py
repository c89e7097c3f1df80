"""One program run for a tool: live output on the way, all of it afterwards."""

import asyncio
import time
from dataclasses import replace

from tui_agent.plugin_api import EnvironmentFault, ExecResult, ExecSpec, ToolContext, ToolError

from .output import Live, Whole, whole

BIG = 200_000
MOST_KEPT, NEWEST = 50_000_000, 10_000_000
"""Bytes of a command's output that are kept, and how many of them from its end."""
LEAST_TIME_S = 1.0


async def run(spec: ExecSpec, ctx: ToolContext) -> tuple[ExecResult, Whole]:
    """Run to the end, never longer than the call may take. Cancelling ends the program.

    Raises `ToolError` where there is no such program or folder, `EnvironmentFault` where it could not be started.
    """
    live = Live(ctx.progress)
    kept = replace(_within(spec, ctx), max_output=MOST_KEPT, newest=NEWEST)
    try:
        result = await ctx.env.exec(kept, live.take)
    finally:
        live.close()
    if result.ended == "not_found":
        raise ToolError(result.message or "There is no such program.")
    if result.ended == "failed":
        raise EnvironmentFault(
            result.blocked or result.message or "The program could not be started.",
            hint="Nothing was run. This is a fault of the machine, not of the command's own work.",
        )
    output, cut_at = result.output, result.cut_at
    if len(output) < BIG:
        return result, whole(output, result.dropped, ctx.blobs.keep, cut_at)
    return result, await asyncio.to_thread(whole, output, result.dropped, ctx.blobs.keep, cut_at)


def _within(spec: ExecSpec, ctx: ToolContext) -> ExecSpec:
    if ctx.deadline is None or spec.timeout is None:
        return spec
    left = max(ctx.deadline - time.monotonic(), LEAST_TIME_S)
    if left >= spec.timeout:
        return spec
    return replace(spec, timeout=left)


def refusal(result: ExecResult) -> str:
    """What the model is told of a command that the sandbox stopped or kept from files; empty for others."""
    told = f"\n[the sandbox: {result.blocked} Do not try to get around it.]" if result.blocked else ""
    return told + "".join(f"\n[the sandbox: {remark}]" for remark in result.remarks)


def ending(result: ExecResult) -> str:
    """How it ended, in few words: `exit 1`, `stopped after 2 s`."""
    if result.ended == "exited" and result.exit_code is not None:
        return f"exit {result.exit_code}" + (f" ({result.message})" if result.message else "")
    return {"timeout": result.message or "timed out", "not_found": "not found"}.get(
        result.ended, result.ended
    )
