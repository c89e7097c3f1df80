"""Path patterns as predicates: `*`, `?`, `[abc]`, `[!abc]`, `{a,b}`, `**`.

Invariant: matching is linear in the length of the path for what a pattern can hold: no nested repetition is built.
"""

import re
from collections.abc import Callable

from tui_agent.plugin_api import ToolError

MAX_PATTERN = 500
MAX_ALTERNATIVES = 64


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """A predicate of paths with `/`. A pattern without a slash is one of names in any folder."""
    plain = pattern.strip().removeprefix("./").lstrip("/")
    if not plain or len(plain) > MAX_PATTERN:
        raise ToolError("The pattern is empty." if not plain else "The pattern is too long.")
    if plain.endswith("/"):
        plain += "**"
    choices = [_parts(choice) for choice in _alternatives(plain)]
    by_name = "/" not in plain

    def matches(path: str) -> bool:
        names = path.split("/")
        return any(_fits(names[-1:] if by_name else names, parts) for parts in choices)

    return matches


def _alternatives(pattern: str) -> list[str]:
    """The pattern with every `{a,b}` written out."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None or "," not in found.group(1):
        return [pattern]
    out: list[str] = []
    for choice in found.group(1).split(","):
        out += _alternatives(pattern[: found.start()] + choice + pattern[found.end() :])
        if len(out) > MAX_ALTERNATIVES:
            raise ToolError("The pattern has too many alternatives.", hint="Search for fewer at once.")
    return out


def _parts(pattern: str) -> list[re.Pattern[str] | None]:
    """One expression for each name; None stands for `**`."""
    parts: list[re.Pattern[str] | None] = []
    for name in pattern.split("/"):
        if name == "**":
            if not parts or parts[-1] is not None:
                parts.append(None)
        elif name:
            parts.append(re.compile(_expression(name), re.DOTALL))
    return parts


def _expression(name: str) -> str:
    """The name's expression. What follows a star is taken where it first fits, never tried further on."""
    pieces = [""]
    at = 0
    while at < len(name):
        char = name[at]
        at += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[" and (end := name.find("]", at + 1 + (name[at : at + 1] == "!"))) > 0:
            pieces[-1] += _set(name[at:end])
            at = end + 1
        else:
            pieces[-1] += re.escape(char)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    return first + "".join(f"(?>.*?{piece})" for piece in middle if piece) + ".*" + last


def _set(inside: str) -> str:
    negated = inside.startswith("!")
    plain = inside[negated:].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
    return f"[{'^' if negated else ''}{plain}]"


def _fits(names: list[str], parts: list[re.Pattern[str] | None]) -> bool:
    """Whether the names fit the parts; the set of reachable parts is carried along, so nothing is tried twice."""
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


def _past_stars(reach: set[int], parts: list[re.Pattern[str] | None]) -> set[int]:
    """With every `**` that may stand for no folder passed over."""
    more = set(reach)
    for index in sorted(reach):
        at = index
        while at < len(parts) and parts[at] is None:
            at += 1
            more.add(at)
    return more
