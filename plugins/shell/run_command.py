"""run_command: runs a program, or a bash script if the command needs a shell."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

from .command_output import DecodedOutput, shorten_for_model
from .command_words import plain_words, split_words
from .execution import count_tests, describe_end, run_program, sandbox_note, test_event
from .frameworks import TestCommand, detect_framework
from .read_job_output import background_jobs, job_result

MAX_TIMEOUT = 3600
MAX_COMMAND = 100_000
BACKGROUND_NOTE = "The command runs in the background, until it ends or you stop it in /jobs."


class RunCommandArgs(api.FrozenModel):
    """Arguments of run_command; models are not told about `shell`."""

    command: str
    shell: bool | None = Field(default=None, json_schema_extra={"unsent": True})
    timeout: Annotated[float, api.at_most(MAX_TIMEOUT)] = Field(default=120, gt=0, description="seconds")
    cwd: str = ""
    background: bool = Field(
        default=False, description="for a command that keeps running; see read_job_output"
    )


class RunCommand(api.BaseTool):
    """Tool that runs a command to completion or as a background job.

    After the command, the tool ends all processes that the command left behind.
    """

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "run_command", __file__, RunCommandArgs, verb="run", timeout=None, needs={"jobs"}
        )

    def target(self, args: RunCommandArgs) -> str:
        return args.command.strip()

    def effects(self, args: RunCommandArgs) -> tuple[api.Effect, ...]:
        """Return one effect: the command runs with exactly these arguments, or exactly this script."""
        argv, script = _parse_command(args)
        return (api.RunEffect(argv=argv, script=script, cwd=args.cwd),)

    async def preview(self, args: RunCommandArgs, env: api.Environment) -> api.Preview:
        """Return the command as the preview, with a note for a background job."""
        command = args.command.strip()
        if args.background:
            blocks = (api.TextBlock(text=command), api.TextBlock(text=BACKGROUND_NOTE))
            return api.Preview(blocks, content=f"{args.command}\0background")
        return api.Preview((api.TextBlock(text=command),), content=args.command, time_limit_s=args.timeout)

    async def run(self, args: RunCommandArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Run the command; an exit status other than 0 is a failure."""
        argv, script = _parse_command(args)
        if not argv and not script:
            raise api.ToolError("The command is empty.")
        if args.shell is False:
            argv = split_words(args.command.strip())
        if len(args.command) > MAX_COMMAND:
            raise api.ToolError("The command is too long.", hint="Write it to a script file and run that.")
        if args.background:
            spec = api.ExecSpec(argv=argv, script=script, cwd=args.cwd)
            job = await background_jobs(ctx).start(args.command.strip(), spec)
            started = job_result(job, ctx)
            return replace(started, ok=started.ok and not job.exit_code)
        spec = api.ExecSpec(argv=argv, script=script, cwd=args.cwd, timeout=args.timeout)
        result, output = await run_program(spec, ctx)
        end = describe_end(result)
        text = shorten_for_model(output)
        report = f"[{end}]\n{text}" if text else f"[{end}, no output]"
        return api.text_result(
            report + sandbox_note(result) + _placeholder_note(args.command),
            ok=result.exit_code == 0,
            summary=end,
            display=(api.TerminalBlock(text=output.stored),) if text else (),
            data={
                "exit_code": result.exit_code,
                "ended": result.outcome,
                "shell": bool(script),
                "bytes": output.size,
            },
            events=_test_events(TestCommand(argv, detect_framework(argv), args.cwd), result, output, ctx),
            full_output=output.stored,
        )


def _placeholder_note(command: str) -> str:
    """Return a note for the model if the command contains a placeholder instead of a hidden value."""
    placeholder = api.find_new_placeholder(command, "")
    if not placeholder:
        return ""
    return f"\n[{placeholder} stands for a value that is hidden from you; the command got the placeholder]"


def _test_events(
    command: TestCommand, result: api.ExecResult, output: DecodedOutput, ctx: api.ToolContext
) -> tuple[api.TestFinished, ...]:
    if not command.framework or result.outcome != "exited":
        return ()
    counts = count_tests(command, output.clean, ctx)
    return (test_event(command, result, counts, output.clean, ctx),)


def _parse_command(args: RunCommandArgs) -> tuple[tuple[str, ...], str]:
    """Return (arguments, ""), or ((), script) if the command needs a shell."""
    command = args.command.strip()
    if not command:
        return (), ""
    if args.shell is False:
        try:
            return split_words(command), ""
        except api.ToolError:
            return (command,), ""
    words = None if args.shell else plain_words(command)
    return (words, "") if words is not None else ((), command)
