"""Path patterns as predicates: `*`, `?`, `[abc]`, `[!abc]`, `**`, and optionally `{a,b}`.

Invariant: the time to match is at most proportional to the length of the pattern times the length of the path.
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from re import Pattern
from typing import TypeAlias

MAX_PATTERN_CHARS = 500
MAX_ALTERNATIVES = 64
NamePattern: TypeAlias = Pattern[str] | None
"""The pattern for one name in a path. None stands for `**`, which matches any number of names."""

_FIXED_FOLDERS = re.compile(r"(?:[^*?\[{/]*+/)*+")
"""Matches the names of folders at the start of a path pattern, up to the first wildcard."""
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


def compile_path_pattern(pattern: str) -> Callable[[str], bool]:
    """Return a predicate for paths with `/`. Raise `ValueError`, with a message for the user, for an invalid pattern.

    A pattern without a slash matches a name in any folder.
    """
    by_name = "/" not in pattern.strip()
    plain = pattern.strip().removeprefix("./").lstrip("/")
    if not plain:
        raise ValueError("The pattern is empty.")
    if len(plain) > MAX_PATTERN_CHARS:
        raise ValueError(f"The pattern is longer than {MAX_PATTERN_CHARS} characters.")
    if plain.endswith("/"):
        plain += "**"
    choices = [compile_parts(choice) for choice in _expand_braces(plain)]

    def matches(path: str) -> bool:
        names = path.split("/")
        return any(matches_parts(names[-1:] if by_name else names, parts) for parts in choices)

    return matches


def relative_path_pattern(pattern: str, folder: str) -> str | None:
    """Remove `./` or the folder `folder` from the start of a path pattern. Return None if the pattern contains `..`."""
    plain = pattern.strip()
    if ".." in plain.split("/"):
        return None
    start = next((start for start in (".", folder.rstrip("/")) if plain.startswith(f"{start}/")), "")
    return plain[len(start) :]


def other_folder_hint(pattern: str, path: str, argument: str) -> str:
    """Return a hint on how to search the folder in a pattern such as `../lib/*.py`. The hint is for the model.

    - `path`: the folder that the pattern is relative to.
    - `argument`: name of the tool's argument for the pattern.
    """
    plain = pattern.strip()
    names = f"{plain}/*" if plain.endswith("..") else plain
    fixed = _FIXED_FOLDERS.match(names)
    start = fixed.end() if fixed else 0
    folder = posixpath.normpath(posixpath.join(path, names[:start]))
    return f"To search another folder, set path to {folder} and {argument} to {names[start:] or '*'}."


def compile_parts(pattern: str, *, escapes: bool = False) -> tuple[NamePattern, ...]:
    """Split a path pattern at `/`, and return the pattern of each name.

    `escapes`: True if a backslash makes the next character literal.
    """
    parts: list[NamePattern] = []
    for name in pattern.split("/"):
        if len(name) > 1 and not name.strip("*"):
            if not parts or parts[-1] is not None:
                parts.append(None)
        elif name:
            parts.append(_compile_name(name, escapes))
    return tuple(parts)


def matches_parts(names: Sequence[str], parts: Sequence[NamePattern]) -> bool:
    """Return True if the names of a path match the patterns `parts`."""
    reachable = _skip_stars({0}, parts)
    for name in names:
        next_positions: set[int] = set()
        for index in reachable:
            if index == len(parts):
                continue
            part = parts[index]
            if part is None:
                next_positions.add(index)
            elif part.fullmatch(name):
                next_positions.add(index + 1)
        reachable = _skip_stars(next_positions, parts)
        if not reachable:
            return False
    return len(parts) in reachable


def _skip_stars(reachable: set[int], parts: Sequence[NamePattern]) -> set[int]:
    """Return the positions `reachable`, plus each position that can be reached from them by skipping `**`.

    `**` can be skipped because it can match zero names.
    """
    positions = set(reachable)
    for index in reachable:
        position = index
        while position < len(parts) and parts[position] is None:
            position += 1
            positions.add(position)
    return positions


def _expand_braces(pattern: str) -> list[str]:
    # The innermost braces first. Braces without a comma are ordinary characters.
    expanded: list[str] = []
    waiting = [pattern]
    while waiting:
        candidate = waiting.pop()
        braces = next(
            (match for match in re.finditer(r"\{([^{}]*)\}", candidate) if "," in match.group(1)), None
        )
        if braces is None:
            expanded.append(candidate)
        else:
            choices = braces.group(1).split(",")
            waiting += [
                candidate[: braces.start()] + choice + candidate[braces.end() :] for choice in choices
            ]
        if len(expanded) + len(waiting) > MAX_ALTERNATIVES:
            raise ValueError("The pattern has too many alternatives.")
    return expanded


@lru_cache(maxsize=4096)
def _compile_name(name: str, escapes: bool) -> Pattern[str]:
    # The regular expressions between the stars. Several stars in a row are one star. `(?!)` matches nothing.
    pieces = [""]
    position = 0
    while position < len(name):
        char = name[position]
        position += 1
        if char == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "\\" and escapes:
            pieces[-1] += re.escape(name[position : position + 1]) if position < len(name) else "(?!)"
            position += 1
        elif char == "[" and (end := _find_set_end(name, position, escapes)) > 0:
            pieces[-1] += _set_expression(name[position:end], escapes)
            position = end + 1
        elif char == "[" and escapes:
            return re.compile("(?!)")  # As in git, a set that is not closed matches nothing.
        else:
            pieces[-1] += re.escape(char)
    first, *more = pieces
    if not more:
        return re.compile(first, re.DOTALL)
    *middle, last = more
    # Atomic groups keep the first match of each piece, so matching cannot backtrack.
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in middle) + ".*" + last, re.DOTALL)


def _find_set_end(name: str, position: int, escapes: bool) -> int:
    """Return the index of the `]` that closes a set such as `[abc]`, or -1.

    `position`: the index after the `[`.
    """
    position += (
        name[position : position + 1] in ("!", "^") if escapes else name[position : position + 1] == "!"
    )
    first = position
    while position < len(name):
        if name[position] == "]" and position > first:
            return position
        if escapes and name[position] == "\\":
            position += 1
        elif escapes and name.startswith("[:", position) and (end := name.find(":]", position + 2)) > 0:
            position = end + 1
        position += 1
    return -1


def _set_expression(content: str, escapes: bool) -> str:
    negated = content[:1] in (("!", "^") if escapes else ("!",))
    body = content[negated:]
    expression = ""
    position = 0
    while position < len(body):
        char = body[position]
        class_match = re.match(r"\[:(\w+):\]", body[position:]) if escapes and char == "[" else None
        if class_match:
            expression += _CLASSES.get(class_match[1], "")
            position += class_match.end()
            continue
        if escapes and char == "\\" and position + 1 < len(body):
            position += 1
            expression += "\\" + body[position] if not body[position].isalnum() else body[position]
        else:
            expression += char if char == "-" or char.isalnum() else re.escape(char)
        position += 1
    try:
        return re.compile(f"[{'^' if negated else ''}{expression}]").pattern
    except re.error:  # The set has a reversed range or is empty, so it matches no character.
        return "." if negated else "(?!)"
