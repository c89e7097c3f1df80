"""Texts that cost a regular expression the most: a part of it, repeated, behind each of its beginnings.

A backtracking pattern is super-linear where two of its parts can read the same characters, or where it can begin in many
places and each attempt reads far. Both show up when what a repetition reads is repeated and then does not fit.
"""

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
_ENDS = ("", "\x01", "\n\x01")
TRIAL_CHARS, TRIAL_LIMIT_S = 1_000, 0.05


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


def worst_attack(pattern: "re.Pattern[Any]", method: str) -> Attack:
    """Return the attack that takes longest on a short text. Only chooses: nothing is asserted on the time."""
    slowest, taken = Attack("", "a", ""), -1.0
    for attack in attacks(pattern):
        begin = time.process_time()
        try:
            with _limit():
                apply(pattern, method, attack.text(TRIAL_CHARS))
        except TimeoutError:
            return attack
        if time.process_time() - begin > taken:
            slowest, taken = attack, time.process_time() - begin
    return slowest


@contextmanager
def _limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, TRIAL_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
