"""L3: shell patterns and paths of rules that can mean one and the same name.

Invariant: pure. A name that both match is never missed: letter case, the way in which an accent is written, and the letters
of a negated or named class do not count, and a pattern that is too long to be compared may mean anything.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

_Chars: TypeAlias = tuple[tuple[int, int], ...]
"""Letters, as ranges of code points."""
_ANY: _Chars = ((0, 0x10FFFF),)
_Token: TypeAlias = _Chars | None
"""One of these letters; None: any number of any letters."""
_SIGNS = frozenset("*?[")
_SIGN = re.compile(r"[*?\[]")
_MAX_PAIRS = 20_000
"""Limit of the pairs of places at which two names are compared."""
_ANY_DEPTH = "**"


@lru_cache(maxsize=4096)
def fold_case(text: str) -> str:
    """Return a name as file systems compare it that ignore letter case."""
    return unicodedata.normalize("NFC", text.casefold())


@lru_cache(maxsize=4096)
def split_pattern(path: str, *, literal: bool = False) -> tuple[str, ...]:
    """Split a path's pattern into names; with `literal`, a path in which no sign is a pattern."""
    names = (name for name in unicodedata.normalize("NFC", path).split("/") if name not in ("", "."))
    return tuple(_SIGN.sub(r"[\g<0>]", name) if literal else name for name in names)


@lru_cache(maxsize=4096)
def paths_overlap(
    pattern: Sequence[str], rule: Sequence[str], *, below: bool = False, dotted: bool = False
) -> bool:
    """Return True if some path matches both, given as `split_pattern` does; with `below`, a path below one that matches
    the shell's pattern.

    `dotted`: the shell's `*` matches names that begin with a dot. A pattern that ends in `*` alone means the files in a
    rule's folder, not the folder.
    """
    found, meant = (*pattern, _ANY_DEPTH) if below else pattern, rule
    if meant[-1:] == (_ANY_DEPTH,) and found and found[-1] != _ANY_DEPTH and not found[-1].strip("*?"):
        meant = (*meant, "*")
    if _ANY_DEPTH not in found and meant.count(_ANY_DEPTH) < 2:
        return _levels_overlap(found, meant, dotted=dotted)
    seen = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        at, to = waiting.pop()
        if at == len(found) and to == len(meant):
            return True
        for pair in _next_places(found, meant, at, to, dotted):
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return False


def _levels_overlap(found: Sequence[str], meant: Sequence[str], *, dotted: bool) -> bool:
    """Compare name by name from both ends, where at most the rule has one `**`."""
    if _ANY_DEPTH not in meant:
        front, back = len(found), 0
        if len(found) != len(meant):
            return False
    else:
        front = meant.index(_ANY_DEPTH)
        back = len(meant) - front - 1
        if len(found) < front + back:
            return False
    pairs = [*zip(found[:front], meant, strict=False)]
    if back:
        pairs += zip(found[-back:], meant[-back:], strict=True)
    return all(names_overlap(name, meaning, dotted=dotted) for name, meaning in reversed(pairs))


