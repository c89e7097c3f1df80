"""L3: words that may become no word, or several: what that does to the words around them.

Invariant: a call whose words may shift is read-only only where nothing that a word can be does harm.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from tui_agent.policy.programs.feeding import Fed
from tui_agent.policy.programs.part import Part
from tui_agent.policy.programs.table import Program, Table
from tui_agent.policy.shell.script import ARBITRARY, READ_ONLY, Word
from tui_agent.policy.shell.sums import may_ask

_TOLD_FIRST = frozenset({"printf"})
"""Programs that take no options behind their first operand."""
_BY_NUMBER = frozenset({"test", "[", "wait"})
"""Programs that take for code what stands behind one of their words."""


def doubt_operand(
    part: Part, program: Program, name: str, word: Word, before: Sequence[Word], *, guarded: bool
) -> None:
    """A word that is not certain, and may be an option, or become several words of which one is, where options do harm.
    `before`: the operands in front of it; `guarded`: it is none."""
    if program.wraps is not None and len(before) < program.wraps and word.varies:
        _blind(part, name, word)
    if guarded or program.does != READ_ONLY or (word.counted and not word.many):
        return
    if name in _BY_NUMBER:
        loose = may_ask(word) or (word.values is None and len(before) == 1 and before[0].values is None)
    elif word.values is not None:
        loose = False
    elif name in _TOLD_FIRST:
        loose = not before and (word.many or opens(word))
    else:
        loose = (program.trap or " " in name) and (word.many or opens(word))
    if loose:
        part.turn(program.otherwise, f"{word.text} could be an option of {name}")


def doubt_argument(part: Part, program: Program, name: str, word: Word) -> None:
    """What an option is told: where it is several words, those behind the first are options or operands."""
    if program.wraps is not None and word.varies:
        _blind(part, name, word)
    if program.does != READ_ONLY:
        return
    if word.spreads and _may_name_option(program, word):
        part.turn(program.otherwise, f"{word.text} could be an option of {name}")
    elif word.many:
        _shifted(part, program, name, word)


def doubt_first(part: Part, program: Program, name: str, word: Word) -> None:
    """A first operand that is no file, while those behind it are: a pattern, a script."""
    if program.does == READ_ONLY and word.many:
        _shifted(part, program, name, word)


def opens(word: Word) -> bool:
    """Whether a word that is not certain may begin with a dash."""
    return not one_word(word) or word.text[1:2] in ("$", "`", "-")


def one_word(word: Word) -> bool:
    """Whether quotes keep it one word, whatever is in it."""
    quoted = len(word.text) > 1 and word.text[0] == word.text[-1] == '"' and word.text.count('"') == 2
    return quoted and not word.many


def too_many(operands: Sequence[Word], most: int) -> bool:
    """Whether there may be more operands than these."""
    return len(operands) > most or any(word.varies for word in operands)


def filled(
    words: Sequence[Word], placeholder: str, names: Fed, table: Table, *, many: bool = False
) -> list[Word]:
    """A command with names in the places of its placeholder; where that is only part of a word, it is not certain. `many`: all
    names stand there."""
    program = table.programs.get(words[0].value or "") if words else None
    out: list[Word] = []
    for word in words:
        if word.value == placeholder:
            out.append(replace(names.word(word.text, program, whole=True), many=many))
        elif placeholder in word.text:
            out.append(Word(word.text, None))
        else:
            out.append(word)
    return out


def with_paths(words: Sequence[Word]) -> list[Word]:
    """The command of `fd -x` with unknown paths for its placeholders; one that has none gets a path behind its words."""
    out = [replace(word, values=None) if _PATH_OF_FD.search(word.text) else word for word in words]
    return out if any(_PATH_OF_FD.search(word.text) for word in words) else [*out, Word("{}", None)]


_PATH_OF_FD = re.compile(r"\{(?:/|//|\.|/\.)?\}")


def _shifted(part: Part, program: Program, name: str, word: Word) -> None:
    if program.trap or " " in name or program.operands != "text" or program.first:
        part.turn(program.otherwise, f"{word.text} could be several words of {name}")
        part.vague = True


def _blind(part: Part, name: str, word: Word) -> None:
    part.turn(ARBITRARY, f"{word.text} could be several words, so it is not certain what {name} runs")
    part.unsure = part.opaque = part.blind = True


def _may_name_option(program: Program, word: Word) -> bool:
    """Whether a file of a name that fits a pattern would be read as an option that does harm."""
    shapes = [value for value in word.values or () if value[:1] in ("*", "?", "[", "-")]
    if program.style != "words":
        return program.trap and bool(shapes)
    harmful = (
        *program.turns,
        *program.executes,
        *(one for one, takes in program.options.items() if takes == "write"),
    )
    return any(fnmatchcase(one, shape) for one in harmful for shape in shapes)
