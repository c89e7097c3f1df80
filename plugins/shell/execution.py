"""Running one program for a tool, with live output."""

import asyncio
import codecs
import posixpath
import re
import shlex
import time
from dataclasses import replace

from tui_agent.plugin_api import (
    Environment,
    EnvironmentFault,
    ExecResult,
    ExecSpec,
    TestFinished,
    ToolContext,
    ToolError,
    suggest_paths,
)

from .command_output import DecodedOutput, decode_output
from .frameworks import TestCommand
from .pass_fail_counts import TestCounts, read_counts

MAX_KEPT_BYTES, KEPT_TAIL_BYTES = 50_000_000, 10_000_000
"""Maximum stored bytes of a program's output. Of these, `KEPT_TAIL_BYTES` are reserved for the output's end."""
MIN_TIMEOUT_S = 1.0
MAX_FAULT_CHARS = 300
_ERROR_LINE = re.compile(r"(?:(?:\S+ -m )?\S+[:>] )?\w*error(?: \w+| ?\[\w+\])?: ", re.IGNORECASE)
"""Matches the start of an error message, such as `pytest: error: ` or `error TS5042: `."""


async def run_program(spec: ExecSpec, ctx: ToolContext) -> tuple[ExecResult, DecodedOutput]:
    """Run a program until it ends or reaches a time limit; return its result and its decoded output.

    Raise `ToolError` if the program or folder is not found, and `EnvironmentFault` if the program cannot be started.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    limited = replace(_limit_time(spec, ctx), max_output=MAX_KEPT_BYTES, tail_bytes=KEPT_TAIL_BYTES)
    result = await ctx.env.exec(limited, lambda data: ctx.progress(decoder.decode(data)))
    if result.outcome == "not_found":
        raise ToolError(result.message or "Program not found.", hint=await _suggest_folder(spec.cwd, ctx.env))
    if result.outcome == "failed":
        raise EnvironmentFault(
            result.blocked or result.message or "The program could not be started.",
            hint="Nothing was run. The problem is the machine, not the command.",
        )
    output, result = [result.output], replace(result, output=b"")  # an output can have 50 MB

    def decode() -> DecodedOutput:
        # The list is emptied, so that the bytes can be freed as soon as they are decoded.
        return decode_output(output.pop(), result.dropped_bytes, ctx.blobs.put_text, result.cut_offset)

    return result, await asyncio.to_thread(decode)


async def _suggest_folder(cwd: str, env: Environment) -> str:
    """Return a hint with existing folders if the folder `cwd` is missing; otherwise an empty string."""
    try:
        is_missing = cwd != "" and await env.stat(cwd) is None
    except EnvironmentFault:  # outside the workspace
        return ""
    return await suggest_paths(cwd, env, "folder") if is_missing else ""


def _limit_time(spec: ExecSpec, ctx: ToolContext) -> ExecSpec:
    if ctx.deadline is None or spec.timeout is None:
        return spec
    remaining = max(ctx.deadline - time.monotonic(), MIN_TIMEOUT_S)
    return replace(spec, timeout=min(remaining, spec.timeout))


def sandbox_note(result: ExecResult) -> str:
    """Return notes for the model about the sandbox's effects on a command; an empty string if there are none."""
    stopped = f"\n[the sandbox: {result.blocked} Do not try to get around it.]" if result.blocked else ""
    return stopped + "".join(f"\n[the sandbox: {remark}]" for remark in result.remarks)


def describe_end(result: ExecResult) -> str:
    """Return how the program ended, such as `exit 1`, `timed out` or `not found`."""
    if result.outcome == "exited" and result.exit_code is not None:
        return f"exit {result.exit_code}" + (f" ({result.message})" if result.message else "")
    return {"timeout": result.message or "timed out", "not_found": "not found"}.get(
        result.outcome, result.outcome
    )


def count_tests(command: TestCommand, output: str, ctx: ToolContext) -> TestCounts:
    """Read the test counts from the program's output `output`."""
    return read_counts(command.framework, output, absolute_folder(command, ctx))


def absolute_folder(command: TestCommand, ctx: ToolContext) -> str:
    """Return the absolute path of the folder in which the command runs."""
    return posixpath.normpath(posixpath.join(ctx.env.root, command.cwd))


def test_event(
    command: TestCommand, result: ExecResult, counts: TestCounts, output: str, ctx: ToolContext
) -> TestFinished:
    """Return the event for a test run.

    `output`: the program's output.
    """
    folder = absolute_folder(command, ctx)
    program, *arguments = command.argv
    return TestFinished(
        framework=command.framework,
        command=shlex.join([program, *(word.removeprefix(f"{folder}/") for word in arguments)]),
        folder="" if folder == ctx.env.root else folder.removeprefix(f"{ctx.env.root}/"),
        passed=counts.passed,
        failed=counts.failed,
        skipped=counts.skipped,
        errors=counts.errors,
        xfailed=counts.xfailed,
        xpassed=counts.xpassed,
        fault="" if result.exit_code == 0 or counts.failed > 0 else _describe_fault(result, counts, output),
        exit_code=result.exit_code,
        failures=counts.failures,
        call_id=ctx.call_id,
    )


def _describe_fault(result: ExecResult, counts: TestCounts, output: str) -> str:
    """Return the reason why a test run failed although no test failed.

    The reason is the last error line of the output, followed by the program's end, such as `exit 2`. If there is no
    error line and no test passed, the reason begins with the counts or with the first line of the output.
    """
    if result.outcome != "exited":
        return describe_end(result)
    lines = [line.strip()[:MAX_FAULT_CHARS] for line in output.splitlines() if line.strip("-=_ \t")]
    # A usage line comes before the line that names the wrong argument.
    errors = [line for line in lines if _ERROR_LINE.match(line) and "usage:" not in line]
    if errors:
        line = errors[-1].removeprefix("ERROR: ")
    elif counts.passed > 0:
        line = ""
    else:
        line = counts.format_counts() if counts.is_known else "".join(lines[:1])
    return f"{line} [{describe_end(result)}]" if line else describe_end(result)
