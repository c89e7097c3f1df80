"""L3: how far the report of a command says which files it reads and changes: for rules against files.

Invariant: pure; a command that may use other files than its report names is never taken for one that does not.
"""

import re
from typing import Final

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.report import CommandReport

_READS_LISTED_NAMES: Final = frozenset({"cpio"})
"""They read the files that their input names."""
_SHOWS_CONTENTS: Final = frozenset(
    {
        "git cat-file", "git diff", "git diff-files", "git diff-index", "git format-patch", "git merge-tree", "git range-diff",
        "git show",
    }
)  # fmt: skip
_SHOWS_PATCHES: Final = frozenset(
    {
        "git diff-tree", "git log", "git reflog", "git reflog show", "git shortlog", "git stash list", "git stash show",
        "git status", "git whatchanged",
    }
)  # fmt: skip
"""They show contents of files only with one of these options."""
_PATCH: Final = re.compile(
    r"-\d*\w*[puUcLWv].*|--(?:pat|unif|cc|func|word-diff|color-words|verb|binary|rem|diff-m).*", re.DOTALL
)
_CHANGING_WORDS: Final = frozenset(
    {
        "fmt",
        "format",
        "--fix",
        "-a",
        "-A",
        "--autocorrect",
        "-w",
        "--write",
        "new",
        "init",
        "create",
        "compileall",
        "generate",
        "checkout",
    }
)
"""Words by which programs that run the project's code change its files themselves."""
_ONLY_REPOSITORY: Final = frozenset(
    {
        "git branch", "git branch --delete", "git checkout -b", "git commit", "git fetch", "git init", "git notes",
        "git push", "git remote add", "git remote remove", "git remote rename", "git remote set-url",
        "git restore --staged", "git tag", "git tag --delete",
    }
)  # fmt: skip
"""They change only the repository, and show no files of it."""


def shows_repository(command: CommandReport) -> bool:
    """Return True if a command of git shows contents of files, and its words do not say of which."""
    options = [word.known or "-p" for word in command.words[1:]]
    if "--" in options:
        options = options[: options.index("--")]
    patch = any(_PATCH.fullmatch(option) for option in options)
    if command.name not in _SHOWS_CONTENTS and not (command.name in _SHOWS_PATCHES and patch):
        return False
    operands = [option for option in options if not option.startswith("-")][command.name.count(" ") :]
    files = bool(operands) and all(":" in operand[1:] for operand in operands)
    return not (files or _names_paths(command))


def changes_operands(command: CommandReport) -> bool:
    """Return True if the command certainly changes files, and its report does not say which: those that it names."""
    named = has_changing_word(command) and not command.doubts
    changes = named or {Effect.WRITES, Effect.DELETES} & command.effects
    listed = any(use.action in ("write", "move", "delete") for use in command.files)
    return (
        bool(changes) and not listed and command.name not in _ONLY_REPOSITORY and not _ends_processes(command)
    )


def has_changing_word(command: CommandReport) -> bool:
    """Return True if a word makes the program change the files that it is given (`--fix`)."""
    words = {word.known for word in command.words}
    return bool(words & _CHANGING_WORDS) and "--check" not in words


def only_starts(command: CommandReport) -> bool:
    """Return True if all that the command does is start others, which are judged by themselves."""
    return command.runs_next and not command.doubts


def is_runner(command: CommandReport) -> bool:
    """Return True if the program runs the project's own code in a usual way: no rule is promised to hold against that."""
    changes = has_changing_word(command)
    runs_own_code = bool(command.remember) or _runs_script(command) or bool(command.code)
    return (
        Effect.RUNS in command.effects
        and runs_own_code
        and not (command.doubts or changes or command.name.startswith("git "))
    )


def _runs_script(command: CommandReport) -> bool:
    return Effect.RUNS in command.effects and any(use.action == "read" for use in command.files)


def does_only_as_named(command: CommandReport) -> bool:
    """Return True if the command is known, runs nothing, and its report names the files that it changes."""
    return not command.doubts and Effect.RUNS not in command.effects and not changes_unnamed(command)


def changes_unnamed(command: CommandReport) -> bool:
    if command.name in _ONLY_REPOSITORY and not command.doubts:
        return False
    if _is_uncertain(command):
        return True
    if any(use.action in ("write", "delete", "move") for use in command.files) or _names_paths(command):
        return False
    if is_runner(command):
        return False
    changes = bool({Effect.WRITES, Effect.DELETES} & command.effects) and not _ends_processes(command)
    words = {word.known for word in command.words}
    return changes or Effect.RUNS in command.effects or bool(words & _CHANGING_WORDS)


def reads_unnamed(command: CommandReport) -> bool:
    if command.name in _ONLY_REPOSITORY and not command.doubts:
        return False
    if _is_uncertain(command):
        return True
    if command.name in _READS_LISTED_NAMES:
        return True
    if (
        any(use.action in ("read", "list") for use in command.files)
        or _names_paths(command)
        or is_runner(command)
    ):
        return False
    repository = command.name.startswith("git ") and bool({Effect.WRITES, Effect.RUNS} & command.effects)
    return repository or Effect.RUNS in command.effects


def _is_uncertain(command: CommandReport) -> bool:
    if command.name == "sqlite3" and any(text.startswith(".") for text in command.code):
        return True  # it has commands of its own, such as `.archive`
    return any(
        doubt.name in ("program", "option", "operand", "language", "limit") for doubt in command.doubts
    )


def _names_paths(command: CommandReport) -> bool:
    """`git checkout -- a`, `git clean -fd a`: only those files are meant."""
    texts = [word.known or "-" for word in command.words]
    if command.doubts or not command.name.startswith("git "):
        return False
    paths = command.name in ("git clean", "git restore") and not texts[-1].startswith("-") and len(texts) > 2
    return paths or "--" in texts[:-1]


def _ends_processes(command: CommandReport) -> bool:
    return command.name.partition(" ")[0] in ("kill", "pkill", "killall")
