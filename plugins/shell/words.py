"""Command lines as words, and whether one needs a shell.

Invariant: `plain_words` gives words only where bash would run exactly the same words; whatever is in doubt is left to
bash.
"""

import shlex
import string

from tui_agent.plugin_api import ToolError

_PLAIN = frozenset(string.ascii_letters + string.digits + "_@%+=:,./-")
_BLANK = " \t"
_IN_DOUBLE = frozenset('$`\\!"')
_BUILTINS = frozenset(
    [
        ".",
        ":",
        "[",
        "[[",
        "alias",
        "bg",
        "bind",
        "break",
        "builtin",
        "caller",
        "case",
        "cd",
        "command",
        "compgen",
        "complete",
        "compopt",
        "continue",
        "coproc",
        "declare",
        "dirs",
        "disown",
        "do",
        "done",
        "elif",
        "else",
        "enable",
        "esac",
        "eval",
        "exec",
        "exit",
        "export",
        "fc",
        "fg",
        "fi",
        "for",
        "function",
        "getopts",
        "hash",
        "help",
        "history",
        "if",
        "in",
        "jobs",
        "let",
        "local",
        "logout",
        "mapfile",
        "popd",
        "pushd",
        "read",
        "readarray",
        "readonly",
        "return",
        "select",
        "set",
        "shift",
        "shopt",
        "source",
        "suspend",
        "test",
        "then",
        "time",
        "times",
        "trap",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "until",
        "wait",
        "while",
        "{",
        "}",
        "!",
    ]
)
"""First words that mean something to bash itself and are no program, or not the same one."""


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command that needs no shell; None where bash has to read it."""
    if not _is_plain(command):
        return None
    words = tuple(shlex.split(command, comments=False, posix=True))
    if not words or words[0] in _BUILTINS or not words[0]:
        return None
    name, equals, _ = words[0].partition("=")
    if equals and name.removesuffix("+").replace("_", "a").isalnum():
        return None  # an assignment in front of the command
    return words


def _is_plain(command: str) -> bool:
    quote = ""
    for char in command:
        if quote:
            if char == quote:
                quote = ""
            elif (quote == '"' and char in _IN_DOUBLE) or char in "\0\r":
                return False
        elif char in "'\"":
            quote = char
        elif not (char in _PLAIN or char in _BLANK or (char > "\x7f" and char.isalnum())):
            return False
    return not quote


def all_words(command: str) -> tuple[str, ...]:
    """The words of a command as an argument vector: quotes group, everything else is text."""
    try:
        words = tuple(shlex.split(command, comments=False, posix=True))
    except ValueError as error:
        raise ToolError(
            f"The command's quotes do not match ({error}).", hint="Set shell=true for shell syntax."
        ) from error
    if not words or not words[0]:
        raise ToolError("The command is empty.")
    return words
