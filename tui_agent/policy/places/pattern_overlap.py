"""The comparison of shell patterns with the paths of rules. Two patterns overlap if both can match the same name.

Invariant: no overlap is ever missed.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final, TypeAlias, TypeVar

_Chars: TypeAlias = tuple[tuple[int, int], ...]
"""The set of letters that a pattern matches at one position, as (first, last) code points of ranges."""
_ANY: _Chars = ((0, 0x10FFFF),)
_Token: TypeAlias = _Chars | None
"""One element of a pattern: the set of letters that match, or None for any text."""
_SIGNS = frozenset("*?[")
_SIGN = re.compile(r"[*?\[]")
_MAX_PAIRS = 20_000
"""Maximum product of the token counts of two names. Longer names are assumed to overlap, without a comparison."""
_ANY_DEPTH = "**"
_DOT: Final = ord(".")
_Left = TypeVar("_Left")
_Right = TypeVar("_Right")


@lru_cache(maxsize=4096)
def fold_case(text: str) -> str:
    """Return a name as case-insensitive file systems compare it."""
    return unicodedata.normalize("NFC", text.casefold())


@lru_cache(maxsize=4096)
def split_pattern(path: str, *, literal: bool = False) -> tuple[str, ...]:
    """Split the shell pattern of a path into names.

    `literal`: escape wildcard characters.
    """
    names = (name for name in unicodedata.normalize("NFC", path).split("/") if name not in ("", "."))
    return tuple(_SIGN.sub(r"[\g<0>]", name) if literal else name for name in names)


def sequences_overlap(
    left: Sequence[_Left | None], right: Sequence[_Right | None], fits: Callable[[_Left, _Right], bool]
) -> bool:
    """Return True if some sequence of items matches both patterns.

    In a pattern, None matches any number of items. Any other element matches one item.

    `fits`: function that returns True if two elements can match the same item.
    """
    # Most pairs differ at the beginning or at the end, which is quick to find out.
    for ends in (zip(left, right, strict=False), zip(reversed(left), reversed(right), strict=False)):
        for element, other in ends:
            if element is None or other is None:
                break
            if not fits(element, other):
                return False
    if None in left and None in right:  # the middle of each matches a None of the other
        return True
    # `after[i]`: the positions of `right` that can follow position `i` if each None there matches nothing.
    after = [{len(right)}]
    for place in reversed(range(len(right))):
        after.insert(0, {place} | after[0] if right[place] is None else {place})
    reached = after[0]
    for element in left:
        if element is None:
            reached = set(range(min(reached), len(right) + 1))
            continue
        following: set[int] = set()
        for place in reached - {len(right)}:
            other = right[place]
            if other is None or fits(element, other):
                following |= after[place if other is None else place + 1]
        reached = following
        if not reached:
            return False
    return len(right) in reached


@lru_cache(maxsize=4096)
def paths_overlap(
    pattern: Sequence[str], rule: Sequence[str], *, below: bool = False, dotted: bool = False
) -> bool:
    """Return True if some path matches both a shell pattern and a rule's path, each split by `split_pattern`.

    - `below`: the shell pattern also matches every path below a match.
    - `dotted`: the shell's `*` matches hidden names.
    """
    shell_names, meant = (*pattern, _ANY_DEPTH) if below else pattern, rule
    if (
        # `*` matches the folder `src`, but the rule `src/**` is about the files in it.
        meant[-1:] == (_ANY_DEPTH,)
        and shell_names
        and shell_names[-1] != _ANY_DEPTH
        and not shell_names[-1].strip("*?")
    ):
        meant = (*meant, "*")
    left, right = ([None if name == _ANY_DEPTH else name for name in names] for names in (shell_names, meant))
    return sequences_overlap(left, right, partial(names_overlap, dotted=dotted))


@lru_cache(maxsize=8192)
def names_overlap(pattern: str, rule: str, *, dotted: bool = True) -> bool:
    """Return True if some name matches both a shell pattern and a rule's pattern."""
    plain, fixed = _SIGNS.isdisjoint(pattern), _SIGNS.isdisjoint(rule)
    if plain and fixed:
        return fold_case(pattern) == fold_case(rule)
    left, right = _tokenize(pattern, True), _tokenize(rule, False)
    if fixed and rule.isascii() and not _may_spell(left, rule):
        return False
    # In bash, a pattern that begins with a wildcard does not match hidden names.
    if not dotted and pattern[0] in _SIGNS and right[:1] == (((_DOT, _DOT),),):
        return False
    return len(left) * len(right) > _MAX_PAIRS or sequences_overlap(left, right, _share_letter)


def _may_spell(tokens: Sequence[_Token], name: str) -> bool:
    """Return False if the pattern certainly does not match `name`. True does not mean that the pattern matches."""
    letters = set(map(ord, name.lower()))
    single = [token for token in tokens if token is not None]
    return len(single) <= len(name) and all(
        token[0][0] in letters for token in single if token[0][0] == token[-1][1]
    )


def _share_letter(left: _Chars, right: _Chars) -> bool:
    return any(max(low, first) <= min(high, last) for low, high in left for first, last in right)


@lru_cache(maxsize=4096)
def _tokenize(name: str, shell: bool) -> tuple[_Token, ...]:
    """Split the shell pattern of a name into tokens."""
    # A non-ASCII letter has several encodings, so its token matches any text.
    out: list[_Token] = []
    position = 0
    while position < len(name):
        char = name[position]
        end = _end_of_class(name, position, shell) if char == "[" else -1
        if char == "*" or not char.isascii():
            if not out or out[-1] is not None:
                out.append(None)
        elif char == "?":
            out.append(_ANY)
        elif end > 0:
            out.append(_class_letters(name[position + 1 : end], shell))
            position = end
        else:
            out.append(((ord(char.lower()), ord(char.lower())),))
        position += 1
    return tuple(out)


def _end_of_class(name: str, start: int, shell: bool) -> int:
    """Return the index of the `]` that closes the character class at `start`, or -1 if there is no class."""
    position = start + 1
    if name[position : position + 1] in ("!", "^" if shell else "!"):
        position += 1
    if name[position : position + 1] == "]":
        position += 1
    while position < len(name) and name[position] != "]":
        inner = name[position : position + 2]
        closed = name.find(f"{inner[1]}]", position + 2) if shell and inner in ("[:", "[.", "[=") else -1
        position = closed + 2 if closed > 0 else position + 1
    return position if position < len(name) else -1


def _class_letters(text: str, shell: bool) -> _Chars:
    """Return the letters that a class `[…]` matches, in upper and lower case.

    A negated or named class gives all letters.
    """
    odd = shell and (text[0] == "^" or any(sign in text for sign in ("[:", "[.", "[=", "\\")))
    if text[0] == "!" or odd or not text.isascii():
        return _ANY
    letters: set[str] = set()
    position = 0
    while position < len(text):
        low = high = text[position]
        if position + 2 < len(text) and text[position + 1] == "-":
            high = text[position + 2]
            position += 2
        position += 1
        letters.update(map(chr, range(ord(low), ord(high) + 1)))
        if low > high:
            return _ANY
    return tuple((ord(char), ord(char)) for char in sorted({char.lower() for char in letters}))
