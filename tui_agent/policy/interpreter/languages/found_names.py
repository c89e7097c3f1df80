"""Patterns for the paths that find and fd can find, and the insertion of these patterns into commands.

Invariant: each pattern matches every path that can be found, including hidden names.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.interpreter.command_report import Certainty, Value
from tui_agent.policy.interpreter.patterns import OPTION_SIGNS, escape, prefix_of

Names: TypeAlias = tuple[str, ...] | None
"""Patterns for the names that find or fd may find. None: any name is possible."""

HERE = Value(".", Certainty.KNOWN, ".")


def union_names(alternatives: Iterable[Names]) -> Names:
    """Join the name patterns of several alternatives. Return None if any name is possible."""
    all_names: list[str] = []
    for names in alternatives:
        if names is None:
            return None
        all_names += names
    return tuple(dict.fromkeys(all_names)) or None


def names_of_pattern(pattern: str | None, *, either_case: bool = False) -> Names:
    """Return the names that a test such as `-name '*.py'` selects, or None for any name."""
    if not pattern or not pattern.isascii() or set(pattern) & set("[\\/{") or not pattern.strip("*?"):
        return None
    if pattern[0] in "*?" and pattern[1:2] in ("*", "?"):
        return None
    if either_case:
        pattern = "".join(f"[{char.lower()}{char.upper()}]" if char.isalpha() else char for char in pattern)
    return (pattern,)


def names_below(start: Value, names: Names) -> list[Value]:
    """Return patterns that match every path below `start` with one of these names, including hidden names."""
    base = (start.text if start.known is None else escape(start.text)).rstrip("/")
    ends = ["**"] if names is None else [f"**/{name}" for name in _with_dots(names)]
    may_be_option = _may_be_option(start)
    return [
        Value("{}", Certainty.BOUNDED, f"{base}/{end}", may_be_option=may_be_option, names_files=True)
        for end in ends
    ]


def bound_output(starts: Sequence[Value], names: Names, *, itself: bool) -> Value | None:
    """Return a value that matches every path below the starting points.

    Return None if the starting points have no common folder.

    `itself`: True if the value must also match the starting points.
    """
    folders = {
        posixpath.dirname(prefix_of(start)) if itself or start.known is None else start.text
        for start in starts
    }
    if len(folders) > 1 and any(folder.startswith(("/", "~")) or ".." in folder for folder in folders):
        return None
    folder = folders.pop() if len(folders) == 1 else posixpath.commonpath(folders)
    base = Value(folder, Certainty.KNOWN, folder or ".")
    values = names_below(base, names)
    value = values[0] if len(values) == 1 else names_below(base, None)[0]
    may_be_option = any(map(_may_be_option, starts))
    return replace(value, source=" ".join(start.source for start in starts), may_be_option=may_be_option)


def fill_word(word: Value, mark: str, name: Value) -> Value:
    """Replace each `mark` (such as `{}`) in a word by a name. A word that is not certain becomes unknown."""
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
    """Return the effects that result only from running the commands many times: many `sleep` calls may never end."""
    waits = any((command[0].known or "").rpartition("/")[2] == "sleep" for command in commands)
    return frozenset({Effect.NEVER_ENDS} if waits else ())


def may_end_command(word: Value) -> bool:
    """Return True if a word can be the `;` or `+` at the end of a command."""
    if word.known is not None or word.content in ("number", "hash"):
        return word.many
    return word.many or prefix_of(word)[:1] in ("", ";", "+", "{")


def _with_dots(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield name
        if name[0] in "*?":
            yield "." + (name if name[0] == "*" else name[1:])
        if name.startswith("*."):
            yield name[1:]


def _may_be_option(start: Value) -> bool:
    return start.may_be_option if start.known is None else start.text.startswith(OPTION_SIGNS)
