"""L3: the text that a command is given to read, where the line itself says it: what `echo` or `printf` prints into it, a
here-document, a here-string.

Invariant: pure; only a text that is certain to its last letter counts.
"""

from collections.abc import Sequence

from tui_agent.policy.shell.script import Command, Word

STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Operands by which a program reads what it is given."""
_MOST_PRINTED = 10_000


def given_text(command: Command) -> str | None:
    """What the command finds on its standard input; None where that is not certain."""
    reads = [redirect for redirect in command.redirects if redirect.reads]
    if reads:
        return reads[0].target.value if len(reads) == 1 and reads[0].text else None
    return printed(command.fed_by)


def substituted(words: Sequence[Word]) -> str | None:
    """What `bash <(echo ls)` reads: the text of the one word that is the output of commands."""
    made = [word for word in words if word.made_by and word.value in STDIN]
    return printed(made[0].made_by) if len(made) == 1 else None


def printed(commands: Sequence[Command]) -> str | None:
    """What a pipeline prints that is nothing but one `echo` or `printf`."""
    if len(commands) != 1 or commands[0].redirects or commands[0].assignments:
        return None
    words = [word.value for word in commands[0].words]
    known = [word for word in words if word is not None]
    if len(known) != len(words) or sum(map(len, known)) > _MOST_PRINTED:
        return None
    if known[:1] == ["echo"]:
        return _echoed(known[1:])
    return _formatted(known[1:]) if known[:1] == ["printf"] else None


def _echoed(words: Sequence[str]) -> str | None:
    start = next((at for at, word in enumerate(words) if not _flags(word)), len(words))
    text = " ".join(words[start:])
    return None if "\\" in text else text


def _flags(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and set(word[1:]) <= set("neE")


def _formatted(words: Sequence[str]) -> str | None:
    """`printf '%s\\n' a b`; any other directive than `%s` and `%%`, or escape than `\\n` and `\\t`, is not certain."""
    if not words or words[0].startswith("-"):
        return None
    form = words[0].replace("\\n", "\n").replace("\\t", "\t")
    pieces = form.replace("%%", "\0").split("%s")
    if "\\" in form or any("%" in piece for piece in pieces):
        return None
    given = list(words[1:])
    out: list[str] = []
    while True:
        for piece in pieces[:-1]:
            out += [piece, given.pop(0) if given else ""]
        out.append(pieces[-1])
        if not given or len(pieces) == 1:
            return "".join(out).replace("\0", "%")
