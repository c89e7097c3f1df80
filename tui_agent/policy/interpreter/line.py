"""L3: a whole command line: the report of every command in it.

Invariant: a line that lies outside the subset of bash proves nothing; its commands are those of every possible reading.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Final

from tui_agent.policy.bash.loose_reading import Words, loose_commands
from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import Refusal
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.commands import UNKNOWN_INPUT, CommandReader, Context
from tui_agent.policy.interpreter.expansion import known_value, unknown_value
from tui_agent.policy.interpreter.report import (
    Certainty,
    CommandReport,
    Doubt,
    FileAction,
    FileUse,
    LineReport,
    Value,
)
from tui_agent.policy.interpreter.script import ScriptWalker
from tui_agent.policy.interpreter.state import START, Folders, State, join_path
from tui_agent.protocol.effects import Runs

MAX_DEPTH: Final = 3
"""Texts of bash inside each other (`bash -c "sh -c …"`)."""
_NO_CHARACTER: Final = "it holds a code that stands for no character"
_NO_COMMAND: Final = "it holds no command"
_TWO_COMMANDS: Final = "it names two commands, one as words and one as a script"
_REDIRECT: Final = re.compile(r"(?:\d*|&)(<|<>|>[>|&]?)(?![>&|(<])(.*)", re.DOTALL)
_LOOSE_WORD: Final = re.compile(r"(>[>|&]?[ \t]*+)?+([^\s;&|()<>'\"`$\\]++)")
_PATTERN_SIGNS: Final = frozenset("*?[")
_MOVING: Final = frozenset({"cd", "pushd", "popd"})
_MAX_LOOSE: Final = 1000
"""Possible commands of a refused text that are read."""
_MAX_TEXTS: Final = 50
_MAX_CACHED: Final = 2000
"""Characters of a line that is kept in the cache."""


def read_line(effect: Runs, catalog: Catalog) -> LineReport:
    """Read a command line or an argument vector. Never raises for a text, whatever it holds."""
    if sum(map(len, (effect.script, *effect.argv))) > _MAX_CACHED:
        return _read(effect.script, effect.argv, catalog)
    return _read_cached(effect.script, effect.argv, catalog)


@lru_cache(maxsize=512)
def _read_cached(script: str, argv: tuple[str, ...], catalog: Catalog) -> LineReport:
    return _read(script, argv, catalog)


def _read(script: str, argv: tuple[str, ...], catalog: Catalog) -> LineReport:
    reader = _LineReader(catalog)
    if not argv:
        report = reader.read_script(script)
        return report if report.commands or report.refusal else replace(report, refusal=_NO_COMMAND)
    if script.strip():
        return LineReport(script, reader.read_script(script).commands, _TWO_COMMANDS, unreadable=True)
    words = [known_value(word) for word in argv]
    line = " ".join(argv)
    return LineReport(line, reader.commands.read(words, Context(line)).reports)


class _LineReader:
    """Reads one line; `_unreadable` is set once a text in it lies outside the subset."""

    def __init__(self, catalog: Catalog) -> None:
        self.commands = CommandReader(catalog, self._run_text)
        self._walker = ScriptWalker(catalog, self.commands)
        self._depth = 0
        self._unreadable = False

    def read_script(self, text: str) -> LineReport:
        """Read a text of bash."""
        script = Refusal(_NO_CHARACTER, text.index(START)) if START in text else parse_script(text)
        if isinstance(script, Refusal):
            reports = self._read_loosely(text, script, Context(text))
            return LineReport(text, reports, script.reason, self._unreadable)
        self._walker.walk(script, State(), UNKNOWN_INPUT)
        reports = tuple(dict.fromkeys(self._walker.reports))
        return LineReport(text, (*reports, *self._limit(text)), unreadable=self._unreadable)

    def _run_text(self, text: str, context: Context) -> tuple[tuple[CommandReport, ...], Value, Doubt | None]:
        """Read a text that a command of the line runs in a shell of its own."""
        if self._depth >= MAX_DEPTH:
            doubt = Doubt("limit", "shells run one another too deeply", hides_command=True)
            return (), UNKNOWN_INPUT, doubt
        script = parse_script(text)
        if isinstance(script, Refusal):
            doubt = Doubt("syntax", script.reason, hides_command=True)
            return self._read_loosely(text, script, context), UNKNOWN_INPUT, doubt
        outer, self._walker.reports = self._walker.reports, []
        self._depth += 1
        outcome = self._walker.walk(
            script, State(_name_parameters(context.parameters), context.folders), context.stdin
        )
        self._depth -= 1
        reports, self._walker.reports = tuple(self._walker.reports), outer
        return reports, outcome.output, None

    def _read_loosely(self, text: str, refusal: Refusal, context: Context) -> tuple[CommandReport, ...]:
        """Read a refused text in every way that is possible: its commands only serve rules that deny."""
        commands, complete = _possible_commands(text)
        self._unreadable = self._unreadable or not complete
        doubt = Doubt("syntax", refusal.reason)
        moves = any(words and words[0] in _MOVING for words in commands)
        folders = (*context.folders, None) if moves else context.folders
        self._depth += 1
        reports: dict[CommandReport, None] = {}
        for words in commands:
            values = [unknown_value("?", many=True) if word is None else known_value(word) for word in words]
            first, *inner = self.commands.read(values, replace(context, folders=folders)).reports
            for report in (_with_redirects(first, words), *inner):
                reports[replace(report, doubts=(*report.doubts, doubt))] = None
        self._depth -= 1
        return (*reports, *_report_patterns(text, folders, doubt))

    def _limit(self, text: str) -> tuple[CommandReport, ...]:
        if not self._walker.limited:
            return ()
        doubt = Doubt("limit", "it has too many commands to be judged", hides_command=True)
        return (CommandReport(text, (), doubts=(doubt,)),)


def _name_parameters(values: Sequence[Value]) -> dict[str, Value]:
    """The variables `$0`, `$1` and so on of a script; none behind a word that may become several."""
    certain = list(takewhile(lambda value: not value.many, values))
    named = {str(place): replace(value, splits=False) for place, value in enumerate(certain[:10])}
    if len(values) == 2 and "0" in named:
        named["@"] = values[1]
    return named


def _possible_commands(text: str) -> tuple[list[Words], bool]:
    """The commands of every reading of a text, and of quoted texts in it; False where that is not all."""
    found: dict[Words, None] = {}
    complete = True
    texts = [text]
    for _ in range(MAX_DEPTH):
        readings = [loose_commands(text) for text in texts]
        found |= dict.fromkeys(words for reading in readings for words in reading.commands if words)
        complete = complete and not any(reading.unreadable for reading in readings)
        texts = [inner for reading in readings for inner in reading.texts]
        if len(found) > _MAX_LOOSE or len(texts) > _MAX_TEXTS:
            return list(found)[:_MAX_LOOSE], False
    return list(found), complete and not texts


def _report_patterns(text: str, folders: Folders, doubt: Doubt) -> Iterator[CommandReport]:
    """Report the shell patterns of a text, which a loose reading does not show: any command of it may use them."""
    words = (match.groups() for match in _LOOSE_WORD.finditer(text))
    found = list(dict.fromkeys(word for word in words if not _PATTERN_SIGNS.isdisjoint(word[1])))[:_MAX_TEXTS]
    if not found:
        return
    patterns = tuple(Value(word, Certainty.BOUNDED, word, many=True) for _, word in found)
    written = [
        FileUse(join_path(folder, word), "write", Certainty.BOUNDED)
        for redirect, word in found
        if redirect
        for folder in folders
        if folder is not None
    ]
    yield CommandReport(
        text,
        (unknown_value(text), *patterns),
        "a command",
        files=tuple(written),
        folders=folders,
        doubts=(doubt,),
        effects=frozenset({Effect.RUNS}),
    )


def _with_redirects(report: CommandReport, words: Words) -> CommandReport:
    """Add the files of words that look like redirections: a loose reading does not tell them from others."""
    files = list(report.files)
    for word, behind in zip(words, (*words[1:], None), strict=True):
        found = _REDIRECT.fullmatch(word or "")
        target = (found[2] or behind) if found is not None else None
        if found is not None and target:
            action: FileAction = "read" if found[1] == "<" else "write"
            known = [folder for folder in report.folders if folder is not None]
            files += [FileUse(join_path(folder, target), action) for folder in known]
    return replace(report, files=tuple(dict.fromkeys(files)))
