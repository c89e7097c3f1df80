"""run_tests: the project's tests, and nothing else."""

import shlex
from dataclasses import replace
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
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
)

from .counts import Counts, read
from .finished import finished
from .frameworks import TestCommand, detect, framework_of
from .output import Whole, shown
from .running import ending, refusal, run
from .words import plain_words

MAX_TIMEOUT = 3600


class RunTestsArgs(Frozen):
    """Arguments of run_tests."""

    command: str = Field(default="", description="e.g. python -m pytest tests/test_a.py; omitted: recognised")
    path: str = Field(default="", description="file or folder to test")
    timeout: float = Field(default=600, gt=0, le=MAX_TIMEOUT, description="seconds")


class SettledTests(RunTestsArgs):
    """The arguments with the command that they mean: exactly this is judged, shown and run."""

    argv: tuple[str, ...]
    framework: str
    folder: str = ""


class RunTests:
    """Runs a test program, counts what passed and failed; any other command is refused."""

    spec: ClassVar[ToolSpec]

    def target(self, args: RunTestsArgs) -> str:
        """The command, or what is tested."""
        return args.command.strip() or args.path or "all tests"

    async def settle(self, args: RunTestsArgs, env: Environment) -> SettledTests:
        """The command that will run, recognised from the project's files where it was not given."""
        command = await _command(args, env)
        return SettledTests(
            **args.model_dump(), argv=command.argv, framework=command.framework, folder=command.cwd
        )

    def effects(self, args: RunTestsArgs) -> tuple[Effect, ...]:
        """The command's words; unsettled arguments without a command run what nobody knows yet."""
        if isinstance(args, SettledTests):
            return (Runs(argv=args.argv, cwd=args.folder),)
        more = (args.path,) if args.path else ()
        words = plain_words(args.command.strip())
        return (Runs(argv=(*words, *more) if words else ()),)

    async def preview(self, args: RunTestsArgs, env: Environment) -> Preview:
        """The command that will run, exactly; its folder is told by the effects."""
        command = await _settled(args, env)
        text = shlex.join(command.argv)
        return Preview((TextBlock(text=text),), content=f"{command.cwd}\n{text}", time_limit_s=args.timeout)

    async def run(self, args: RunTestsArgs, ctx: ToolContext) -> ToolResult:
        """Run the tests; failing ones are a failure that the model is told of."""
        command = await _settled(args, ctx.env)
        spec = ExecSpec(argv=command.argv, cwd=command.cwd, timeout=args.timeout)
        result, output = await run(spec, ctx)
        told = _told(command, result, output, read(command.framework, output.clean), ctx)
        if args.command.strip():
            return told
        # The row of the call names what is tested, not how: what was recognised is told with the output.
        return replace(told, display=(TextBlock(text=f"$ {_in_its_folder(command)}"), *told.display))


def _in_its_folder(command: TestCommand) -> str:
    words = shlex.join(command.argv)
    return f"{words}  (in {command.cwd})" if command.cwd else words


def _told(
    command: TestCommand, result: ExecResult, output: Whole, counts: Counts, ctx: ToolContext
) -> ToolResult:
    words = shlex.join(command.argv)
    end = ending(result)
    ran = result.ended == "exited"
    summary = counts.words() if counts.known and ran else end
    head = [f"{summary} [{end}]" if summary != end else f"[{end}]", f"$ {_in_its_folder(command)}"]
    head += [f"failed: {name}" for name in counts.failures]
    text = shown(output) + refusal(result)
    return ToolResult(
        ok=result.exit_code == 0,
        content=(TextContent(text="\n".join([*head, "", text] if text else head)),),
        summary=summary,
        display=(TerminalBlock(text=output.kept),) if text else (),
        data={
            "command": words,
            "folder": command.cwd,
            "framework": command.framework,
            "passed": counts.passed,
            "failed": counts.failed,
            "skipped": counts.skipped,
            "exit_code": result.exit_code,
        },
        events=(finished(command, result, counts, ctx),),
        full_output=output.kept,
    )


async def _settled(args: RunTestsArgs, env: Environment) -> TestCommand:
    if isinstance(args, SettledTests):
        return TestCommand(args.argv, args.framework, args.folder)
    return await _command(args, env)


async def _command(args: RunTestsArgs, env: Environment) -> TestCommand:
    if not args.command.strip():
        return await detect(env, args.path)
    words = plain_words(args.command.strip())
    framework = framework_of(words) if words is not None else ""
    if words is None or not framework:
        raise ToolError(
            "run_tests runs only test programs without shell syntax: pytest, unittest, npm test and the like, "
            "cargo test, go test.",
            hint="Use run_command for anything else.",
        )
    return TestCommand((*words, *((args.path,) if args.path else ())), framework)


def make(description: str) -> RunTests:
    """The tool with its description for the model."""
    RunTests.spec = ToolSpec(
        name="run_tests", description=description, args=RunTestsArgs, verb="test", timeout=None
    )
    return RunTests()
