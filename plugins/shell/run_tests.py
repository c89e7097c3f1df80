"""run_tests: runs the project's tests, and no other command."""

import asyncio
import re
import shlex
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

from .command_output import DecodedOutput, shorten_for_model, store_as_artifact
from .command_words import find_shell_syntax, path_word, plain_words
from .execution import absolute_folder, count_tests, describe_end, run_program, sandbox_note, test_event
from .failures import cut_line, find_failures, shorten_failure
from .frameworks import (
    OTHER_PROGRAMS_HINT,
    RUNNABLE_PROGRAMS,
    TestCommand,
    add_path,
    detect_framework,
    find_test_command,
)
from .path_expansion import expand_path

MAX_TIMEOUT, MAX_COMMAND = 3600, 10_000
MAX_SHOWN_FAILURES, PASSED_LINES = 3, 5
MAX_OUTPUT_ENDS = 3
MAX_COMPLETE_CHARS = 2_500
"""If the output of the failed tests has at most this many characters, the model gets all of it."""
MIN_SAVED_CHARS = 800
"""If fewer characters of a short output would be left out, the model gets all of it."""
CRASH_HEAD_CHARS, CRASH_TAIL_CHARS = 2_000, 4_000
_FOLDER = re.compile(r"cd\s+((?:[^\s;&|<>'\"]|'[^']*'|\"[^\"]*\")+)\s*&&\s*(?=\S)")
_OUTPUT_END = re.compile(r"(?:2>&1|\|[ \t]*(?:tail|head)(?:[ \t]+-(?:[nc][ \t]*|-lines=|-bytes=)?\d+)?)$")
"""Matches an end of a command that just redirects or limits the output, as in `pytest | tail -5`."""


class RunTestsArgs(api.FrozenModel):
    """Arguments of run_tests."""

    command: str = Field(default="", description="omitted: detected")
    path: str = ""
    timeout: Annotated[float, api.at_most(MAX_TIMEOUT)] = Field(default=600, gt=0, description="seconds")


class ResolvedTests(RunTestsArgs):
    """The arguments of run_tests with the exact command, which the policy judges and the user sees."""

    argv: tuple[str, ...]
    framework: str
    folder: str = ""


