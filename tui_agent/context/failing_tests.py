"""Which tests still fail after a test run.

Invariant: pure. A test that failed stays until a run that passes has it among its tests.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.events.eval import TestFinished

_EVERYTHING: Final = frozenset({".", "./", "./..."})
_RUNNERS: Final = frozenset(
    (
        *(
            "python",
            "python3",
            "pytest",
            "py.test",
            "unittest",
            "discover",
            "uv",
            "poetry",
            "pipenv",
            "hatch",
        ),
        *("npm", "pnpm", "yarn", "bun", "npx", "node", "jest", "vitest", "mocha", "ava", "tap"),
        *("cargo", "nextest", "go", "run", "test", "exec"),
    )
)
_TAKES_A_WORD: Final = frozenset(
    {"-n", "-p", "-c", "-o", "-W", "-j", "--rootdir", "--maxfail", "--tb", "--color"}
)
"""Options whose next word names no test."""


def still_failing(held: Sequence[str], run: TestFinished, most: int) -> list[str]:
    """What fails after `run`, where `held` failed before it: at most so many, those of this run first."""
    passes = run.exit_code == 0
    own = [] if passes else list(run.failures) or [_failed(run.command)]
    told = passes or bool(run.failures)
    old = [name for name in held if name not in own and not (told and _among(name, run.command))]
    return [*own, *old][:most]


def runs_all(command: str) -> bool:
    """Whether a test command names no tests of its own."""
    return not _chosen(command)


def _failed(command: str) -> str:
    return f"`{command}` failed"


def _among(name: str, command: str) -> bool:
    """Whether a run that ended runs this test too."""
    chosen = _chosen(command)
    if not chosen or name == _failed(command):
        return True
    if name.startswith("`"):  # of a run that told no names: one of fewer tests says nothing of it
        return False
    return any(word in name or name in word for word in chosen)


def _chosen(command: str) -> list[str]:
    """The words of a test command that choose tests; none where it runs all."""
    found, words = list[str](), iter(command.split())
    for word in words:
        if word in _TAKES_A_WORD:
            next(words, "")
        elif word.startswith("-") or word in _EVERYTHING:
            continue
        elif word.rpartition("/")[2] not in _RUNNERS:
            found.append(word.removeprefix("./").rstrip("/."))
    return [word for word in found if word]
