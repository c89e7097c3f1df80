"""The parts of a command's words that can be paths.

Invariant: words are split at every character that can come before a path.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.interpreter.git_words import left_out_path
from tui_agent.policy.interpreter.report import Certainty, CommandReport, Value

_MAX_WORDS: Final = 500
_MAX_PIECES: Final = 300
_MAX_PATH: Final = 300
_CUTS: Final = re.compile(r"[\s'\"`=:,@<>;()|\[\]{}$&]+")
_IN_CODE: Final = re.compile(r"(?:^|(?<=[\s'\"`=@:<>(]))[^\s'\"`()<>;,|\[\]{}$]+")
_ATTACHED: Final = re.compile(r"(-\w)([^=\w-].*|\w[^=]*)|([\w.-]+)=(.*)", re.DOTALL)
"""Matches a word with an attached value, such as `-ofile` (a single-letter option) or `name=value`."""
_CODE_SIGN: Final = re.compile(r"[\s(]")
_LETTERS: Final = re.compile(r"-\w+?(?=[./~])")
_EXCLUDING: Final = re.compile(r"--(?:exclude|ignore)(?:-dir)?")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text in a command that can be a path.

    `option`: the option or variable that has the text as its value, or an empty string.
    `pattern`: the text is a shell pattern.
    `is_piece`: the text is only a part of a word.
    `in_code`: the text is a part of code.
    """

    text: str
    option: str = ""
    pattern: bool = False
    is_piece: bool = False
    in_code: bool = False


def path_candidates(command: CommandReport) -> Iterator[Candidate]:
    """Yield the possible paths in a command's words, variables, code and here-documents."""
    before = ""
    subcommands = command.name.split()[1:]
    texts = [*command.code]
    is_git = command.name.partition(" ")[0] == "git"
    for value in command.words[1:_MAX_WORDS]:
        if value.text in subcommands:
            subcommands.remove(value.text)
        elif value.certainty is Certainty.UNKNOWN:
            texts.append(value.source)
        elif is_git and _is_left_out(value):
            continue
        elif value.text not in command.code:
            yield from _in_value(value, before)
        elif not _CODE_SIGN.search(value.text):
            yield Candidate(value.text, before, is_piece=True)
        before = value.text if value.text.startswith("-") and "=" not in value.text else ""
    for name, value in command.settings:
        yield from _in_value(value, name)
    for text in (*texts, *([command.source] if "<<" in command.source else ())):
        yield from (Candidate(name, is_piece=True, in_code=True) for name in _in_code(text))


def _in_value(value: Value, option: str) -> Iterator[Candidate]:
    words = [value.text, _LETTERS.sub("", value.text, count=1)]
    attached = _ATTACHED.fullmatch(value.text)
    if attached is not None:
        option = attached[1] or attached[3]
        words.append(attached[2] or attached[4])
    whole = [word for word in words if not _CODE_SIGN.search(word)]
    pieces = (piece for word in words for piece in (*_split_text(word), *_split_text(unquote(word))))
    for piece in dict.fromkeys((*whole, *pieces)) if not _EXCLUDING.fullmatch(option) else ():
        if piece and not piece.startswith("-") and len(piece) <= _MAX_PATH:
            yield Candidate(piece, option, value.certainty is Certainty.BOUNDED, piece not in whole)


def _is_left_out(value: Value) -> bool:
    """Return True for a path filter of git that only excludes files (`:!.env`)."""
    path = left_out_path(value)
    return path is not None and not _CUTS.search(path)


def _split_text(text: str) -> list[str]:
    return _CUTS.split(text)[:_MAX_PIECES]


def _in_code(text: str) -> Iterator[str]:
    """Yield the names in code that are quoted or look like a path."""
    for match in list(_IN_CODE.finditer(text))[:_MAX_PIECES]:
        name = match[0]
        quoted = match.start() > 0 and text[match.start() - 1] in "'\"`"
        if len(name) <= _MAX_PATH and (quoted or "/" in name or name.startswith(".")):
            yield name
