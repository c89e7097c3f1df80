"""Patterns of paths as predicates: `*`, `?`, `[abc]`, `[!abc]`, `**`, and `{a,b}` where it is asked for.

Invariant: no pattern, however it is made, takes longer than its length times that of the path: what follows a star is
taken where it first fits and never tried further on, and names are matched one after the other with the set of places
that are reached, so nothing is tried twice.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from re import Pattern
from typing import TypeAlias

MAX_PATTERN = 500
MAX_ALTERNATIVES = 64
Part: TypeAlias = Pattern[str] | None
"""What one name must fit; None stands for `**`: any number of names."""

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "xdigit": "0-9a-fA-F",
    "punct": r"!-/:-@\[-`{-~",
    "word": r"\w",
}


def path_pattern(pattern: str) -> Callable[[str], bool]:
    """A predicate of paths with `/`. A pattern without a slash is one of names in any folder. Raises `ValueError`."""
    plain = pattern.strip().removeprefix("./").lstrip("/")
    if not plain:
        raise ValueError("The pattern is empty.")
    if len(plain) > MAX_PATTERN:
        raise ValueError(f"The pattern is longer than {MAX_PATTERN} characters.")
    if plain.endswith("/"):
        plain += "**"
    choices = [parts_of(choice) for choice in _alternatives(plain)]
    by_name = "/" not in plain

    def matches(path: str) -> bool:
        names = path.split("/")
        return any(fits(names[-1:] if by_name else names, parts) for parts in choices)

    return matches


def parts_of(pattern: str, *, escapes: bool = False) -> tuple[Part, ...]:
    """One expression for each name of a pattern. With `escapes` a backslash takes the next character as it is."""
    parts: list[Part] = []
    for name in pattern.split("/"):
        if len(name) > 1 and not name.strip("*"):
            if not parts or parts[-1] is not None:
                parts.append(None)
        elif name:
            parts.append(_name(name, escapes))
    return tuple(parts)


def fits(names: Sequence[str], parts: Sequence[Part]) -> bool:
    """Whether the names fit the parts; the set of reachable parts is carried along."""
    reach = _past_stars({0}, parts)
    for name in names:
        after: set[int] = set()
        for index in reach:
            if index == len(parts):
                continue
            part = parts[index]
            if part is None:
                after.add(index)
            elif part.fullmatch(name):
                after.add(index + 1)
        reach = _past_stars(after, parts)
        if not reach:
            return False
    return len(parts) in reach


def _past_stars(reach: set[int], parts: Sequence[Part]) -> set[int]:
    """With every `**` that may stand for no folder passed over."""
    more = set(reach)
    for index in reach:
        at = index
        while at < len(parts) and parts[at] is None:
            at += 1
            more.add(at)
    return more


def _alternatives(pattern: str) -> list[str]:
    """The pattern with every `{a,b}` written out."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        at = waiting.pop()
        found = next((one for one in re.finditer(r"\{([^{}]*)\}", at) if "," in one.group(1)), None)
        if found is None:
            done.append(at)
        else:
            choices = found.group(1).split(",")
            waiting += [at[: found.start()] + choice + at[found.end() :] for choice in choices]
        if len(done) + len(waiting) > MAX_ALTERNATIVES:
            raise ValueError("The pattern has too many alternatives.")
    return done


@lru_cache(maxsize=4096)
def _name(name: str, escapes: bool) -> Pattern[str]:
    """The name's expression."""
    pieces = [""]
    at = 0
    while at < len(name):
        char = name[at]
        at += 1
        if char == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "\\" and escapes:
            pieces[-1] += re.escape(name[at : at + 1]) if at < len(name) else "(?!)"
            at += 1
        elif char == "[" and (end := _end_of_set(name, at, escapes)) > 0:
            pieces[-1] += _set(name[at:end], escapes)
            at = end + 1
        elif char == "[" and escapes:
            return re.compile("(?!)")  # git: a set without an end fits nothing
        else:
            pieces[-1] += re.escape(char)
    first, *more = pieces
    if not more:
        return re.compile(first, re.DOTALL)
    *middle, last = more
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in middle) + ".*" + last, re.DOTALL)


def _end_of_set(name: str, at: int, escapes: bool) -> int:
    """Where the `]` of a set stands that begins before `at`; -1 where it has none."""
    at += name[at : at + 1] in ("!", "^") if escapes else name[at : at + 1] == "!"
    first = at
    while at < len(name):
        if name[at] == "]" and at > first:
            return at
        if escapes and name[at] == "\\":
            at += 1
        elif escapes and name.startswith("[:", at) and (end := name.find(":]", at + 2)) > 0:
            at = end + 1
        at += 1
    return -1


def _set(inside: str, escapes: bool) -> str:
    negated = inside[:1] in (("!", "^") if escapes else ("!",))
    body = inside[negated:]
    plain = ""
    at = 0
    while at < len(body):
        char = body[at]
        named = re.match(r"\[:(\w+):\]", body[at:]) if escapes and char == "[" else None
        if named:
            plain += _CLASSES.get(named[1], "")
            at += named.end()
            continue
        if escapes and char == "\\" and at + 1 < len(body):
            at += 1
            plain += "\\" + body[at] if not body[at].isalnum() else body[at]
        else:
            plain += char if char == "-" or char.isalnum() else re.escape(char)
        at += 1
    try:
        return re.compile(f"[{'^' if negated else ''}{plain}]").pattern
    except re.error:  # a range that runs backwards, or nothing in it: no character fits
        return "." if negated else "(?!)"
