"""L3: what git's words name: patterns that git itself expands, and files as its index or a commit holds them.

Invariant: pure; a file that git would show or change is never missed for the way in which it is named. What git reads from
the top of its repository counts from the top of the workspace as well as from the folder that it runs in.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import product

from tui_agent.policy.programs.part import Part
from tui_agent.policy.shell.script import Word

_MOST_CROSSED = 2
"""Stars of a pattern that are told apart by whether they stand for a slash."""
_STAGE = re.compile(r":[0-3]:")
_SHORT_MAGIC = re.compile(r":[/!^]+:?")
_FIRST_SIGN = re.compile(r"[*?\[\\]")
_ESCAPED = re.compile(r"\\(.)")
_OF_COMMIT = re.compile(r"[\^@]\{")
"""What a revision has in it, and hardly a path: `HEAD^{/fix*}`."""
_BELOW = "--relative"
_LISTED = "--pathspec-from-file"


def add_named(part: Part, operands: Sequence[Word], words: Sequence[Word], *, lists: bool = False) -> None:
    """Note as read what operands name that are revisions or paths, and what options among all words do. `lists`: it only
    shows names, so that a pattern is no more than what a shell's would be."""
    if any((word.value or "").partition("=")[0] == _LISTED for word in words):
        part.vague = True
    for word in (*operands, *_of_options(words)):
        if word.values is None:
            part.add(part.reads, [word])
        for value in word.values or ():
            for path, shaped, from_top in _meant(value, lists=lists):
                found = Word(word.text, (path,), glob=word.glob or shaped)
                part.add(part.reads, [found])
                if from_top and part.places != ("",):
                    places, part.places = part.places, ("",)
                    part.add(part.reads, [found])
                    part.places = places


def left_out_of(value: str) -> str | None:
    """The path in a word that says which files are not meant; None for any other word."""
    short = _SHORT_MAGIC.match(value)
    if value.startswith(":("):
        magic, _, path = value[2:].partition(")")
        return path if "exclude" in magic.split(",") else None
    return value[short.end() :] if short is not None and set("!^") & set(short[0]) else None


def _of_options(words: Sequence[Word]) -> Iterator[Word]:
    """The files of `-L 1,5:FILE`, and the folder of `--relative=FOLDER`."""
    for at, word in enumerate(words):
        value = word.value or ""
        if value == "--":
            return
        option, equals, given = value.partition("=")
        if option == _BELOW and equals:
            yield Word(word.text, (given,))
        elif value.startswith("-L"):
            lines = value[2:] or (words[at + 1].value if at + 1 < len(words) else "") or ""
            if ":" in lines:
                yield Word(word.text, (lines.rpartition(":")[2],))


def _meant(value: str, *, lists: bool) -> Iterator[tuple[str, bool, bool]]:
    """Paths that one word may name, whether each is a pattern, and whether git reads it from its repository's top."""
    shapes_of = _plain if lists else _shapes
    short = _SHORT_MAGIC.match(value)
    if value.startswith(":("):
        magic, _, path = value[2:].partition(")")
        signs = set(magic.split(","))
        shapes = [] if not path or "exclude" in signs else [path] if "literal" in signs else shapes_of(path)
        top = "top" in signs
    elif short is not None:
        path = value[short.end() :]
        shapes = [] if not path or set("!^") & set(short[0]) else shapes_of(path)
        top = True
    elif value[:1] == ":":
        stage = _STAGE.match(value)
        shapes = [value[stage.end() if stage else 1 :]]
        top = True
    elif ":" in value:
        shapes = list(dict.fromkeys((value.partition(":")[2], value.rpartition(":")[2])))
        top = True
    else:
        shapes, top = _plain(value) if _OF_COMMIT.search(value) else shapes_of(value), False
    for shape in shapes:
        yield shape, bool(_FIRST_SIGN.search(shape)) and not _OF_COMMIT.search(shape), top


def _plain(path: str) -> list[str]:
    return [path]


def _shapes(path: str) -> list[str]:
    """A pattern as a shell would have to write it: in one of git's every sign may also stand for a slash, and what is found
    is meant with all below."""
    first = _FIRST_SIGN.search(path)
    if first is None:
        return [path]
    plain = _ESCAPED.sub(r"\1", path)
    stars = plain.count("*")
    found = [plain, f"{plain.rstrip('/')}/**"]
    if stars > _MOST_CROSSED or not set("?[").isdisjoint(path):
        begin = path[: first.start()]
        found += [f"{begin}*", f"{begin}*/**/*"]
    else:
        pieces = plain.split("*")
        for signs in product(("*", "*/**/*"), repeat=stars):
            found.append("".join(map("".join, zip(pieces, (*signs, ""), strict=True))))
    return list(dict.fromkeys(found))
