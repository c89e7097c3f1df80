"""L3: how a call comes to its subcommand: options in front of it, a name that a setting gives it, a program of its own.

Invariant: pure; what is not known in front of a subcommand never hides it, nor does one that is not known make it less.
"""

import shlex
from collections.abc import Sequence
from itertools import pairwise

from tui_agent.policy.programs.part import GIT
from tui_agent.policy.programs.table import Program
from tui_agent.policy.shell.script import READ_ONLY, Word

_CORES = ("/usr/lib/git-core/", "/usr/libexec/git-core/", "/usr/local/libexec/git-core/")
"""Folders in which git's subcommands lie as programs."""
_ALIAS = "alias."


def options_in_front(program: Program, words: Sequence[Word]) -> tuple[int, bool]:
    """How many of the words behind a program's name stand in front of its subcommand, and whether all are known to it."""
    at, known = 0, True
    names = program.heads
    while at < len(words):
        value = words[at].value or ""
        name, equals, _ = value.partition("=")
        whole = bool(equals) and name.startswith("--")
        takes = program.options.get(name if whole else value)
        if program.turns.get(value) == READ_ONLY or len(value) < 2 or value[0] != "-" or value == "--":
            break
        if value in names:
            break
        at += 1
        if takes is None:
            known = False
            behind = [word.value for word in words[at : at + 2]]
            at += not whole and len(behind) == 2 and behind[0] not in names and behind[1] in names
        elif not whole and takes not in ("nothing", "maybe"):
            at += 1
    return min(at, len(words)), known


def harmless_setting(word: Word, mild: Sequence[str]) -> bool:
    """Whether NAME=VALUE is one of the settings that change nothing but what is shown; letter case does not count."""
    if word.value is None:
        return False
    name, equals, value = word.value.partition("=")
    small = name.lower()
    return any(
        small.startswith(one) if one.endswith(".") else one in (small, f"{small}{equals}{value}")
        for one in mild
    )


def aliased(program: Program, words: Sequence[Word]) -> list[Word]:
    """The words of the git command that its first word, an alias by a setting in front, stands for; none where it is none."""
    at, _ = options_in_front(program, words[1:])
    name = (words[at + 1].value or "").lower() if at + 1 < len(words) else ""
    for before, word in pairwise(words[1 : at + 1]):
        key, _, line = (word.value or "").partition("=")
        if before.value == "-c" and name and key.lower() == _ALIAS + name and line[:1] != "!":
            try:
                meant = shlex.split(line)
            except ValueError:
                return []
            return [words[0], *(Word(shlex.quote(one), (one,)) for one in meant), *words[at + 2 :]]
    return []


def undashed(words: Sequence[Word]) -> Sequence[Word]:
    """`git-push` is `git push`, also where its folder is given."""
    name = words[0].value or ""
    folder = next((core for core in _CORES if name.startswith(core)), "")
    sub = name.removeprefix(folder).removeprefix(f"{GIT}-")
    if name != f"{folder}{GIT}-{sub}" or not sub or "/" in sub:
        return words
    return [Word(GIT, (GIT,)), Word(sub, (sub,)), *words[1:]]
