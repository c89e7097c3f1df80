"""The names that find and fd find, and the commands that find, fd and xargs run on names.

Invariant: a pattern given here fits every name that can be found, hidden ones too, where a shell's `*` would not.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.patterns import OPTION_SIGNS, escape, prefix_of
from tui_agent.policy.interpreter.report import Certainty, Value

Names: TypeAlias = tuple[str, ...] | None
"""Patterns of which every name that is found fits one, None where it may be any name."""

HERE = Value(".", Certainty.KNOWN, ".")


def union_names(alternatives: Iterable[Names]) -> Names:
    """Return patterns for the names that fit any of the alternatives."""
    found: list[str] = []
    for names in alternatives:
        if names is None:
            return None
        found += names
    return tuple(dict.fromkeys(found)) or None


def names_of_pattern(pattern: str | None, *, either_case: bool = False) -> Names:
    """Return what a name pattern of find narrows names to; None where that is nothing, or not simple."""
    if not pattern or not pattern.isascii() or set(pattern) & set("[\\/{") or not pattern.strip("*?"):
        return None
    if pattern[0] in "*?" and pattern[1:2] in ("*", "?"):
        return None
    if either_case:
        pattern = "".join(f"[{char.lower()}{char.upper()}]" if char.isalpha() else char for char in pattern)
    return (pattern,)


def names_below(start: Value, names: Names) -> list[Value]:
    """Return values that fit what is found below a starting point; names with a leading dot too, which a `*` in front
    does not fit."""
    base = (start.text if start.known is None else escape(start.text)).rstrip("/")
    ends = ["**"] if names is None else [f"**/{name}" for name in _with_dots(names)]
    may_be_option = _may_be_option(start)
    return [
        Value("{}", Certainty.BOUNDED, f"{base}/{end}", may_be_option=may_be_option, names_files=True)
        for end in ends
    ]


def bound_output(starts: Sequence[Value], names: Names, *, itself: bool) -> Value | None:
    """Return a value that fits every path below the starting points; with `itself`, the starting points as well."""
    folders = {
        posixpath.dirname(prefix_of(start)) if itself or start.known is None else start.text
        for start in starts
    }
    if len(folders) > 1 and any(folder.startswith(("/", "~")) or ".." in folder for folder in folders):
        return None
    folder = folders.pop() if len(folders) == 1 else posixpath.commonpath(folders)
    base = Value(folder, Certainty.KNOWN, folder or ".")
    found = names_below(base, names)
    value = found[0] if len(found) == 1 else names_below(base, None)[0]
    may_be_option = any(map(_may_be_option, starts))
    return replace(value, source=" ".join(start.source for start in starts), may_be_option=may_be_option)


def fill_word(word: Value, mark: str, name: Value) -> Value:
    """Put a name in place of each `mark` in a word. A word that is not certain may hold the mark itself."""
    if word.known == mark:
        return replace(name, source=word.source)
    if word.known is None:
        return replace(word, certainty=Certainty.UNKNOWN, text="", names_files=False, prefix=prefix_of(word))
    pieces = word.text.split(mark)
    if len(pieces) == 1:
        return word
    begin = pieces[0] or prefix_of(name)
    may_be_option = begin.startswith(OPTION_SIGNS) if pieces[0] else name.may_be_option
    text = name.text.join(pieces if name.known is not None else map(escape, pieces))
    filled = replace(
        name, source=word.source, text=text, may_be_option=may_be_option, shows=word.shows + name.shows
    )
    if name.certainty is Certainty.UNKNOWN:
        return replace(filled, text="", prefix=begin)
    return replace(filled, names_files=False, content="")


def effects_of_repeating(commands: Iterable[Sequence[Value]]) -> frozenset[Effect]:
    """Return what it means that commands run once for each name: nobody knows how many names there are."""
    waits = any((command[0].known or "").rpartition("/")[2] == "sleep" for command in commands)
    return frozenset({Effect.NEVER_ENDS} if waits else ())


def may_end_command(word: Value) -> bool:
    """Return True if a word of a command may be the `;` or `+` that ends it."""
    if word.known is not None or word.content in ("number", "hash"):
        return word.many
    return word.many or prefix_of(word)[:1] in ("", ";", "+", "{")


def _with_dots(names: Sequence[str]) -> Iterator[str]:
    """Each pattern, with what a wildcard in front of it fits besides: a leading dot."""
    for name in names:
        yield name
        if name[0] in "*?":
            yield "." + (name if name[0] == "*" else name[1:])
        if name.startswith("*."):
            yield name[1:]


def _may_be_option(start: Value) -> bool:
    return start.may_be_option if start.known is None else start.text.startswith(OPTION_SIGNS)
