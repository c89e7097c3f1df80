"""The tools of git.

Invariant: a tool runs exactly the git commands that its call declared, and no argument becomes an option of git.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from tui_agent.plugin_api import (
    ExecSpec,
    RunEffect,
    TerminalBlock,
    ToolContext,
    ToolError,
    ToolResult,
    at_most,
    format_count,
    shorten_text,
    text_result,
    tool,
)

MAX_CHARS = 12_000
"""Maximum length of a result for the model; the complete output is stored."""
MAX_STORED_BYTES = 20_000_000
DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-color")
"""Git options for showing a change without running other programs."""

Command: TypeAlias = tuple[str, ...]


def _safe_path(path: str) -> str:
    """Return the path in a form that git cannot mistake for an option."""
    # `git blame` reads options even after `--`.
    return f"./{path}" if path.startswith("-") else path


Revision: TypeAlias = Annotated[
    str, Field(pattern=r"^([^-].*)?$", description="a commit, branch or range such as main..HEAD")
]
GitPath: TypeAlias = Annotated[str, AfterValidator(_safe_path)]


def status_commands() -> list[Command]:
    """Return the command that lists changed files."""
    return [("git", "status", "--porcelain=v1", "--branch")]


def diff_commands(revision: str, path: str, staged: bool, stat: bool) -> list[Command]:
    """Return the command that shows changes."""
    options = (*["--cached"] * staged, *["--stat"] * stat)
    return [("git", "diff", *DIFF_OPTIONS, *options, *_operands(revision, path))]


def log_commands(revision: str, path: str, limit: int, patch: bool) -> list[Command]:
    """Return the command that lists commits."""
    shown = ("--patch",) if patch else ("--format=%h %ad %an: %s",)
    return [
        ("git", "log", *DIFF_OPTIONS, "--date=short", f"-n{limit}", *shown, *_operands(revision, path)),
    ]


def blame_commands(path: str, first_line: int, last_line: int, revision: str) -> list[Command]:
    """Return the command that names the commit of each line."""
    lines = f"-L{first_line},{last_line or ''}"
    return [("git", "blame", "--date=short", lines, *_operands(revision, path))]


def commit_commands(message: str, paths: list[str]) -> list[Command]:
    """Return the commands that commit `paths`; without `paths`, the staged changes."""
    commit: Command = ("git", "commit", "-m", message)
    if not paths:
        return [commit]
    # `git commit` refuses new files that were not added. With paths, it leaves out other files that are staged.
    return [("git", "add", "--", *paths), (*commit, "--", *paths)]


def _operands(revision: str, path: str) -> Command:
    return (*([revision] if revision else []), "--", *([path] if path else []))


def _run_effects(commands: Callable[..., list[Command]], /, **arguments: object) -> list[RunEffect]:
    return [RunEffect(argv=command) for command in commands(**arguments)]


def _row(subcommand: str, /, **arguments: object) -> str:
    """Return the line that shows a call on the screen: the git subcommand and the text arguments."""
    words = [value for value in arguments.values() if value and isinstance(value, str)]
    return " ".join((subcommand, *words))


@tool(
    effects=partial(_run_effects, status_commands),
    target=partial(_row, "status"),
    verb="git",
    parallel_safe=True,
)
async def git_status(ctx: ToolContext) -> ToolResult:
    """Show branch and changed files."""
    return await run_git(status_commands(), ctx)


@tool(
    effects=partial(_run_effects, diff_commands), target=partial(_row, "diff"), verb="git", parallel_safe=True
)
async def git_diff(
    ctx: ToolContext, revision: Revision = "", path: GitPath = "", staged: bool = False, stat: bool = False
) -> ToolResult:
    """Show changes: unstaged, staged, or against a revision."""
    return await run_git(diff_commands(revision, path, staged, stat), ctx)


@tool(
    effects=partial(_run_effects, log_commands), target=partial(_row, "log"), verb="git", parallel_safe=True
)
async def git_log(
    ctx: ToolContext,
    revision: Revision = "",
    path: GitPath = "",
    limit: Annotated[int, Field(ge=1), at_most(500)] = 20,
    patch: bool = False,
) -> ToolResult:
    """List commits, newest first; with `patch`, also their changes."""
    return await run_git(log_commands(revision, path, limit, patch), ctx)


@tool(
    effects=partial(_run_effects, blame_commands),
    target=partial(_row, "blame"),
    verb="git",
    parallel_safe=True,
)
async def git_blame(
    ctx: ToolContext,
    path: GitPath,
    first_line: Annotated[int, Field(ge=1)] = 1,
    last_line: Annotated[int, Field(ge=0)] = 0,
    revision: Revision = "",
) -> ToolResult:
    """Show which commit last changed each line of a file."""
    return await run_git(blame_commands(path, first_line, last_line, revision), ctx)


@tool(effects=partial(_run_effects, commit_commands), target=partial(_row, "commit"), verb="git")
async def git_commit(
    ctx: ToolContext,
    message: Annotated[str, Field(min_length=1)],
    paths: Annotated[list[GitPath], Field(description="new files too; empty: staged changes")] = [],  # noqa: B006
) -> ToolResult:
    """Commit files."""
    return await run_git(commit_commands(message, paths), ctx)


async def run_git(commands: list[Command], ctx: ToolContext) -> ToolResult:
    """Run commands until one fails. Return the output of the last command that ran."""
    for command in commands:
        result = await ctx.env.exec(ExecSpec(argv=command, max_output=MAX_STORED_BYTES), lambda output: None)
        if result.outcome == "not_found":
            raise ToolError(
                "git is not installed in this environment.", hint="Install it, or continue without git."
            )
        if result.exit_code != 0:
            break
    output = result.output.decode("utf-8", "replace").strip("\n")
    ended = "" if result.exit_code == 0 else result.message or f"exit {result.exit_code}"
    notes = [f"[{note}]" for note in (ended, result.blocked, *result.remarks) if note]
    stored = ctx.blobs.put_text(output)
    lines = format_count(output.count("\n") + 1, "line")
    return text_result(
        "\n".join([*notes, shorten_text(output, stored, MAX_CHARS) or "No output."]),
        ok=result.exit_code == 0,
        summary=ended or (lines if output else "nothing"),
        display=(TerminalBlock(text=stored),) if output else (),
        data={"exit_code": result.exit_code},
        full_output=stored,
    )
