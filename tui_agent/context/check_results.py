"""What the end of a command says: whether it checked something, and whether it failed or only answered no.

Invariant: pure; of a pipe nothing is believed, for it ends as its last command does.
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
"""Programs that check something with one of these words."""
_VERBS: Final = frozenset(
    ("build", "check", "clippy", "vet", "lint", "typecheck", "compile", "verify", "fmt")
)
_ASKS: Final = frozenset(
    ("grep", "egrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "command", "pgrep")
)
"""Programs that answer no with 1."""
_STARTERS: Final = frozenset(
    ("uv", "run", "poetry", "pipenv", "hatch", "npx", "python", "python3", "-m", "time", "env")
)
_ENDS = re.compile(r"&&|\|\||;|\n")
_SETS = re.compile(r"\w+=")


def is_check(command: str) -> bool:
    """Whether a command that ended with 0 shows that something holds: it builds, or judges the code."""
    words = _last(command)
    if not words or "|" in command:
        return False
    name = words[0].rpartition("/")[2]
    return name in _CHECKERS or (name in _WITH_VERB and not _VERBS.isdisjoint(words[1:]))


def is_fault(command: str, status: int, output: str) -> bool:
    """Whether a command that did not end with 0 failed; a search that found nothing did not."""
    if status != 1:
        return True
    words = _last(command.rpartition("|")[2])
    asks = bool(words) and (words[0].rpartition("/")[2] in _ASKS or words[:2] == ["git", "diff"])
    return not asks and bool(output.strip())


def _last(command: str) -> list[str]:
    """The words of the last of a line's commands, without what starts it."""
    words = _ENDS.split(command.strip())[-1].split()
    while words and (words[0] in _STARTERS or _SETS.match(words[0])):
        words = words[1:]
    return words
