"""L3: commands that no profile runs because of their words: they end every process, stop the machine, or start processes
without end.

Invariant: pure; a guard on top of the catalog's `forbidden`, for what only the words of a call tell.
"""

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from tui_agent.policy.interpreter.report import CommandReport

_ENDS_EVERYTHING: Final = "it ends every process that you may end"
_STOPS_MACHINE: Final = "it stops the machine"
_STARTS_WITHOUT_END: Final = "it starts processes without end"
_MAX_TEXT: Final = 20_000
_MAX_FUNCTIONS: Final = 100
_FUNCTION: Final = re.compile(
    r"(?:function\s{1,20}([^\s(){};&|<>]{1,80})\s{0,20}(?:\(\s{0,20}\))?|([^\s(){};&|<>]{1,80})\s{0,20}\(\s{0,20}\))\s{0,20}[{(]"
)
_ENDLESS_LOOP: Final = re.compile(
    r"(?:while\s+(?:true|:)|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))\s*[;\n]?\s*do\b(.*?)\bdone\b", re.DOTALL
)
_IN_BACKGROUND: Final = re.compile(r"[^;&|\n(){}]*&(?![&>])")
_EVERY_NAME: Final = re.compile(r"\^?(\.[*+]?|\[a-z\][*+]?|)\$?")
"""Patterns that fit every name of a process."""
_EVERY_PROCESS: Final = re.compile(
    r"(?:(?:-s|-n|--signal) \S+ |-[^-\s]\S* )?+(?:.* )?-0*1(?: .*)?", re.DOTALL
)
_OPTION_OF_KILL: Final = re.compile(r"(?<!\S)(?:(?:-[uUsPtg]|--(?:euid|uid|user|signal|parent)) \S+|-\S+) ")
_SELECTS_USER: Final = re.compile(r"(?<!\S)(?:-[uU]|--(?:euid|uid|user))[= ]")


def reason_to_forbid(command: CommandReport) -> str:
    """Return why no profile runs the command, "" where nothing speaks against it."""
    words = [word.known for word in command.words]
    if not words or words[0] is None:
        return ""
    check = _CHECKS.get(words[0].rpartition("/")[2])
    return "" if check is None else check([word or "" for word in words[1:]])


def starts_without_end(text: str) -> str:
    """Return why no profile runs a text of bash: a function of it starts itself in a pipe or in the background, or an
    endless loop does nothing but start programs in the background."""
    text = text[:_MAX_TEXT]
    for function in islice(_FUNCTION.finditer(text), _MAX_FUNCTIONS):
        name = re.escape(function[1] or function[2])
        again = rf"(?<![^\s;&|(){{}}]){name}(?![^\s;&|(){{}}])[^;|&\n]*(?:\|(?!\|)|&(?!&))"
        if re.search(again, _body(text, function.end())):
            return _STARTS_WITHOUT_END
    for loop in _ENDLESS_LOOP.finditer(text):
        foreground = _IN_BACKGROUND.sub("", loop[1])
        if foreground != loop[1] and not re.search(r"[^\s;(){}]", foreground):
            return _STARTS_WITHOUT_END
    return ""


def _body(text: str, start: int) -> str:
    """Return the text up to the bracket that closes the one in front of `start`."""
    opening = text[start - 1]
    closing = "}" if opening == "{" else ")"
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if not depth:
            return text[start:at]
    return text[start:]


def _kill(arguments: Sequence[str]) -> str:
    """`kill -9 -1`: behind the signal, or behind `--`, the number -1 is every process."""
    return _ENDS_EVERYTHING if _EVERY_PROCESS.fullmatch(" ".join(arguments)) else ""


def _kill_by_name(arguments: Sequence[str]) -> str:
    """`pkill .`, `killall -u ada`: a pattern that fits every name, or no name at all."""
    text = "".join(f"{argument} " for argument in arguments)
    names = _OPTION_OF_KILL.sub("", text).split(" ")[:-1]
    everything = any(map(_EVERY_NAME.fullmatch, names)) or (not names and _SELECTS_USER.search(text))
    return _ENDS_EVERYTHING if everything else ""


def _change_level(arguments: Sequence[str]) -> str:
    return _STOPS_MACHINE if {"0", "6"} & set(arguments) else ""


def _end_sessions(arguments: Sequence[str]) -> str:
    ending = {"terminate-user", "kill-user", "terminate-session", "terminate-seat"} & set(arguments)
    if ending:
        return _ENDS_EVERYTHING
    return _STOPS_MACHINE if {"poweroff", "reboot", "halt"} & set(arguments) else ""


_CHECKS: Final[dict[str, Callable[[Sequence[str]], str]]] = {
    "kill": _kill,
    "pkill": _kill_by_name,
    "killall": _kill_by_name,
    "skill": _kill_by_name,
    "init": _change_level,
    "telinit": _change_level,
    "loginctl": _end_sessions,
}
