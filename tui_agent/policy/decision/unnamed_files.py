"""Predicates for commands that can use unnamed files. Their reports do not name these files.

Invariant: this module is pure.
"""

from collections.abc import Collection
from typing import Final

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.decision.confinement import has_open_doubt
from tui_agent.policy.decision.repository_contents import shows_repository
from tui_agent.policy.decision.word_lists import word_list
from tui_agent.policy.interpreter.report import CommandReport

_CHANGING: Final = frozenset({Effect.RUNS, Effect.WRITES, Effect.DELETES})


def reads_unnamed(command: CommandReport) -> bool:
    """Return True if a command can read or show files without naming them."""
    if shows_repository(command):
        return True
    if not command.name.startswith("git "):
        return _uses_unnamed(command, {Effect.RUNS}, ("read", "list"))
    limited = any(use.action == "write" and use.below for use in command.files)
    return _uses_unnamed(command, {Effect.RUNS, Effect.WRITES}, ("read", "write") if limited else ("read",))


def changes_unnamed(command: CommandReport) -> bool:
    """Return True if a command can change or delete files without naming them."""
    return _uses_unnamed(command, _CHANGING, ("write", "move", "delete"))


def is_uncertain(command: CommandReport) -> bool:
    """Return True if a command can use any file, even a file that its report does not list."""
    own = command.name in word_list("own_commands") and any(code.startswith(".") for code in command.code)
    return own or has_open_doubt(command)


def is_runner(command: CommandReport) -> bool:
    """Return True if the command certainly runs the project's own code, as `pytest` does."""
    # Rules against files are not guaranteed to stop such code.
    script = any(use.action == "read" for use in command.files)
    own_code = command.program.remember or ((script or command.code) and Effect.WRITES not in command.effects)
    certain = Effect.RUNS in command.effects and not (command.doubts or command.name.startswith("git "))
    return bool(certain and own_code) and not _has_changing_word(command)


def may_change(command: CommandReport) -> bool:
    """Return True if a command can change its file arguments. Commands that run the project's code do not count."""
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
