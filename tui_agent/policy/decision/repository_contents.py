"""Predicates for git commands that print or pack the contents of files in the repository.

Invariant: an uncertain word counts as an option that prints contents.
"""

import re
from collections.abc import Sequence
from typing import Final

from tui_agent.policy.decision.word_lists import word_list
from tui_agent.policy.interpreter.command_report import CommandReport

_PATCH: Final = re.compile(
    r"-\w*[puUcLWv].*|--(?:pat|unif|cc|func|word-diff|color-words|verb|binary|rem|diff-m).*", re.DOTALL
)
_FILE_OF_REVISION: Final = re.compile(r"[\w./~^@,+-]*:[^:/][^:]*")


def reads_commits(command: CommandReport) -> bool:
    """Return True if a git command prints or packs contents of files from commits.

    The result is False if the command names each file together with a commit (`HEAD:a.py`).
    """
    options, _ = _split_words(command)
    operands = _operands(command, options)
    if not command.name.startswith("git ") or not _shows_contents(command, options) or _are_files(operands):
        return False
    patch = any(_PATCH.fullmatch(option) for option in options)
    if not patch and not word_list("shows_no_contents").isdisjoint(options):
        return False
    if command.name in word_list("reads_work_files"):
        patterns = options.count("-e") or not any(option.startswith("-e") for option in options)
        first = int(patterns) if command.name == "git grep" else 0
        uncertain = any(word.known is None for word in command.words)
        return uncertain or len(operands) > first or not {"--cached", "--staged"}.isdisjoint(options)
    return True


def shows_repository(command: CommandReport) -> bool:
    """Return True if a command shows file contents without naming the files (`git diff`)."""
    options, paths = _split_words(command)
    if not _shows_contents(command, options):
        return False
    named = "--literal-pathspecs" not in options and any(not path.startswith(":") for path in paths)
    return not (named or _are_files(_operands(command, options)))


def _split_words(command: CommandReport) -> tuple[list[str], list[str]]:
    """Return a command's words before and after `--`. An unknown word becomes `-p`, an option that prints contents."""
    words = [word.known or "-p" for word in command.words[1:]]
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :]


def _operands(command: CommandReport, words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")][command.name.count(" ") :]


def _are_files(operands: Sequence[str]) -> bool:
    return bool(operands) and all(_FILE_OF_REVISION.fullmatch(operand) for operand in operands)


def _shows_contents(command: CommandReport, options: Sequence[str]) -> bool:
    patch = any(_PATCH.fullmatch(option) for option in options)
    shows = command.name in word_list("shows_contents")
    only_names = bool(command.files) and all(use.action == "list" for use in command.files)
    return not only_names and (shows or (patch and command.name in word_list("shows_patches")))
