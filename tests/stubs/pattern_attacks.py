"""Texts that cost a regular expression the most: a part of it, repeated, behind each of its beginnings.

A backtracking pattern is super-linear where two of its parts can read the same characters, or where it can begin in many
places and each attempt reads far. Both show up when what a repetition reads is repeated and then does not fit.
"""

import math
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_CLASSES = {
    codes.CATEGORY_SPACE: (r"\s", " "),
    codes.CATEGORY_DIGIT: (r"\d", "0"),
    codes.CATEGORY_WORD: (r"\w", "a"),
    codes.CATEGORY_NOT_SPACE: (r"\S", "a"),
    codes.CATEGORY_NOT_DIGIT: (r"\D", "a"),
    codes.CATEGORY_NOT_WORD: (r"\W", "-"),
}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_MOST_BEGINNINGS, _MOST_PIECES, _MOST_PAIRED = 6, 12, 5
_ENDS = ("\x01", "\n\x01")
FIRST_CHARS, FAST_S = 2_000, 0.0007
"""A quadratic pattern takes longer for so many characters: 0.4 ns for each pair of them, at the least."""
GROWTH, MOST_SECONDS = 4, 2.0


class Attack(NamedTuple):
    """A text of any length: `before`, then `piece` again and again, then `after`."""

    before: str
    piece: str
    after: str

    def text(self, chars: int) -> str:
        return self.before + self.piece * (chars // len(self.piece)) + self.after


class _Parts:
    """Example texts of a pattern's beginnings and pieces."""

    def __init__(self, pattern: "re.Pattern[Any]") -> None:
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin1")
        self.beginnings, self.pieces = {""}, {" ", "\n", "a"}
        self._groups: dict[int, str] = {}
        self._read(
            parser.parse(source, pattern.flags & ~re.DEBUG if isinstance(pattern.pattern, str) else 0), ""
        )

    def _read(self, tokens: Any, before: str) -> str:
        """Return an example of these tokens, and note what they could begin with and repeat."""
        text = before
        for code, value in tokens:
            text += self._example(code, value, text)
        self.beginnings.add(text)
        self.pieces.add(text[len(before) :])
        return text

    def _example(self, code: Any, value: Any, before: str) -> str:
        if code is codes.LITERAL:
            return chr(value)
        if code is codes.NOT_LITERAL:
            return "a" if value != ord("a") else "b"
        if code is codes.ANY:
            return "a"
        if code is codes.IN:
            characters = _members(value)
            self.pieces.update(characters[:6])
            return characters[0]
        if code in _REPEATS:
            self.beginnings.add(before)
            body = self._read(value[2], before)[len(before) :]
            return body * min(max(value[0], 1), 30)
        if code is codes.SUBPATTERN:
            example = self._read(value[3], before)[len(before) :]
            self._groups[value[0]] = example
            return example
        if code is codes.ATOMIC_GROUP:
            return self._read(value, before)[len(before) :]
        if code is codes.BRANCH:
            first, *_ = [self._read(tokens, before)[len(before) :] for tokens in value[1][:12]]
            return first
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            ahead = self._read(value[1], "")
            return ahead if code is codes.ASSERT and value[0] < 0 else ""
        return self._groups.get(value, "") if code is codes.GROUPREF else ""


def _members(tokens: Any) -> list[str]:
    negated = tokens[0][0] is codes.NEGATE
    characters = [
        chr(value) if code is codes.LITERAL else chr(value[0]) if code is codes.RANGE else _CLASSES[value][1]
        for code, value in tokens[negated:]
    ]
    if not negated:
        return characters
    return [char for char in "a0 \n-/\"'`x" if not _is_member(char, tokens[1:])] or ["\x01"]


def _is_member(char: str, tokens: Any) -> bool:
    return any(
        ord(char) == value
        if code is codes.LITERAL
        else value[0] <= ord(char) <= value[1]
        if code is codes.RANGE
        else bool(re.match(_CLASSES[value][0], char))
        for code, value in tokens
    )


def _spread(texts: set[str], most: int) -> list[str]:
    ordered = sorted((text for text in texts), key=lambda text: (len(text), text))
    half = most // 2
    return (
        ordered
        if len(ordered) <= most
        else ordered[:half] + ordered[half :: (len(ordered) - half) // half + 1]
    )


def attacks(pattern: "re.Pattern[Any]") -> Iterator[Attack]:
    """Yield what a pattern may be slow on."""
    parts = _Parts(pattern)
    pieces = _spread(parts.pieces - {""}, _MOST_PIECES)
    for before in _spread(parts.beginnings, _MOST_BEGINNINGS):
        for piece in pieces:
            yield from (Attack(before, piece, end) for end in _ENDS)
            if before:
                yield Attack("", before + piece, "")
        if before:
            yield Attack("", before, "")
    for first, second in permutations(pieces[:_MOST_PAIRED], 2):
        yield Attack("", first + second, "\x01")


def apply(pattern: "re.Pattern[Any]", method: str, text: str) -> None:
    """Use a pattern as the program does, to its last match."""
    given: Any = text if isinstance(pattern.pattern, str) else text.encode("utf-8", "replace")
    if method in ("match", "fullmatch", "search"):
        getattr(pattern, method)(given)
    else:
        for _ in pattern.finditer(given):
            pass


def find_slow_attack(
    pattern: "re.Pattern[Any]", method: str, chars: int, *, bound: bool = False
) -> Attack | None:
    """Return an attack of at most `chars` characters that takes more than linear time, or None. Each attack is tried.

    An attack that a quadratic pattern may be slow on is tried at longer lengths until its time grows as its length does.
    Noise cannot make a fault unless it doubles the time at each length. With `bound` the pattern never meets more
    characters: then only `MOST_SECONDS` are a fault.
    """
    return next(
        (attack for attack in attacks(pattern) if _is_slow(pattern, method, attack, chars, bound)), None
    )


def _is_slow(pattern: "re.Pattern[Any]", method: str, attack: Attack, chars: int, bound: bool) -> bool:
    length = min(FIRST_CHARS, chars)
    seconds = _measure(pattern, method, attack.text(length))
    while FAST_S <= seconds < MOST_SECONDS:
        if length == chars:
            return not bound
        shorter, length = length, GROWTH * length if 2 * GROWTH * length <= chars else chars
        before = min(seconds, _measure(pattern, method, attack.text(shorter)))
        seconds = _measure(pattern, method, attack.text(length))
        if before < FAST_S or seconds < 2 * before * length / shorter:
            return False
    return seconds >= MOST_SECONDS


def _measure(pattern: "re.Pattern[Any]", method: str, text: str) -> float:
    """Return the processor time of using a pattern, without end if it takes too long."""
    begin = time.process_time()
    try:
        with _limit():
            apply(pattern, method, text)
    except TimeoutError:
        return math.inf
    return time.process_time() - begin


@contextmanager
def _limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
