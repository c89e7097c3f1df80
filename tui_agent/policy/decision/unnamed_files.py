"""Predicates for commands that can use files not named in their report.

If rules restrict files, such commands need approval.

Invariant: this module is pure. Each predicate returns True if a command can use files outside its report.
"""

import re
from collections.abc import Collection
from typing import Final

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.decision.confinement import has_open_doubt
from tui_agent.policy.decision.word_lists import word_list
from tui_agent.policy.interpreter.report import CommandReport

_CHANGING: Final = frozenset({Effect.RUNS, Effect.WRITES, Effect.DELETES})
_PATCH: Final = re.compile(
    r"-\w*[puUcLWv].*|--(?:pat|unif|cc|func|word-diff|color-words|verb|binary|rem|diff-m).*", re.DOTALL
)
_FILE_OF_REVISION: Final = re.compile(r"[\w./~^@,+-]*:[^:/][^:]*")


def reads_unnamed(command: CommandReport) -> bool:
    """Return True if a command can read or show files that no argument names."""
    if _shows_repository(command):
        return True
    if not command.name.startswith("git "):
        return _uses_unnamed(command, {Effect.RUNS}, ("read", "list"))
    limited = any(use.action == "write" and use.below for use in command.files)
    return _uses_unnamed(command, {Effect.RUNS, Effect.WRITES}, ("read", "write") if limited else ("read",))


def changes_unnamed(command: CommandReport) -> bool:
    """Return True if a command can change or delete files that no argument names."""
    return _uses_unnamed(command, _CHANGING, ("write", "move", "delete"))


def is_uncertain(command: CommandReport) -> bool:
    """Return True if a command can use any file, whatever its report says."""
    own = command.name in word_list("own_commands") and any(code.startswith(".") for code in command.code)
    return own or has_open_doubt(command)


def is_runner(command: CommandReport) -> bool:
    """Return True if the command's program runs the project's own code in a usual way (`pytest`).

    Rules against files are not guaranteed to stop such code.
    """
    script = any(use.action == "read" for use in command.files)
    own_code = command.program.remember or ((script or command.code) and Effect.WRITES not in command.effects)
    certain = Effect.RUNS in command.effects and not (command.doubts or command.name.startswith("git "))
    return bool(certain and own_code) and not _has_changing_word(command)


def may_change(command: CommandReport) -> bool:
    """Return True if a command can change its file arguments, other than by running the project's code."""
    changes = bool(command.doubts) or not command.effects.isdisjoint(_CHANGING)
    return changes and not is_runner(command)


def _uses_unnamed(command: CommandReport, effects: Collection[Effect], actions: Collection[str]) -> bool:
    if command.only_reads or (command.name in word_list("uses_no_files") and not command.doubts):
        return False
    if is_uncertain(command):
        return True
    if any(use.action in actions for use in command.files) or is_runner(command):
        return False
    return not command.effects.isdisjoint(effects) or _has_changing_word(command)


def _has_changing_word(command: CommandReport) -> bool:
    words = {first for word in command.words for first in word.text.split(maxsplit=1)[:1]}
    return "--check" not in words and not words.isdisjoint(word_list("changing"))


def _shows_repository(command: CommandReport) -> bool:
    """Return True if a command shows file contents without naming the files (`git diff`)."""
    words = [word.known or "-p" for word in command.words[1:]]
    options, paths = words, words[len(words) :]
    if "--" in words:
        options, paths = words[: words.index("--")], words[words.index("--") + 1 :]
    patch = any(_PATCH.fullmatch(option) for option in options)
    shows = command.name in word_list("shows_contents")
    only_names = bool(command.files) and all(use.action == "list" for use in command.files)
    if only_names or (not shows and not (patch and command.name in word_list("shows_patches"))):
        return False
    operands = [option for option in options if not option.startswith("-")][command.name.count(" ") :]
    files = bool(operands) and all(_FILE_OF_REVISION.fullmatch(operand) for operand in operands)
    named = "--literal-pathspecs" not in options and any(not path.startswith(":") for path in paths)
    return not (files or named)
