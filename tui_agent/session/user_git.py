"""Git commands in the user's own repository.

Invariant: no program that the repository's configuration names is run (hooks, file monitors, filters), and nothing is
fetched. Filters from the user's own configuration still run.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from tui_agent.config.programs import find_program, safe_path
from tui_agent.errors import UsageError

QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_REPOSITORY_SCOPES = (b"local", b"worktree")
_FILTER_OFF = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))


async def users_git(folder: Path, *args: str) -> str:
    """Return git's output in this folder's repository, or, with `-C` first, in one of its work trees.

    Raises `UsageError` if git is missing or refuses.
    """
    program = find_program("git", folder, os.environ)
    if program is None:
        raise UsageError("The program `git` was not found.", hint="Install git, or leave out --worktree.")
    env = _environment(folder, os.environ)
    config_names = await _run(program, folder, env, "config", "--list", "--show-scope", "--name-only", "-z")
    out = await _run(program, folder, {**env, **filters_off(config_names)}, *args)
    return out.decode("utf-8", "surrogateescape")


def filters_off(listed: bytes) -> dict[str, str]:
    """Return variables that switch off every filter which the repository's own configuration defines.

    `listed` is git's list of scopes and names, each ended by NUL. Variables are used because a filter's name may
    contain characters that would end an option `-c`.
    """
    fields = listed.split(b"\0")
    drivers: dict[str, None] = {}
    for scope, name in zip(fields[::2], fields[1::2], strict=False):
        section, _, rest = name.decode("utf-8", "surrogateescape").partition(".")
        driver, _, key = rest.rpartition(".")
        if scope in _REPOSITORY_SCOPES and section.lower() == "filter" and driver and key:
            drivers[driver] = None
    overrides = [(f"filter.{driver}.{key}", value) for driver in drivers for key, value in _FILTER_OFF]
    variables = {"GIT_CONFIG_COUNT": str(len(overrides))}
    for number, (key, value) in enumerate(overrides):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


async def _run(program: str, folder: Path, env: Mapping[str, str], *args: str) -> bytes:
    process = await anyio.run_process((program, *QUIET, *args), cwd=folder, env=env, check=False)
    if process.returncode:
        error_lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"git {_subcommand(args)} failed in {folder}: {error_lines[-1] if error_lines else process.returncode}.",
            hint="--worktree needs a workspace in a git repository and a new folder.",
        )
    return process.stdout


def _subcommand(args: Sequence[str]) -> str:
    return args[2] if args[0] == "-C" else args[0]


def _environment(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    without_git = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return {
        **without_git,
        "PATH": safe_path(folder, environ),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
