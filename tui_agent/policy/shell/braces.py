"""L3: what bash makes of braces in a word: `a.{py,md}` is two words, `{1..3}` three.

Invariant: a word that holds an expansion, or that would become too many, has no answer.
"""

import re
from itertools import pairwise
from typing import TypeAlias

_GLOB = frozenset("*?[")
MOST = 64
_MOST_MADE = 100_000
_DIGITS = 17
_GROUP = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.-?\d+)?")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)

_Marked: TypeAlias = list[tuple[str, bool]]
"""Characters, and whether quotes protect each."""


def braced(text: str) -> list[tuple[str, bool]] | None:
    """The words, quotes taken away, each with whether it is a pattern; None where that is not certain."""
    marked = _unquoted(text)
    words = None if marked is None else _expanded(marked, 0)
    if words is None:
        return None
    return [
        ("".join(char for char, _ in word), any(char in _GLOB and not kept for char, kept in word))
        for word in words
    ]


def endless(text: str) -> bool:
    """Whether braces may make so many words that memory does not hold them."""
    bare = _QUOTED.sub("", text)
    count = 1
    for group in _GROUP.findall(bare):
        found = _RANGE.fullmatch(group)
        if found is not None and len(group) > _DIGITS:
            return True
        count *= abs(int(found[1]) - int(found[2])) + 1 if found is not None else group.count(",") + 1
    return count > _MOST_MADE


def _unquoted(text: str) -> _Marked | None:
    out: _Marked = []
    mark = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and mark != "'":
            following = text[at + 1 : at + 2]
            if mark and following not in ("$", "`", '"', "\\"):
                out.append((char, True))
                at += 1
                continue
            if following in ("", "\n"):
                return None
            out.append((following, True))
            at += 2
            continue
        if char == mark:
            mark = ""
        elif not mark and char in "'\"":
            mark = char
        elif char in "$`" and mark != "'":
            return None
        else:
            out.append((char, bool(mark)))
        at += 1
    return None if mark else out


def _expanded(word: _Marked, depth: int) -> list[_Marked] | None:
    if depth > 8:
        return None
    for start, (char, kept) in enumerate(word):
        if char != "{" or kept:
            continue
        end, commas = _inside(word, start)
        if end < 0:
            continue
        inner = word[start + 1 : end]
        choices = _choices(word, start, end, commas) if commas else _sequence(inner)
        if choices is None:
            continue
        out: list[_Marked] = []
        for choice in choices:
            heads = _expanded(choice, depth + 1)
            tails = _expanded(word[end + 1 :], depth + 1)
            if heads is None or tails is None or len(out) + len(heads) * len(tails) > MOST:
                return None
            out += [word[:start] + head + tail for head in heads for tail in tails]
        return out
    return [word]


def _inside(word: _Marked, start: int) -> tuple[int, list[int]]:
    """Where the brace at `start` is closed, -1 where it is not, and the commas that stand in it alone."""
    level = 0
    commas: list[int] = []
    for at in range(start, len(word)):
        char, kept = word[at]
        if kept:
            continue
        level += (char == "{") - (char == "}")
        if level == 0:
            return at, commas
        if char == "," and level == 1:
            commas.append(at)
    return -1, []


def _choices(word: _Marked, start: int, end: int, commas: list[int]) -> list[_Marked]:
    edges = [start, *commas, end]
    return [word[first + 1 : last] for first, last in pairwise(edges)]


def _sequence(inner: _Marked) -> list[_Marked] | None:
    text = "".join(char for char, kept in inner if not kept)
    parts = text.split("..")
    if len(text) != len(inner) or len(parts) not in (2, 3):
        return None
    if all(part.lstrip("-").isdecimal() and part.isascii() for part in parts):
        first, last = int(parts[0]), int(parts[1])
        stride = abs(int(parts[2])) if len(parts) == 3 else 1
        if abs(last - first) > MOST * max(stride, 1) or any(
            part.lstrip("-").startswith("0") and len(part) > 1 for part in parts
        ):
            return [[("{", True), *inner, ("}", True)]] * (MOST + 1)
        way = range(first, last + 1, stride or 1) if first <= last else range(first, last - 1, -(stride or 1))
        return [[(char, False) for char in str(number)] for number in way]
    if all(len(part) == 1 and part.isascii() and part.isalpha() for part in parts[:2]) and len(parts) == 2:
        first, last = ord(parts[0]), ord(parts[1])
        way = range(first, last + 1) if first <= last else range(first, last - 1, -1)
        return [[(chr(code), False)] for code in way]
    return None
