"""Interpretation of a command's end: if it checked something, and if it failed or only answered no.

Invariant: pure. The status of a pipe is not trusted, because it is that of its last command.
"""

import re
from typing import Final

_CHECKERS: Final = frozenset(
    (
        *(
            "make",
            "cmake",
            "ninja",
            "bazel",
            "gradle",
            "gradlew",
            "mvn",
            "mvnw",
            "meson",
            "tox",
            "nox",
            "pre-commit",
        ),
        *(
            "ruff",
            "mypy",
            "pyright",
            "flake8",
            "pylint",
            "black",
            "isort",
            "bandit",
            "shellcheck",
            "hadolint",
        ),
        *(
            "tsc",
            "eslint",
            "prettier",
            "biome",
            "stylelint",
            "golangci-lint",
            "staticcheck",
            "rubocop",
            "phpstan",
        ),
    )
)
_WITH_VERB: Final = frozenset(("cargo", "go", "npm", "pnpm", "yarn", "bun", "dotnet", "swift", "zig"))
"""Programs that check something if given one of these verbs."""
_VERBS: Final = frozenset(
    ("build", "check", "clippy", "vet", "lint", "typecheck", "compile", "verify", "fmt")
)
_ASKS: Final = frozenset(
    ("grep", "egrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "command", "pgrep")
)
"""Programs that use status 1 to answer no."""
_STARTERS: Final = frozenset(
    ("uv", "run", "poetry", "pipenv", "hatch", "npx", "python", "python3", "-m", "time", "env")
)
_ENDS = re.compile(r"&&|\|\||;|\n")
_SETS = re.compile(r"\w+=")


def is_check(command: str) -> bool:
    """Return True if a command with status 0 proves something: it builds, or checks the code."""
    words = _last_command_words(command)
    if not words or "|" in command:
        return False
    name = words[0].rpartition("/")[2]
    return name in _CHECKERS or (name in _WITH_VERB and not _VERBS.isdisjoint(words[1:]))


def is_fault(command: str, status: int, output: str) -> bool:
    """Return True if a command with a nonzero status failed; a search without matches did not."""
    if status != 1:
        return True
    words = _last_command_words(command.rpartition("|")[2])
    is_query = bool(words) and (words[0].rpartition("/")[2] in _ASKS or words[:2] == ["git", "diff"])
    return not is_query and bool(output.strip())


def _last_command_words(command: str) -> list[str]:
    """Return the words of a line's last command, without runners and variables before it."""
    words = _ENDS.split(command.strip())[-1].split()
    while words and (words[0] in _STARTERS or _SETS.match(words[0])):
        words = words[1:]
    return words
