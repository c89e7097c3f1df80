"""Bookkeeping of failing tests after a test run.

Invariant: pure. A failed test stays listed until a passing run includes it.
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
"""Options whose next word is not the name of a test."""


def still_failing(held: Sequence[str], run: TestFinished, most: int) -> list[str]:
    """Return the failing tests after `run`, at most `most`; `held` failed before it. Those of this run come first."""
    passes = run.exit_code == 0
    new_failures = [] if passes else list(run.failures) or [_run_failure(run.command)]
    names_tests = passes or bool(run.failures)
    earlier = [
        name
        for name in held
        if name not in new_failures and not (names_tests and _is_covered(name, run.command))
    ]
    return [*new_failures, *earlier][:most]


def runs_all(command: str) -> bool:
    """Return True if a test command does not select tests."""
    return not _selected_tests(command)


def _run_failure(command: str) -> str:
    return f"`{command}` failed"


def _is_covered(name: str, command: str) -> bool:
    """Return True if the run includes this test."""
    selected = _selected_tests(command)
    if not selected or name == _run_failure(command):
        return True
    if name.startswith("`"):  # a run without test names: a smaller run proves nothing about it
        return False
    return any(word in name or name in word for word in selected)


def _selected_tests(command: str) -> list[str]:
    """Return the words of a test command that select tests; empty if it runs all."""
    selected, words = list[str](), iter(command.split())
    for word in words:
        if word in _TAKES_A_WORD:
            next(words, "")
        elif word.startswith("-") or word in _EVERYTHING:
            continue
        elif word.rpartition("/")[2] not in _RUNNERS:
            selected.append(word.removeprefix("./").rstrip("/."))
    return [word for word in selected if word]