def _next_places(
    found: Sequence[str], meant: Sequence[str], at: int, to: int, dotted: bool
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of places that can follow on one pair."""
    many, several = found[at : at + 1] == (_ANY_DEPTH,), meant[to : to + 1] == (_ANY_DEPTH,)
    if many:
        yield at + 1, to
    if several:
        yield at, to + 1
    if at == len(found) or to == len(meant):
        return
    if many or several or names_overlap(found[at], meant[to], dotted=dotted):
        yield at if many else at + 1, to if several else to + 1


@lru_cache(maxsize=8192)
def names_overlap(pattern: str, rule: str, *, dotted: bool = True) -> bool:
    """Return True if some name, without a slash, matches a shell pattern and a rule's."""
    plain, fixed = _SIGNS.isdisjoint(pattern), _SIGNS.isdisjoint(rule)
    if plain and fixed:
        return fold_case(pattern) == fold_case(rule)
    left, right = _tokenize(pattern, True), _tokenize(rule, False)
    if fixed and rule.isascii() and not _may_spell(left, rule):
        return False
    return _texts_overlap(left, right, hides=not dotted and pattern[0] in _SIGNS)


def _may_spell(tokens: Sequence[_Token], name: str) -> bool:
    """Return False quickly for most names: each letter that the pattern needs must be one of the name's."""
    letters = set(map(ord, name.lower()))
    single = [token for token in tokens if token is not None]
    return len(single) <= len(name) and all(
        token[0][0] in letters for token in single if token[0][0] == token[-1][1]
    )


def _texts_overlap(left: Sequence[_Token], right: Sequence[_Token], *, hides: bool) -> bool:
    """Return True if some text matches both. `hides`: `left` matches no text that begins with a dot."""
    if None in left and None in right:
        return _open_texts_overlap(left, right, hides=hides)
    begin = (0, 0, hides)
    seen, waiting = {begin}, [begin]
    while waiting:
        at, to, hidden = waiting.pop()
        if at == len(left) and to == len(right):
            return True
        following: list[tuple[int, int, bool]] = []
        if at < len(left) and left[at] is None:
            following.append((at + 1, to, hidden))
        if to < len(right) and right[to] is None:
            following.append((at, to + 1, hidden))
        if at < len(left) and to < len(right) and _share_letter(left[at], right[to], no_dot=hidden):
            following.append((at if left[at] is None else at + 1, to if right[to] is None else to + 1, False))
        for pair in following:
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
        if len(seen) > _MAX_PAIRS:
            return True
    return False


def _open_texts_overlap(left: Sequence[_Token], right: Sequence[_Token], *, hides: bool) -> bool:
    """Compare two patterns that both have a place for any text: only their beginnings and ends can tell them apart, for the
    middle of each fits into such a place of the other."""
    if hides and not _share_letter(left[0], right[0], no_dot=True):
        return False
    ends = ((left, right), (left[::-1], right[::-1]))
    return all(
        _share_letter(left_token, right_token, no_dot=False)
        for begins in ends
        for left_token, right_token in zip(*map(_fixed_start, begins), strict=False)
    )


def _fixed_start(tokens: Sequence[_Token]) -> Sequence[_Token]:
    """Return the tokens in front of the first place for any text."""
    return tokens[: tokens.index(None)]


def _share_letter(left: _Token, right: _Token, *, no_dot: bool) -> bool:
    """Return True if some letter is in both; with `no_dot`, other than a dot."""
    dot = ord(".")
    for low, high in _ANY if left is None else left:
        for first, last in _ANY if right is None else right:
            begin, end = max(low, first), min(high, last)
            if begin <= end and not (no_dot and begin == end == dot):
                return True
    return False


@lru_cache(maxsize=4096)
def _tokenize(name: str, shell: bool) -> tuple[_Token, ...]:
    """Split a pattern of one name into tokens. A letter beyond ASCII may be written in several ways, so it is any text."""
    out: list[_Token] = []
    at = 0
    while at < len(name):
        char = name[at]
        end = _end_of_class(name, at, shell) if char == "[" else -1
        if char == "*" or not char.isascii():
            if not out or out[-1] is not None:
                out.append(None)
        elif char == "?":
            out.append(_ANY)
        elif end > 0:
            out.append(_class_letters(name[at + 1 : end], shell))
            at = end
        else:
            out.append(((ord(char.lower()), ord(char.lower())),))
        at += 1
    return tuple(out)


def _end_of_class(name: str, start: int, shell: bool) -> int:
    """Return the place where the class that begins at `start` is closed, -1 where it is none."""
    at = start + 1
    if name[at : at + 1] in ("!", "^" if shell else "!"):
        at += 1
    if name[at : at + 1] == "]":
        at += 1
    while at < len(name) and name[at] != "]":
        inner = name[at : at + 2]
        closed = name.find(f"{inner[1]}]", at + 2) if shell and inner in ("[:", "[.", "[=") else -1
        at = closed + 2 if closed > 0 else at + 1
    return at if at < len(name) else -1


def _class_letters(text: str, shell: bool) -> _Chars:
    """Return the letters of `[…]` without letter case: all of them where it excludes or names some."""
    odd = shell and (text[0] == "^" or any(sign in text for sign in ("[:", "[.", "[=", "\\")))
    if text[0] == "!" or odd or not text.isascii():
        return _ANY
    letters: set[str] = set()
    at = 0
    while at < len(text):
        low = high = text[at]
        if at + 2 < len(text) and text[at + 1] == "-":
            high = text[at + 2]
            at += 2
        at += 1
        letters.update(map(chr, range(ord(low), ord(high) + 1)))
        if low > high:
            return _ANY
    return tuple((ord(char), ord(char)) for char in sorted({char.lower() for char in letters}))
