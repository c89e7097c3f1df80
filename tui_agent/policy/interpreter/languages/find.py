"""Reads find calls: the folders to search, the actions on each file found, and the commands to run.

Invariant: a word that the catalog does not list for find raises a doubt.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog import built_in_catalog
from tui_agent.policy.catalog.catalog_schema import Effect, Option
from tui_agent.policy.interpreter.command_report import Certainty, FileUse, Value
from tui_agent.policy.interpreter.languages import found_names
from tui_agent.policy.interpreter.languages.found_names import HERE, Names, fill_word, union_names
from tui_agent.policy.interpreter.languages.protocol import ArgumentReport, Call
from tui_agent.policy.interpreter.patterns import prefix_of

_MAX_COMMANDS: Final = 24
_MAX_DEPTH: Final = 20
"""Maximum nesting depth of brackets in a find expression."""


def read_arguments(call: Call) -> ArgumentReport:
    """Interpret the arguments of a find call."""
    expression = _Expression(call.arguments)
    expression.read()
    return expression.result()


@cache
def _table() -> Mapping[str, Option]:
    entry = built_in_catalog().entry("find")
    return {} if entry is None else entry.options


@dataclass(frozen=True, slots=True)
class _Action:
    """An action of a find call.

    `names`: patterns of the file names for which find does the action.
    `batch`: True if one command gets many files at once.
    """

    option: Option
    names: Names
    command: tuple[Value, ...] = ()
    batch: bool = False


class _Expression:
    def __init__(self, words: Sequence[Value]) -> None:
        self._words = words
        self._place = 0
        self._starts: list[Value] = []
        self._follows_links = False
        self._files: list[FileUse] = []
        self._actions: list[_Action] = []
        self._reason = ""

    def read(self) -> None:
        """Parse the words of the call: options, starting points and the expression."""
        while self._words[self._place :] and self._words[self._place].known in ("-H", "-L", "-P"):
            self._read_primary(self._words[self._place], None)
            self._place += 1
        self._read_starts()
        names = self._read_expression(None)
        if not self._actions:
            self._actions.append(_Action(_table()["-print"], names))

    def result(self) -> ArgumentReport:
        """Interpret the words that `read` has parsed."""
        only = union_names(action.names for action in self._actions) or ()
        listed = [
            FileUse(start.text, "list", start.certainty, True, only=only, follows_links=self._follows_links)
            for start in self._starts
        ]
        commands = tuple(self._filled_commands())
        effects = found_names.effects_of_repeating(commands).union(
            *(action.option.effects for action in self._actions)
        )
        return ArgumentReport((*listed, *self._files), effects, commands, self._bound_output(), self._reason)

    def _bound_output(self) -> Value | None:
        kinds = {action.option.prints for action in self._actions if action.option.prints}
        if self._reason or kinds != {"paths"} or any(action.command for action in self._actions):
            return None
        names = union_names(action.names for action in self._actions if action.option.prints)
        itself = any(self._finds_start(start, names) for start in self._starts)
        return found_names.bound_output(self._starts, names, itself=itself)

    def _read_starts(self) -> None:
        while self._place < len(self._words):
            start = self._words[self._place]
            if prefix_of(start).startswith("-") or start.known in ("(", ")", "!", ","):
                break
            self._place += 1
            if start.certainty is Certainty.UNKNOWN or (start.known is None and start.may_be_option):
                self._doubt(f"it is not certain which folders `find` searches: {start.source}")
            else:
                self._starts.append(start)
        # A word such as `$X` can expand to no word at all. Then find searches the current folder.
        if all(start.many for start in self._starts):
            self._starts.append(HERE)

    def _read_expression(self, outer: Names, depth: int = 0) -> Names:
        """Parse tests and actions up to the closing bracket, or up to the end if `depth` is 0.

        Return patterns of the file names for which the expression can be true.

        - `outer`: patterns of the names that can reach this expression. The result matches no other names.
        """
        alternatives: list[Names] = []
        names, negated, closed = outer, False, depth == 0
        while (word := self._next_word()) is not None:
            match word.known:
                case ")" if depth:
                    closed = True
                    break
                case "-o" | "-or" | ",":
                    alternatives.append(names)
                    names = outer
                case "!" | "-not":
                    negated = True
                case "-a" | "-and":
                    continue
                case _:
                    passed = self._read_test(word, names, depth)
                    # A negated test such as `! -name '*.py'` leaves all other names, so it does not limit them.
                    names = names if passed is None or negated else passed
                    negated = False
        if negated or not closed:
            self._doubt("`find` has an incomplete expression")
        return union_names([*alternatives, names]) if closed else outer

    def _read_test(self, word: Value, names: Names, depth: int) -> Names:
        if word.known == "(" and depth < _MAX_DEPTH:
            return self._read_expression(names, depth + 1)
        return self._read_primary(word, names)

    def _read_primary(self, word: Value, names: Names) -> Names:
        """Parse a test or an action. Return the file names that make the test true, or None for any name."""
        option = _table().get(word.known or "")
        if option is None:
            self._doubt(f"it is not known what {word.source} of `find` does")
            return None
        self._follows_links = self._follows_links or option.follows_links
        if option.means == "command":
            self._read_command(option, word.text, names)
            return None
        value = self._read_word(word) if option.word == "required" else None
        if option.second is not None:
            self._read_word(word)
        if value is not None and option.means in ("list", "write"):
            self._files.append(FileUse(value.text, option.means, value.certainty))
        if Effect.DELETES in option.effects:
            self._files += [use for start in self._starts for use in self._file_deletions(start, names)]
        if option.prints or option.effects:
            self._actions.append(_Action(option, names))
        if value is None or option.means != "include":
            return None
        return found_names.names_of_pattern(value.known, either_case=word.text == "-iname")

    def _read_command(self, option: Option, action: str, names: Names) -> None:
        """Parse the command of an action up to `;` or `{} +`."""
        words: list[Value] = []
        end = ""
        while not end and (word := self._next_word()) is not None:
            closes = word.known == ";" or (word.known == "+" and words and words[-1].known == "{}")
            end = word.text if closes else ""
            words += [] if closes else [word]
        if not end:
            self._doubt(f"no `;` or `{{}} +` ends the command of {action}")
        if any(map(found_names.may_end_command, words)):
            self._doubt(f"a word after {action} may end the command that `find` runs")
        if action.endswith("dir"):
            self._doubt(f"{action} runs its command in another folder for each file")
        if words:
            self._actions.append(_Action(option, names, tuple(words), end == "+"))

    def _filled_commands(self) -> Iterator[tuple[Value, ...]]:
        runs = [action for action in self._actions if action.command]
        if len(self._starts) * len(runs) > _MAX_COMMANDS:
            self._doubt("`find` runs too many commands to check them all")
        for run in runs[:_MAX_COMMANDS]:
            for start in self._starts[:_MAX_COMMANDS]:
                for name in self._found_paths(start, run.names):
                    filled = replace(name, many=run.batch)
                    yield tuple(fill_word(word, "{}", filled) for word in run.command)

    def _file_deletions(self, start: Value, names: Names) -> list[FileUse]:
        """Return the uses of the files that find deletes: files with these names below `start`."""
        if names is None or prefix_of(start).startswith(("/", "~")) or ".." in start.text:
            return [FileUse(start.text, "delete", start.certainty, True, only=names or ())]
        return [FileUse(name.text, "delete", name.certainty) for name in self._found_paths(start, names)]

    def _found_paths(self, start: Value, names: Names) -> list[Value]:
        itself = [replace(start, source="{}")] if self._finds_start(start, names) else []
        return [*found_names.names_below(start, names), *itself]

    def _finds_start(self, start: Value, names: Names) -> bool:
        """Return True if one of `names` can match the name of the starting point `start`, so that find also finds
        `start`."""
        last = posixpath.basename(start.text)
        if start.known is not None and last in ("", ".", ".."):
            return False
        return start.known is None or names is None or any(fnmatchcase(last, name) for name in names)

    def _read_word(self, option: Value) -> Value | None:
        """Return the next word: the value of a test or an action. Add a doubt if the word can become several words."""
        value = self._next_word()
        if value is None or value.many:
            self._doubt(f"it is not certain which word is the value of {option.source}")
        return value

    def _next_word(self) -> Value | None:
        self._place += 1
        return self._words[self._place - 1] if self._place <= len(self._words) else None

    def _doubt(self, reason: str) -> None:
        self._reason = self._reason or reason
