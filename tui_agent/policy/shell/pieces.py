"""L3: the stretches that a word of a shell script is made of, and the word that they make together.

Invariant: pure; a word with a stretch that is not certain has no values.
"""

import re
from dataclasses import dataclass

from tui_agent.policy.shell.script import Command, Word

GLOB_SIGNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a word: its possible texts, and whether quotes protect them."""

    values: tuple[str, ...] | None
    quoted: bool
    glob: bool = False
    folder: bool = False
    """It stands for a folder, and says so only as the whole first part of a path."""
    made_by: tuple[Command, ...] = ()
    """The pipeline whose output it is."""
    maybe: str = "*"
    """What it is where that is not certain."""
    number: bool = False
    """It is a number, or several of them below each other."""
    many: bool = False
    """It may be no word, or several."""


def bare(text: str) -> Piece:
    """A stretch without quotes."""
    out: list[str] = []
    glob = False
    chars = iter(text)
    for char in chars:
        if char == "\\":
            following = next(chars, "")
            out.append("" if following == "\n" else following)
            continue
        glob = glob or char in GLOB_SIGNS
        out.append(char)
    return Piece(("".join(out),), False, glob)


def uncertain(text: str, pieces: list[Piece]) -> Word:
    """A word that is not certain: the output of one pipeline between texts that are, or nothing known at all."""
    made = [index for index, piece in enumerate(pieces) if piece.values is None]
    fixed = all(
        piece.values is None or (len(piece.values) == 1 and not piece.glob and not piece.folder)
        for piece in pieces
    )
    if len(made) != 1 or not fixed or not pieces[made[0]].made_by:
        return Word(text, None, maybe=_guess(pieces))
    before, behind = (
        "".join(piece.values[0] for piece in some if piece.values)
        for some in (pieces[: made[0]], pieces[made[0] + 1 :])
    )
    one = pieces[made[0]]
    return Word(
        text, None, made_by=one.made_by, split=not one.quoted, around=(before, behind), maybe=_guess(pieces)
    )


def counted(pieces: list[Piece]) -> str:
    """The word with a 1 for each number in it; empty where anything else is not certain."""
    certain = (
        len(piece.values or ()) == 1 and not piece.folder for piece in pieces if piece.values is not None
    )
    if not all(certain) or not all(piece.number for piece in pieces if piece.values is None):
        return ""
    return "".join(piece.values[0] if piece.values else "1" for piece in pieces)


def _guess(pieces: list[Piece]) -> tuple[str, ...]:
    """A pattern with a star for each piece that is not certain; none where no name would be left."""
    found = "".join(piece.values[0] if piece.values else piece.maybe for piece in pieces)
    return (found,) if found.strip("*/.") else ()


def folder_inside(pieces: list[Piece]) -> bool:
    """Whether `$HOME` or `$PWD` stands anywhere but in front of a path."""
    filled = [piece for piece in pieces if piece.values != ("",)]
    for index, piece in enumerate(filled):
        if not piece.folder:
            continue
        before = filled[index - 1].values if index else ("=",)
        behind = filled[index + 1].values if index + 1 < len(filled) else ("/",)
        if not all(value.endswith(("=", "file://")) for value in before or ("",)):
            return True
        if not all(value.startswith("/") for value in behind or ("",)):
            return True
    return False


def unquoted_braces(text: str, loose: str) -> bool:
    """Whether unquoted braces may expand into several words."""
    if "{" not in text:
        return False
    return "{" in loose and ("," in loose or ".." in loose)


def listed(text: str) -> bool:
    """Whether an expansion makes as many words as there are elements, in quotes too."""
    return "@" in text and not counts(text) and _LISTED.search(text) is not None


def counts(text: str) -> bool:
    """Whether an expansion is a length, or a number of elements."""
    return _COUNT.fullmatch(text) is not None


_COUNT = re.compile(r"\$\{#(?:\w+(?:\[[\w@*]*\])?|[@*])\}")
_LISTED = re.compile(r"\[@\]|\$@|\$\{[!#]?@|\$\{!\w+@\}")


def unescaped(text: str, escapable: str) -> str:
    """A text in which a backslash protects these signs only."""
    out: list[str] = []
    chars = iter(text)
    for char in chars:
        if char != "\\":
            out.append(char)
            continue
        following = next(chars, "")
        if following == "\n":
            continue
        out.append(following if following and following in escapable else "\\" + following)
    return "".join(out)
