"""The reader of a whole command line: reports every command in the line.

Invariant: if the bash parser refuses a line, the reports cover every possible reading and prove nothing.
"""

import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from tui_agent.policy.bash.cursor import MAX_CHARS
from tui_agent.policy.bash.loose_reading import Words, loose_commands
from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import Refusal
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.interpreter.command_report import (
    Certainty,
    CommandReport,
    Doubt,
    FileUse,
    LineReport,
    Value,
)
from tui_agent.policy.interpreter.expansion import known_value, unknown_value
from tui_agent.policy.interpreter.report_draft import Draft
from tui_agent.policy.interpreter.script import ScriptWalker
from tui_agent.policy.interpreter.shell_state import START, START_FOLDERS, Folders, State
from tui_agent.policy.interpreter.simple_commands import UNKNOWN_INPUT, CommandReader
from tui_agent.protocol.effects import RunEffect

_NO_CHARACTER: Final = "it contains a code point that is not a character"
_NO_COMMAND: Final = "it contains no command"
_TWO_COMMANDS: Final = "it names two commands, one as words and one as a script"
_REDIRECT: Final = re.compile(r"(?:\d*|&)(<|<>|>[>|&]?)(?![>&|(<])(.*)", re.DOTALL)
_LOOSE_WORD: Final = re.compile(r"(>[>|&]?[ \t]*+)?+([^\s;&|()<>'\"`$\\]++)")
_PATTERN_SIGNS: Final = frozenset("*?[")
_MOVING: Final = frozenset({"cd", "pushd", "popd"})
_MAX_NESTED: Final = 3
"""Maximum nesting depth of quoted texts that are searched for commands."""
_MAX_LOOSE: Final = 1000
"""Maximum number of possible commands in a line that the bash parser refuses."""
_MAX_TEXTS: Final = 50
_MAX_CACHED: Final = 2000
"""Maximum length of a command line whose report is cached, in characters."""


def read_line(effect: RunEffect, catalog: Catalog) -> LineReport:
    """Interpret a command line or an argument vector. Never raises."""
    size = sum(map(len, (effect.script, *effect.argv)))
    # Long lines are hardly repeated, and their reports are large.
    read = _read if size <= _MAX_CACHED else _read.__wrapped__
    return read(effect.script, effect.argv, catalog)


@lru_cache(maxsize=512)
def _read(script: str, argv: tuple[str, ...], catalog: Catalog) -> LineReport:
    reader = _LineReader(catalog)
    if not argv:
        report = reader.read_script(script)
        return report if report.commands or report.refusal else replace(report, refusal=_NO_COMMAND)
    if script.strip():
        return LineReport(script, reader.read_script(script).commands, _TWO_COMMANDS, unreadable=True)
    words = [known_value(word) for word in argv]
    line = " ".join(argv)
    if len(line) > MAX_CHARS:
        return reader.read_script(line)
    return LineReport(line, reader.commands.read(Draft(catalog, line, words), UNKNOWN_INPUT).reports)


class _LineReader:
    """The reader of one command line."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.commands = CommandReader(self._run_text)
        self._walker = ScriptWalker(catalog, self.commands)
        self._unreadable = False

    def read_script(self, text: str) -> LineReport:
        script = Refusal(_NO_CHARACTER, text.index(START)) if START in text else parse_script(text)
        if isinstance(script, Refusal):
            reports = self._read_loosely(text, script, START_FOLDERS)
            return LineReport(text, reports, script.reason, self._unreadable)
        self._walker.walk(script, State(), UNKNOWN_INPUT)
        return LineReport(text, tuple(dict.fromkeys(self._walker.reports)), unreadable=self._unreadable)

    def _run_text(
        self, text: str, state: State, stdin: Value
    ) -> tuple[tuple[CommandReport, ...], Value, Doubt | None]:
        """Interpret a script that a command runs in a new shell, as `bash -c` does. See `RunText`."""
        script = parse_script(text)
        if isinstance(script, Refusal):
            doubt = Doubt("syntax", script.reason, hides_command=True)
            return self._read_loosely(text, script, state.folders), UNKNOWN_INPUT, doubt
        # The walk through the inner script must not mix its reports with those of the outer one.
        outer, self._walker.reports = self._walker.reports, []
        outcome = self._walker.walk(script, state, stdin)
        reports, self._walker.reports = tuple(self._walker.reports), outer
        return reports, outcome.output, None

    def _read_loosely(self, text: str, refusal: Refusal, folders: Folders) -> tuple[CommandReport, ...]:
        """Report every possible command of a text that the bash parser refuses."""
        commands, complete = _possible_commands(text)
        self._unreadable = self._unreadable or not complete
        doubt = Doubt("syntax", refusal.reason)
        if any(words and words[0] in _MOVING for words in commands):
            # The order of the possible commands is not known, so each of them may run after the `cd`.
            folders = (*folders, None)
        reports: dict[CommandReport, None] = {}
        for words in commands:
            values = [unknown_value("?", many=True) if word is None else known_value(word) for word in words]
            draft = Draft(self._catalog, text, values, folders)
            _add_redirects(draft, words)
            for report in self.commands.read(draft, UNKNOWN_INPUT).reports:
                reports[replace(report, doubts=(doubt, *report.doubts))] = None
        patterns = [word for word in _LOOSE_WORD.findall(text) if not _PATTERN_SIGNS.isdisjoint(word[1])]
        if patterns:
            # Loose readings have no shell patterns, so any command of the text may use these.
            values = [Value(word, Certainty.BOUNDED, word, many=True) for _, word in patterns[:_MAX_TEXTS]]
            draft = Draft(self._catalog, text, [unknown_value(text), *values], folders, name="a command")
            written = [FileUse(word, "write", Certainty.BOUNDED) for redirect, word in patterns if redirect]
            for use in written[:_MAX_TEXTS]:
                draft.add_use(use)
            draft.effects.add(Effect.RUNS)
            draft.doubts.append(doubt)
            reports[draft.report()] = None
        return tuple(reports)


def _add_redirects(draft: Draft, words: Words) -> None:
    """Record the files of words that look like redirections."""
    # In a text that the bash parser refuses, redirections are not separated from the other words.
    for word, behind in pairwise((*words, None)):
        redirect = _REDIRECT.fullmatch(word or "")
        target = (redirect[2] or behind) if redirect is not None else None
        if redirect is not None and target:
            draft.add_use(FileUse(target, "read" if redirect[1] == "<" else "write", redirected=True))


def _possible_commands(text: str) -> tuple[list[Words], bool]:
    """Return the possible commands of a text, and True if the list is certainly complete."""
    commands: dict[Words, None] = {}
    complete = True
    texts = [text]
    for _ in range(_MAX_NESTED):
        readings = [loose_commands(text) for text in texts]
        commands |= dict.fromkeys(words for reading in readings for words in reading.commands if words)
        complete = complete and not any(reading.unreadable for reading in readings)
        texts = [inner for reading in readings for inner in reading.texts]
        if len(commands) > _MAX_LOOSE or len(texts) > _MAX_TEXTS:
            return list(commands)[:_MAX_LOOSE], False
    return list(commands), complete and not texts
