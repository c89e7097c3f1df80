"""The comparison of shell patterns with existing file names, and with the paths of rules.

Invariant: a comparison takes time proportional to the pattern and the path, even with many `**`.
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from tui_agent.policy.interpreter.command_report import FileUse
from tui_agent.policy.rules.grammar import Rule

SIGNS: Final = frozenset("*?[")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MAX_CHOICES: Final = 20


def matches_path(pattern: str, path: str, *, below: bool = False) -> bool:
    """Return True if a shell pattern matches a path. With `below`, a match of a folder above the path is enough.

    `**` matches any number of folders. Only a dot in the pattern matches a leading dot.
    """
    names = path.rstrip("/").split("/")
    reached = {0}
    for shape in pattern.split("/") if pattern else ():
        if shape == "**":
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {
                index + 1 for index in reached if index < len(names) and _matches_name(shape, names[index])
            }
        if not reached:
            return False
    return below or len(names) in reached


def _matches_name(shape: str, name: str) -> bool:
    dotted = name.startswith(".") and not shape.startswith((".", "[."))
    return not dotted and fnmatchcase(name, shape)


def leaves_out(use: FileUse, rule: Rule, start: str) -> bool:
    """Return True if a command's options exclude the rule's files.

    `start`: the folder below which `use` reads everything.
    """
    parts = [name for name in rule.rest.split("/") if name not in ("", ".")]
    # Only the last name certainly lies below `start`.
    names = [name for name in (parts[-1:] if start else parts) if name != "**"]
    if "hidden" in use.skips and any(name.startswith(".") for name in names):
        return True
    plain = [name for name in names if SIGNS.isdisjoint(name)]
    last = parts[-1] if parts and parts[-1] in plain else ""
    if any(means_name(shape, plain, [name for name in plain if name != last]) for shape in use.excludes):
        return True
    return bool(last and use.only) and not any(may_choose(shape, last) for shape in use.only)


def means_name(shape: str, names: Sequence[str], folders: Sequence[str]) -> bool:
    """Return True if the exclusion pattern `shape` certainly matches one of the names.

    If the pattern ends with `/`, it is compared with `folders`.
    """
    plain = shape.removesuffix("/")
    meant = names if shape == plain else folders
    return "/" not in plain and any(fnmatchcase(name, plain) for name in meant)


def may_choose(shape: str, name: str) -> bool:
    """Return True if the inclusion pattern `shape` can match a name in any letter case."""
    return "/" in shape or "{" in shape or fnmatchcase(name.lower(), shape.lower())


def leads_through_pattern(path: str) -> bool:
    """Return True if a folder of the path is a pattern (`*/x`). The pattern can match a link to another folder."""
    return not SIGNS.isdisjoint(path.rpartition("/")[0])


def expand_braces(shape: str) -> Iterator[str]:
    """Yield the alternatives of a pattern with braces: `{a,b}.py` gives `a.py` and `b.py`."""
    braces = _BRACES.search(shape)
    if braces is None:
        yield shape
        return
    for choice in braces[1].split(",")[:_MAX_CHOICES]:
        yield f"{shape[: braces.start()]}{choice}{shape[braces.end() :]}"
