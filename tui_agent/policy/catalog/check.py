"""L3: checks a table of programs that somebody wrote: every fault with the line it stands in.

Invariant: a text of any size and content is answered within a second, with faults and never with an exception.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from tui_agent.errors import ConfigError
from tui_agent.policy.catalog.catalog import Catalog, Layer, keys_of, own_keys, read_tables
from tui_agent.policy.catalog.entries import Table, TableFault, validation_faults
from tui_agent.policy.catalog.model import Decision, Example

MAX_EXAMPLES: Final = 300
_AT_LINE: Final = re.compile(r"at line (\d+)")
_HEADER: Final = re.compile(r"\s*\[(\[?)\s*(.+?)\s*\]?\]\s*(?:#.*)?")
_KEY: Final = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_KEY_PART: Final = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")

Keys: TypeAlias = tuple[str, ...]
Judge: TypeAlias = Callable[[str, Catalog], tuple[Decision, str]]
"""Decides about a command line by a catalog, under the profile `ask` in an empty workspace: the decision and its reason."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault: `place` is the source with a line ("programs.toml:12"), `reason` says what is wrong."""

    place: str
    reason: str


def check_table(text: str, source: str, judge: Judge) -> list[Problem]:
    """Check a table of `[programs.NAME]` with all its examples."""
    return [
        Problem(f"{source}:{line}" if line else source, reason)
        for line, reason in _faults(text, source, judge)
    ]


def _faults(text: str, source: str, judge: Judge) -> Iterator[tuple[int, str]]:
    """Faults with their lines, 0 where the line is not known; those of one kind hide what they make meaningless."""
    try:
        tables, _ = read_tables(text)
    except TableFault as fault:
        at = _AT_LINE.search(fault.reason)
        yield (int(at[1]) if at else _line_of(text, fault.keys)), str(fault)
        return
    faults = [
        TableFault((*keys_of(name), *fault.keys), fault.reason)
        for name, table in tables.items()
        for fault in validation_faults(own_keys(table))
    ]
    catalog = None
    if not faults:
        try:
            catalog = Catalog([Layer("user", source, text)])
        except ConfigError as error:
            cause = error.__cause__
            faults = [cause] if isinstance(cause, TableFault) else [TableFault((), str(error))]
    lines = _find_lines(text)
    yield from ((_nearest(lines, found.keys), str(found)) for found in faults)
    if catalog is not None:
        yield from _failed_examples(tables, catalog, judge, lines)


def _failed_examples(
    tables: Mapping[str, Table], catalog: Catalog, judge: Judge, lines: Mapping[Keys, int]
) -> Iterator[tuple[int, str]]:
    count = 0
    for name, table in tables.items():
        for place, raw in enumerate(table.get("examples", ())):
            example = Example.model_validate(raw)
            count += 1
            if count > MAX_EXAMPLES:
                yield 0, f"only the first {MAX_EXAMPLES} examples are tried"
                return
            decision, reason = judge(example.line, catalog)
            line = _nearest(lines, (*keys_of(name), "examples", str(place)))
            if decision != example.decision:
                yield (
                    line,
                    f"the example {example.line!r} should be {example.decision}, not {decision}: {reason}",
                )
            elif example.because not in reason:
                yield (
                    line,
                    f"the example {example.line!r} is {decision}, but not because {example.because!r}: {reason}",
                )


def _line_of(text: str, keys: Keys) -> int:
    return _nearest(_find_lines(text), keys)


def _nearest(lines: Mapping[Keys, int], keys: Keys) -> int:
    """The line of the longest beginning of a key's path that stands in the text, or of the first key below it."""
    above = (lines[keys[:count]] for count in range(len(keys), 0, -1) if keys[:count] in lines)
    below = (line for path, line in lines.items() if keys and path[: len(keys)] == keys)
    return next(above, next(below, 0))


def _find_lines(text: str) -> dict[Keys, int]:
    """The line of each key and table of a TOML text, by its path; of an array of tables with its index."""
    found: dict[Keys, int] = {}
    counts: dict[Keys, int] = {}
    table: Keys = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.fullmatch(line)
        key = None if header else _KEY.match(line)
        if header:
            table = _split_key(header[2])
            found.setdefault(table, number)
            if header[1]:
                place = counts[table] = counts.get(table, -1) + 1
                table = (*table, str(place))
                found.setdefault(table, number)
        elif key:
            found.setdefault((*table, *_split_key(key[1])), number)
    return found


def _split_key(key: str) -> Keys:
    return tuple("".join(part) for part in _KEY_PART.findall(key))
