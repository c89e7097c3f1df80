"""run_tests: runs the project's tests, and no other command."""

import shlex
from dataclasses import replace

from pydantic import Field

import tui_agent.plugin_api as api

from .command_words import plain_words
from .counts import TestCounts, read_counts
from .execution import describe_end, run_program, sandbox_note, test_event
from .frameworks import TestCommand, detect_framework, find_test_command
from .output import DecodedOutput, shorten_for_model

MAX_TIMEOUT = 3600


class RunTestsArgs(api.FrozenModel):
    """Arguments of run_tests."""

    command: str = Field(default="", description="omitted: detected")
    path: str = Field(default="", description="file or folder")
    timeout: float = Field(default=600, gt=0, le=MAX_TIMEOUT, description="seconds")


class ResolvedTests(RunTestsArgs):
    """The arguments, completed with the command that is judged by the policy, shown and run."""

    argv: tuple[str, ...]
    framework: str
    folder: str = ""


class RunTests(api.BaseTool):
    """Runs a test program and counts its tests. Refuses any other command."""

    def __init__(self) -> None:
        self.spec = api.load_spec("run_tests", __file__, RunTestsArgs, verb="test", timeout=None)

    def target(self, args: RunTestsArgs) -> str:
        """Return the command, or else the path, or else `all tests`."""
        return args.command.strip() or args.path or "all tests"

    async def settle_arguments(self, args: RunTestsArgs, env: api.Environment) -> ResolvedTests:
        """Return the arguments completed with the command, which is detected if none is given."""
        command = await _resolve_command(args, env)
        return ResolvedTests(
            **args.model_dump(), argv=command.argv, framework=command.framework, folder=command.cwd
        )

    def effects(self, args: RunTestsArgs) -> tuple[api.Effect, ...]:
        """Return a run effect with the command; its `argv` is empty if no command is detected yet."""
        if isinstance(args, ResolvedTests):
            return (api.RunEffect(argv=args.argv, cwd=args.folder),)
        more = (args.path,) if args.path else ()
        words = plain_words(args.command.strip())
        return (api.RunEffect(argv=(*words, *more) if words else ()),)

    async def preview(self, args: RunTestsArgs, env: api.Environment) -> api.Preview:
        """Return the exact command. An approval shows the folder with the effects."""
        command = await _settled_command(args, env)
        text = shlex.join(command.argv)
        return api.Preview(
            (api.TextBlock(text=text),), content=f"{command.cwd}\n{text}", time_limit_s=args.timeout
        )

    async def run(self, args: RunTestsArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Run the tests. The call fails if a test fails."""
        command = await _settled_command(args, ctx.env)
        spec = api.ExecSpec(argv=command.argv, cwd=command.cwd, timeout=args.timeout)
        result, output = await run_program(spec, ctx)
        tests = _build_result(command, result, output, read_counts(command.framework, output.clean), ctx)
        if args.command.strip():
            return tests
        # The call's row in the chat shows only the path, so show the detected command above the output.
        return replace(tests, display=(api.TextBlock(text=f"$ {_with_folder(command)}"), *tests.display))


def _with_folder(command: TestCommand) -> str:
    words = shlex.join(command.argv)
    return f"{words}  (in {command.cwd})" if command.cwd else words


def _build_result(
    command: TestCommand,
    result: api.ExecResult,
    output: DecodedOutput,
    counts: TestCounts,
    ctx: api.ToolContext,
) -> api.ToolResult:
    words = shlex.join(command.argv)
    end = describe_end(result)
    ran = result.outcome == "exited"
    summary = counts.format_counts() if counts.is_known and ran else end
    head = [f"{summary} [{end}]" if summary != end else f"[{end}]", f"$ {_with_folder(command)}"]
    head += [f"failed: {name}" for name in counts.failures]
    text = shorten_for_model(output) + sandbox_note(result)
    return api.text_result(
        "\n".join([*head, "", text] if text else head),
        ok=result.exit_code == 0,
        summary=summary,
        display=(api.TerminalBlock(text=output.stored),) if text else (),
        data={
            "command": words,
            "folder": command.cwd,
            "framework": command.framework,
            "passed": counts.passed,
            "failed": counts.failed,
            "skipped": counts.skipped,
            "exit_code": result.exit_code,
        },
        events=(test_event(command, result, counts, ctx),),
        full_output=output.stored,
    )


async def _settled_command(args: RunTestsArgs, env: api.Environment) -> TestCommand:
    if isinstance(args, ResolvedTests):
        return TestCommand(args.argv, args.framework, args.folder)
    return await _resolve_command(args, env)


async def _resolve_command(args: RunTestsArgs, env: api.Environment) -> TestCommand:
    if not args.command.strip():
        return await find_test_command(env, args.path)
    words = plain_words(args.command.strip())
    framework = detect_framework(words) if words is not None else ""
    if words is None or not framework:
        raise api.ToolError(
            "run_tests runs only test programs without shell syntax: pytest, unittest, npm test and similar, "
            "cargo test, go test.",
            hint="Use run_command for anything else.",
        )
    return TestCommand((*words, *((args.path,) if args.path else ())), framework)
