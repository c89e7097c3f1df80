"""Splits command lines into words, and detects commands that need a shell.

Invariant: if `plain_words` returns words, bash would run exactly these words.
"""

import shlex
import string

from tui_agent.plugin_api import ToolError

_PLAIN = frozenset(string.ascii_letters + string.digits + "_@%+=:,./-")
_BLANK = " \t"
_IN_DOUBLE = frozenset('$`\\!"')
_BUILTINS = frozenset(
    """. : [ [[ alias bg bind break builtin caller case cd command compgen complete compopt continue coproc
    declare dirs disown do done elif else enable esac eval exec exit export fc fg fi for function
    getopts hash help history if in jobs let local logout mapfile popd pushd read readarray readonly
    return select set shift shopt source suspend test then time times trap type typeset ulimit umask
    unalias unset until wait while { } !""".split()  # noqa: SIM905 - read as prose
)
"""Shell keywords and builtins: a command that starts with one of them needs bash."""


def plain_words(command: str) -> tuple[str, ...] | None:
    """Return the words of a command, or None if the command needs a shell."""
    if find_shell_syntax(command):
        return None
    words = tuple(shlex.split(command, comments=False, posix=True))
    if not words or words[0] in _BUILTINS or not words[0]:
        return None
    name, equals, _ = words[0].partition("=")
    if equals and name.removesuffix("+").replace("_", "a").isalnum():
        return None  # an assignment precedes the command
    return words


def path_word(path: str) -> str:
    """Return a path as a word of a command. A name such as `-x.py` would be an option without `./`."""
    return f"./{path}" if path.startswith("-") else path


def find_shell_syntax(command: str) -> str:
    """Return the first character that has a meaning for the shell only, such as `*`; empty if there is none."""
    quote = ""
    for char in command:
        if quote:
            if char == quote:
                quote = ""
            elif (quote == '"' and char in _IN_DOUBLE) or char in "\0\r":
                return char
        elif char in "'\"":
            quote = char
        elif not (char in _PLAIN or char in _BLANK or (char > "\x7f" and char.isalnum())):
            return char
    return quote


def split_words(command: str) -> tuple[str, ...]:
    """Split a command into arguments: quotes group words, all other characters are literal.

    Raise `ToolError` if the quotes do not match or the command is empty.
    """
    try:
        words = tuple(shlex.split(command, comments=False, posix=True))
    except ValueError as error:
        raise ToolError(
            f"The command's quotes do not match ({error}).", hint="Set shell=true for shell syntax."
        ) from error
    if not words or not words[0]:
        raise ToolError("The command is empty.")
    return words
