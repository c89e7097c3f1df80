"""Show trees of the bash subset in one line: words with `·` between them, quoted text in quotes, patterns in `<>`."""

from itertools import groupby
from typing import assert_never

from tui_agent.policy.bash.syntax import (
    Command,
    Conditional,
    ForLoop,
    Group,
    Pattern,
    Piece,
    ProcessOutput,
    Redirect,
    Script,
    SimpleCommand,
    Substitution,
    Text,
    Variable,
    WhileLoop,
    Word,
)


def show(script: Script) -> str:
    """Each pipeline with the connector behind it."""
    return " ".join(f"{_pipeline(item.pipeline.commands)}{item.connector}" for item in script.items)


def _pipeline(commands: tuple[Command, ...]) -> str:
    return " | ".join(_command(command) + "".join(map(_redirect, command.redirects)) for command in commands)


def _command(command: Command) -> str:
    match command:
        case SimpleCommand():
            assigned = [f"{assignment.name}:={_word(assignment.value)}" for assignment in command.assignments]
            return "·".join([*assigned, *map(_word, command.words)])
        case ForLoop():
            return f"FOR {command.variable} OF {'·'.join(map(_word, command.items))} [{show(command.body)}]"
        case WhileLoop():
            return f"WHILE [{show(command.condition)}] [{show(command.body)}]"
        case Conditional():
            branches = " ".join(
                f"IF [{show(condition)}] [{show(body)}]" for condition, body in command.branches
            )
            return branches + (f" ELSE [{show(command.otherwise)}]" if command.otherwise else "")
        case Group():
            return f"{'SUBSHELL' if command.subshell else 'GROUP'} [{show(command.script)}]"
    assert_never(command)


def _redirect(redirect: Redirect) -> str:
    word = redirect.target or redirect.body
    assert word is not None
    return f" ({'' if redirect.descriptor is None else redirect.descriptor}{redirect.operator} {_word(word)})"


def _word(word: Word) -> str:
    groups = groupby(word.pieces, lambda piece: isinstance(piece, Text) and (piece.quoted, ""))
    return "".join(
        repr("".join(piece.text for piece in pieces if isinstance(piece, Text)))
        if kind == (True, "")
        else "".join(map(_piece, pieces))
        for kind, pieces in groups
    )


def _piece(piece: Piece) -> str:
    match piece:
        case Text():
            return repr(piece.text) if piece.quoted else piece.text
        case Pattern():
            return f"<{piece.text}>"
        case Variable():
            name = f"{{{piece.name}{piece.operator}{piece.operand}}}" if piece.operator else piece.name
            return f'"${name}"' if piece.quoted else f"${name}"
        case Substitution():
            text = f"$({show(piece.script)})"
            return f'"{text}"' if piece.quoted else text
        case ProcessOutput():
            return f"<({show(piece.script)})"
    assert_never(piece)
