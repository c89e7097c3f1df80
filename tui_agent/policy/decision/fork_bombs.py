"""The guard against runaway commands: commands that end every process, or that start processes without end.

Invariant: the result depends only on a command's text and arguments.
"""

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from tui_agent.policy.interpreter.command_report import CommandReport

_ENDS_EVERYTHING: Final = "it ends every process that you own"
_STARTS_WITHOUT_END: Final = "it never stops starting processes"
_MAX_TEXT: Final = 20_000
_MAX_FUNCTIONS: Final = 100
_FUNCTION: Final = re.compile(
    r"(?:function\s{1,20}([^\s(){};&|<>]{1,80})\s{0,20}(?:\(\s{0,20}\))?|([^\s(){};&|<>]{1,80})\s{0,20}\(\s{0,20}\))\s{0,20}[{(]"
)
_PIPED_COMMAND: Final = re.compile(r"(?<![^;|&\n])[^;|&\n]*+(?:\|(?!\|)|&(?!&))")
"""Matches a shell command followed by a pipe or `&`."""
_NAME: Final = re.compile(r"[^\s;&|(){}]+")
_ENDLESS_LOOP: Final = re.compile(
    r"(?s)(?:while\s+(?:true|:)|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))\s*+;?\s*+do\b(.*?)(\bdone\b|\Z)"
)
_IN_BACKGROUND: Final = re.compile(r"(?<![^;&|\n(){}])[^;&|\n(){}]*+&(?![&>])")
_EVERY_NAME: Final = re.compile(r"\^?(\.[*+]?|\[a-z\][*+]?|)\$?")
"""Matches a pattern such as `.`, which fits every process name."""
_EVERY_PROCESS: Final = re.compile(
    r"(?:(?:-s|-n|--signal) \S+ |-[^-\s]\S* )?+(?:.* )?-0*1(?: .*)?", re.DOTALL
)
_OPTION_OF_KILL: Final = re.compile(r"(?<!\S)(?:(?:-[uUsPtg]|--(?:euid|uid|user|signal|parent)) \S+|-\S+) ")
_SELECTS_USER: Final = re.compile(r"(?<!\S)(?:-[uU]|--(?:euid|uid|user))[= ]")


def reason_to_forbid(command: CommandReport) -> str:
    """Return the reason why no profile runs the command; empty if there is none."""
    name, *arguments = [word.known or "" for word in command.words] or [""]
    check = _CHECKS.get(name.rpartition("/")[2])
    return "" if check is None else check(arguments)


def starts_without_end(text: str) -> str:
    """Return a reason to forbid a bash text that starts processes without end. Empty for any other text.

    Examples: a function that starts itself in a pipe or in the background (`f() { f | f & }`), and an endless loop of
    background processes.
    """
    text = text[:_MAX_TEXT]
    ends = _bracket_ends(text)
    piped = [match.span() for match in _PIPED_COMMAND.finditer(text)]
    calls = [(call, end) for start, end in piped for call in _NAME.finditer(text, start, end)]
    for function in islice(_FUNCTION.finditer(text), _MAX_FUNCTIONS):
        name, body = function[1] or function[2], function.end()
        closing = ends.get(body - 1, len(text))
        if any(call[0] == name and body <= call.start() and end <= closing for call, end in calls):
            return _STARTS_WITHOUT_END
    for loop in _ENDLESS_LOOP.finditer(text):
        foreground = _IN_BACKGROUND.sub("", loop[1])
        if loop[2] and foreground != loop[1] and not re.search(r"[^\s;(){}]", foreground):
            return _STARTS_WITHOUT_END
    return ""


def _bracket_ends(text: str) -> dict[int, int]:
    ends: dict[int, int] = {}
    opened: dict[str, list[int]] = {"}": [], ")": []}
    for bracket in re.finditer(r"[{}()]", text):
        if bracket[0] in "{(":
            opened["}" if bracket[0] == "{" else ")"].append(bracket.start())
        elif opened[bracket[0]]:
            ends[opened[bracket[0]].pop()] = bracket.start()
    return ends


def _kill(arguments: Sequence[str]) -> str:
    """Return a reason to forbid `kill -9 -1`, which ends every process. Empty for other arguments of `kill`."""
    return _ENDS_EVERYTHING if _EVERY_PROCESS.fullmatch(" ".join(arguments)) else ""


def _kill_by_name(arguments: Sequence[str]) -> str:
    """Return a reason to forbid a command that ends every process of the user (`pkill .`). Empty for other arguments."""
    text = "".join(f"{argument} " for argument in arguments)
    names = _OPTION_OF_KILL.sub("", text).split(" ")[:-1]
    everything = any(map(_EVERY_NAME.fullmatch, names)) or (not names and _SELECTS_USER.search(text))
    return _ENDS_EVERYTHING if everything else ""


_CHECKS: Final[dict[str, Callable[[Sequence[str]], str]]] = {
    "kill": _kill,
    **dict.fromkeys(("pkill", "killall", "skill"), _kill_by_name),
}
