"""run_command: a program with its arguments, or a script under bash where the command needs one."""

from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    ExecResult,
    ExecSpec,
    Frozen,
    Preview,
    Runs,
    TerminalBlock,
    TestFinished,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
)

from .counts import read
from .finished import finished
from .frameworks import TestCommand, framework_of
from .jobs import told
from .output import Whole, shown
from .running import ending, refusal, run
from .words import all_words, plain_words

MAX_TIMEOUT = 3600
MAX_COMMAND = 100_000
GOES_ON = "It goes on in the background until it ends, you end it in /jobs, or the session ends."


class RunCommandArgs(Frozen):
    """Arguments of run_command."""

    command: str
    shell: bool | None = Field(
        default=None, description="true: bash; false: plain words, nothing expanded; omitted: bash if needed"
    )
    timeout: float = Field(default=120, gt=0, le=MAX_TIMEOUT, description="seconds")
    cwd: str = Field(default="", description="folder in the workspace")
    background: bool = Field(default=False, description="go on without waiting: a server, a watcher")


class RunCommand:
    """Runs a command to its end, streams its output, and leaves nothing of it running."""

    spec: ClassVar[ToolSpec]

    def target(self, args: RunCommandArgs) -> str:
        """The command as it was given."""
        return args.command.strip()

    def effects(self, args: RunCommandArgs) -> tuple[Effect, ...]:
        """Exactly what will run: words, or a script."""
        argv, script = _meaning(args)
        return (Runs(argv=argv, script=script, cwd=args.cwd),)

    async def preview(self, args: RunCommandArgs, env: Environment) -> Preview:
        """The command, byte for byte as it runs."""
        command = args.command.strip()
        if args.background:
            blocks = (TextBlock(text=command), TextBlock(text=GOES_ON))
            return Preview(blocks, content=f"{args.command}\0background")
        return Preview((TextBlock(text=command),), content=args.command, time_limit_s=args.timeout)

    async def run(self, args: RunCommandArgs, ctx: ToolContext) -> ToolResult:
        """Run it; a status other than 0 is a failure that the model is told of."""
        argv, script = _meaning(args)
        if not argv and not script:
            raise ToolError("The command is empty.")
        if args.shell is False:
            argv = all_words(args.command.strip())
        if len(args.command) > MAX_COMMAND:
            raise ToolError("The command is too long.", hint="Write a script file and run that.")
        if args.background:
            return await _in_background(args, ExecSpec(argv=argv, script=script, cwd=args.cwd), ctx)
        spec = ExecSpec(argv=argv, script=script, cwd=args.cwd, timeout=args.timeout)
        result, output = await run(spec, ctx)
        end = ending(result)
        text = shown(output)
        told = f"[{end}]\n{text}" if text else f"[{end}, no output]"
        return ToolResult(
            ok=result.exit_code == 0,
            content=(TextContent(text=told + refusal(result)),),
            summary=end,
            display=(TerminalBlock(text=output.kept),) if text else (),
            data={
                "exit_code": result.exit_code,
                "ended": result.ended,
                "shell": bool(script),
                "bytes": len(result.output) + result.dropped,
            },
            events=_tests(TestCommand(argv, framework_of(argv), args.cwd), result, output, ctx),
            full_output=output.kept,
        )


def _tests(
    command: TestCommand, result: ExecResult, output: Whole, ctx: ToolContext
) -> tuple[TestFinished, ...]:
    """What a test program said, as where run_tests runs it."""
    if not command.framework or result.ended != "exited":
        return ()
    return (finished(command, result, read(command.framework, output.clean), ctx),)


async def _in_background(args: RunCommandArgs, spec: ExecSpec, ctx: ToolContext) -> ToolResult:
    if ctx.jobs is None:
        raise ToolError("There are no background jobs here.", hint="Run it without `background`.")
    return told(await ctx.jobs.start(args.command.strip(), spec), ctx)


def _meaning(args: RunCommandArgs) -> tuple[tuple[str, ...], str]:
    """(argument vector, script); exactly one of them is set, neither for an empty command."""
    command = args.command.strip()
    if not command:
        return (), ""
    if args.shell is False:
        try:
            return all_words(command), ""
        except ToolError:
            return (command,), ""
    words = None if args.shell else plain_words(command)
    return (words, "") if words is not None else ((), command)


def make(description: str) -> RunCommand:
    """The tool with its description for the model."""
    RunCommand.spec = ToolSpec(
        name="run_command",
        description=description,
        args=RunCommandArgs,
        verb="run",
        timeout=None,
        needs=frozenset({"jobs"}),
    )
    return RunCommand()