class RunTests(api.BaseTool):
    """Tool that runs a test program and counts its tests. It runs no other command."""

    def __init__(self) -> None:
        self.spec = api.load_spec("run_tests", __file__, RunTestsArgs, verb="test", timeout=None)

    def target(self, args: RunTestsArgs) -> str:
        """Return the call's command or, without a command, its path. Return `all tests` if the call has neither."""
        return args.command.strip() or args.path or "all tests"

    async def settle_arguments(self, args: RunTestsArgs, env: api.Environment) -> ResolvedTests:
        """Add the exact command to the arguments, and detect the command if the call names no command."""
        command = await _resolve_command(args, env)
        return ResolvedTests(
            **args.model_dump(), argv=command.argv, framework=command.framework, folder=command.cwd
        )

    def effects(self, args: RunTestsArgs) -> tuple[api.Effect, ...]:
        """Return the effect of running the command; while the command is not known yet, `argv` is empty."""
        if isinstance(args, ResolvedTests):
            return (api.RunEffect(argv=args.argv, cwd=args.folder),)
        words, folder = _split_command(args.command)
        return (api.RunEffect(argv=_with_path(words, args.path, folder) if words else (), cwd=folder),)

    async def preview(self, args: RunTestsArgs, env: api.Environment) -> api.Preview:
        """Return the exact command as the preview."""
        command = await _settled_command(args, env)
        text = shlex.join(command.argv)
        return api.Preview(
            (api.TextBlock(text=text),), content=f"{command.cwd}\n{text}", time_limit_s=args.timeout
        )

    async def run(self, args: RunTestsArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Run the tests; the call fails if a test fails."""
        command = await _settled_command(args, ctx.env)
        spec = api.ExecSpec(argv=command.argv, cwd=command.cwd, timeout=args.timeout)
        result, output = await run_program(spec, ctx)
        tests = await asyncio.to_thread(_build_result, command, result, output, ctx)
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
    ctx: api.ToolContext,
) -> api.ToolResult:
    counts, words = count_tests(command, output.clean, ctx), shlex.join(command.argv)
    end = describe_end(result)
    ran = result.outcome == "exited"
    summary = counts.format_counts() if counts.is_known and ran else end
    head = [f"{summary} [{end}]" if summary != end else f"[{end}]", cut_line(f"$ {_with_folder(command)}")]
    head += counts.failed_lines
    shown, stored = _shorten_output(command, result, output, ctx, sum(map(len, head)))
    text = shown + sandbox_note(result)
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
            "errors": counts.errors,
            "xfailed": counts.xfailed,
            "xpassed": counts.xpassed,
            "exit_code": result.exit_code,
        },
        events=(test_event(command, result, counts, output.clean, ctx),),
        full_output=stored,
    )


def _shorten_output(
    command: TestCommand, result: api.ExecResult, output: DecodedOutput, ctx: api.ToolContext, head_chars: int
) -> tuple[str, api.LongText]:
    """Return the output for the model, and the full output as stored.

    `head_chars`: number of characters that precede the output in the result for the model.
    """
    text, framework, stored = output.clean.rstrip("\n"), command.framework, output.stored
    if result.exit_code == 0:
        lines = [line for line in text.split("\n")[-PASSED_LINES:] if line.strip("-= ")]
        return "\n".join(map(cut_line, lines)), stored
    failures = find_failures(framework, output.clean) if len(text) > MAX_COMPLETE_CHARS else []
    if not failures or result.outcome != "exited":
        return shorten_for_model(output, CRASH_HEAD_CHARS, CRASH_TAIL_CHARS), stored
    failures_to_show, folder = failures[:MAX_SHOWN_FAILURES], absolute_folder(command, ctx)
    shown = [shorten_failure(failure, ctx.env.root, folder) for failure in failures_to_show]
    if shown != failures_to_show and isinstance(stored, str):
        if len(text) - head_chars - sum(map(len, shown)) < MIN_SAVED_CHARS:
            return text, stored
        try:
            stored = store_as_artifact(stored, ctx.blobs.put_bytes)
        except api.EnvironmentFault:  # The disk is full. Without an artifact, nobody could read the rest.
            return text, stored
    missing = len(failures) - len(shown)
    note = f"[{api.format_count(missing, 'more failure')} {'is' if missing == 1 else 'are'} left out"
    # A longer output becomes an artifact, and the engine says how to read it.
    note += "]" if isinstance(stored, api.BlobText) else ": run one alone to see it]"
    return "\n\n".join([*shown, note] if missing else shown), stored


async def _settled_command(args: RunTestsArgs, env: api.Environment) -> TestCommand:
    if isinstance(args, ResolvedTests):
        return TestCommand(args.argv, args.framework, args.folder)
    return await _resolve_command(args, env)


async def _resolve_command(args: RunTestsArgs, env: api.Environment) -> TestCommand:
    if not args.command.strip():
        return await find_test_command(env, await expand_path(env, args.path))
    words, folder = _split_command(args.command)
    framework = detect_framework(words)
    program, _ = _split_folder(args.command)
    syntax = find_shell_syntax(program)
    if not framework and syntax and detect_framework(tuple(program.partition(syntax)[0].split())):
        raise api.ToolError(
            f"run_tests runs only test programs without shell syntax, and this command has `{syntax}`.",
            hint="Give the files or the test as `path`." if syntax in "*?[{" else "Use run_command.",
        )
    if not framework:
        raise api.ToolError(
            f"run_tests runs only test programs without shell syntax: {RUNNABLE_PROGRAMS}.",
            hint=OTHER_PROGRAMS_HINT,
        )
    if folder.startswith("/") and PurePosixPath(folder).is_relative_to(env.root):
        folder = str(PurePosixPath(folder).relative_to(env.root)).removeprefix(".")
    return await _add_paths(env, TestCommand(words, framework, folder), args.path)


async def _add_paths(env: api.Environment, command: TestCommand, path: str) -> TestCommand:
    """Return the command for the tests in `path`, which can have wildcards. An empty `path` means all tests."""
    below = f"{command.cwd}/" if command.cwd else ""
    for name in await expand_path(env, path, command.cwd) if path else ():
        command = await add_path(env, command, name.removeprefix(below))
    return command


def _split_command(command: str) -> tuple[tuple[str, ...], str]:
    """Split a command into its words and its folder: `cd X && pytest 2>&1 | tail -5` gives `pytest` and `X`.

    The words are empty if the rest of the command needs a shell.
    """
    if len(command) > MAX_COMMAND:
        return (), ""
    program, folder = _split_folder(command)
    return plain_words(program) or (), folder


def _split_folder(command: str) -> tuple[str, str]:
    """Split a command into its program with arguments, and its folder. Redirections at the end are left out."""
    command, folder = command.strip(), ""
    for _ in range(MAX_OUTPUT_ENDS):
        ending = _OUTPUT_END.search(command)
        command = command[: ending.start()].rstrip() if ending else command
    prefix = _FOLDER.match(command)
    if prefix is not None:
        # `plain_words` rejects the builtin `cd`, so the name of a program takes its place.
        _, *folders = plain_words(f"./cd {prefix[1]}") or ("",)
        folder, command = "".join(folders), command[prefix.end() :] if folders else ""
    return command, folder


def _with_path(words: tuple[str, ...], path: str, folder: str) -> tuple[str, ...]:
    return (*words, path_word(path.removeprefix(f"{folder}/"))) if path else words
