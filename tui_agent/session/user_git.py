"""The user's git in the user's own repository, for the few things that only it can do there.

Invariant: no program that the repository's configuration names is run: no hook, no monitor, no filter, and nothing is
fetched. Filters of the user's own configuration are theirs and stay.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from tui_agent.config.programs import find_program, safe_path
from tui_agent.errors import UsageError

QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_OF_THE_REPOSITORY = (b"local", b"worktree")
_OFF = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))


async def users_git(folder: Path, *words: str) -> str:
    """What git says in this folder's repository, or, with `-C` first, in one of its work trees.

    Raises `UsageError` where git is absent or refuses.
    """
    program = find_program("git", folder, os.environ)
    if program is None:
        raise UsageError("The git program was not found.", hint="Leave --worktree out, or install git.")
    env = _environment(folder, os.environ)
    listed = await _run(program, folder, env, "config", "--list", "--show-scope", "--name-only", "-z")
    out = await _run(program, folder, {**env, **filters_off(listed)}, *words)
    return out.decode("utf-8", "surrogateescape")


def filters_off(listed: bytes) -> dict[str, str]:
    """Variables that switch off each filter which the repository's own configuration defines.

    `listed` is what git says of scopes and names, each ended by NUL. Variables, for a name may hold what an option
    `-c` would end at.
    """
    fields = listed.split(b"\0")
    drivers: dict[str, None] = {}
    for scope, name in zip(fields[::2], fields[1::2], strict=False):
        section, _, rest = name.decode("utf-8", "surrogateescape").partition(".")
        driver, _, key = rest.rpartition(".")
        if scope in _OF_THE_REPOSITORY and section.lower() == "filter" and driver and key:
            drivers[driver] = None
    off = [(f"filter.{driver}.{key}", value) for driver in drivers for key, value in _OFF]
    said = {"GIT_CONFIG_COUNT": str(len(off))}
    for number, (key, value) in enumerate(off):
        said |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return said


async def _run(program: str, folder: Path, env: Mapping[str, str], *words: str) -> bytes:
    done = await anyio.run_process((program, *QUIET, *words), cwd=folder, env=env, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"git {_verb(words)} failed in {folder}: {said[-1] if said else done.returncode}.",
            hint="--worktree needs a workspace in a git repository and a new folder.",
        )
    return done.stdout


def _verb(words: Sequence[str]) -> str:
    return words[2] if words[0] == "-C" else words[0]


def _environment(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "PATH": safe_path(folder, environ),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
