"""The reader of fd calls: the folders to search, and the commands to run on each path found.

Invariant: a placeholder other than `{}` can stand for any text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from typing import Final

from tui_agent.policy.catalog.catalog import built_in_catalog
from tui_agent.policy.catalog.catalog_entry import Entry
from tui_agent.policy.interpreter.call_options import ParsedCall, parse_call
from tui_agent.policy.interpreter.command_report import Certainty, Value
from tui_agent.policy.interpreter.languages import found_names
from tui_agent.policy.interpreter.languages.found_names import HERE, Names, fill_word
from tui_agent.policy.interpreter.languages.protocol import ArgumentReport, Call
from tui_agent.policy.interpreter.operands import Operands
from tui_agent.policy.interpreter.reach import measure_reach

_COMMAND: Final = re.compile(r"(?:-([A-Za-z0-9]*?)([xX])|--exec(-batch)?(?==|$))(.*)", re.DOTALL)
"""Matches an option of fd that runs a command.

The groups: the letters before the option in a cluster (`-HIx`), the option's letter or suffix, and an attached value.
"""
_PLACEHOLDER: Final = re.compile(r"\{(?:/|//|\.|/\.)\}|\{\{")


def read_arguments(call: Call) -> ArgumentReport:
    """Interpret a call of fd from its arguments only."""
    reader = _Reader()
    reader.read(call.arguments)
    return reader.result()


@cache
def _entry() -> Entry:
    """Return the catalog's entry for fd, changed so that its arguments are parsed as options and operands."""
    entry = built_in_catalog().entry("fd")
    assert entry is not None
    return replace(entry, program=entry.program.model_copy(update={"option_style": "gnu"}))


@dataclass
class _Reader:
    """Reads one call of fd.

    `own`: the words of the call that are not part of a command to run.
    `commands`: for each command to run, (its words, True if it gets many paths at once).
    """

    own: list[Value] = field(default_factory=list)
    commands: list[tuple[tuple[Value, ...], bool]] = field(default_factory=list)
    doubt: str = ""

    def read(self, words: Sequence[Value]) -> None:
        """Separate fd's own words from the words of commands that fd runs."""
        left = iter(words)
        for word in left:
            if word.known == "--":
                self.own += [word, *left]
                return
            if word.known is None and (word.may_be_option or word.many):
                self._note_doubt(f"{word.source} may expand to an option of fd")
            option = _COMMAND.fullmatch(word.known or "")
            if option is None:
                self.own.append(word)
            else:
                self._read_command(option, word.source, takewhile(lambda word: word.known != ";", left))

    def result(self) -> ArgumentReport:
        """Interpret the words that `read` has separated."""
        parsed = parse_call(_entry(), self.own)
        if parsed.doubts:
            self._note_doubt(parsed.doubts[0].reason)
        reach = measure_reach(_entry().program, parsed.options, Operands())
        starts, names = self._starts(parsed), _names(parsed)
        listed = replace(reach, action="list", below=True, only=names or ())
        files = tuple(replace(listed, path=start.text, certainty=start.certainty) for start in starts)
        prints = None
        if not self.commands and not any(option.option and option.option.prints for option in parsed.options):
            prints = found_names.bound_output(starts, names, itself=False)
        if prints is not None and HERE in starts:
            prints = replace(prints, may_be_option=True)
        commands = tuple(self._filled_commands(starts, names))
        effects = found_names.effects_of_repeating(commands)
        return ArgumentReport(files, effects, commands, prints, self.doubt)

    def _read_command(self, option: re.Match[str], source: str, words: Iterable[Value]) -> None:
        """Read a command that fd runs. `words` are the words after the option, up to `;`."""
        letters, letter, batch, attached = option.groups()
        if letters:
            self.own.append(Value(source, Certainty.KNOWN, f"-{letters}"))
        command = tuple(words)
        if attached:
            self._note_doubt(f"it is not certain which words fd runs as the command of {source}")
            command = (Value(source, Certainty.KNOWN, attached.removeprefix("=")), *command)
        if not command:
            self._note_doubt(f"no command follows {source} of fd")
        elif any(map(found_names.may_end_command, command)):
            self._note_doubt(f"a word after {source} may end the command that fd runs")
        self.commands.append((command, letter == "X" or batch is not None))

    def _starts(self, parsed: ParsedCall) -> list[Value]:
        searched = [option.word for option in parsed.options if option.spelling == "--search-path"]
        paths = [*(path for path in searched if path is not None), *parsed.operands[1:]]
        certain = [path for path in paths if path.certainty is not Certainty.UNKNOWN]
        if len(certain) < len(paths):
            self._note_doubt("it is not certain which folders fd searches")
        return certain if any(not path.many for path in certain) else [*certain, HERE]

    def _filled_commands(self, starts: Sequence[Value], names: Names) -> Iterator[tuple[Value, ...]]:
        for command, batch in self.commands:
            if not any("{}" in word.text or _PLACEHOLDER.search(word.text) for word in command if word.known):
                command = (*command, Value("{}", Certainty.KNOWN, "{}"))
            for start in starts:
                for name in found_names.names_below(start, names):
                    unprefixed = start is HERE or name.may_be_option
                    filled = replace(name, many=batch, may_be_option=unprefixed)
                    yield tuple(_fill(word, filled) for word in command)

    def _note_doubt(self, reason: str) -> None:
        self.doubt = self.doubt or reason


def _names(parsed: ParsedCall) -> Names:
    """Return patterns for the call's file extensions, in upper and lower case."""
    return found_names.union_names(
        found_names.names_of_pattern(f"*.{(option.word.known or '*').removeprefix('=')}", either_case=True)
        for option in parsed.options
        if option.spelling in ("-e", "--extension") and option.word is not None
    )


def _fill(word: Value, name: Value) -> Value:
    if word.known is not None and _PLACEHOLDER.search(word.known):
        return Value(word.source, Certainty.UNKNOWN, many=name.many, may_be_option=True)
    return fill_word(word, "{}", name)
