"""L3: the report of one command in the making: what each of its words means for files, hosts, code and doubts.

Invariant: a word of which the text is not certain raises a doubt wherever its text matters.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never
from urllib.parse import unquote

from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.entries import Entry
from tui_agent.policy.catalog.model import Effect, Meaning
from tui_agent.policy.interpreter.expansion import STREAM
from tui_agent.policy.interpreter.git_words import GitWord, read_path_filter, read_revision
from tui_agent.policy.interpreter.languages.protocol import ScriptReader
from tui_agent.policy.interpreter.patterns import escape, prefix_of, unescape
from tui_agent.policy.interpreter.reach import Reach
from tui_agent.policy.interpreter.readers import SCRIPT_READERS
from tui_agent.policy.interpreter.report import Certainty, CommandReport, Doubt, FileAction, FileUse, Value
from tui_agent.policy.interpreter.state import (
    START,
    START_FOLDERS,
    Folders,
    enter_folder,
    goes_back,
    join_path,
)

_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?[A-Za-z%]{0,3}|[+-]?\.\d+")
_BOUNDED_NUMBERS: Final = {
    "count": re.compile(r"[+-]?(\d{1,4}|10000)(\.\d+)?"),
    "seconds": re.compile(r"\d{0,2}(\.\d+)?"),
}
_FILE_ACTIONS: Final[Mapping[str, FileAction]] = {
    "read": "read",
    "list": "list",
    "write": "write",
    "edit": "write",
    "move": "move",
    "delete": "delete",
}
_ACTION_EFFECTS: Final = {"write": Effect.WRITES, "move": Effect.WRITES, "delete": Effect.DELETES}
_OPTION_WITH_PATH: Final = re.compile(r"-\w([^=].*)|[\w-]+=(.+)")
_ADDRESS: Final = re.compile(r"[A-Za-z][\w+.-]*:")
"""A scheme, or another machine: what some programs take for more than a name (`xmllint file:///x`, `tar tf host:x`)."""
MAX_PATH: Final = 4096
DEVICES: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", STREAM})
"""Files that hold nothing of their own."""
_SCRIPT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass
class Draft:
    """`scripts` are texts of bash that it runs, with True where all of it depends on them alone (`bash -c`)."""

    catalog: Catalog
    source: str
    words: Sequence[Value]
    folders: Folders
    entry: Entry | None = None
    name: str = ""
    reach: Reach = field(default_factory=Reach)
    effects: set[Effect] = field(default_factory=set)
    files: list[FileUse] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    settings: list[tuple[str, Value]] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    scripts: list[Value] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    """Patterns of the files that it reads or lists, as they are named; empty where one is not certain."""
    runs_next: bool = False

    def report(self) -> CommandReport:
        """The finished report."""
        program = None if self.entry is None else self.entry.program
        if None in self.folders:
            self.doubt("folder", "it is not certain in which folder it runs")
        if Effect.RUNS in self.effects:
            # Code may use all of the folder that it runs in.
            self.files += [FileUse(folder, "list") for folder in self.folders if folder]
        return CommandReport(
            self.source,
            tuple(self.words),
            self.name,
            "" if self.entry is None else self.entry.place,
            frozenset(self.effects or {Effect.READS}),
            tuple(dict.fromkeys(self.files)),
            tuple(dict.fromkeys(self.hosts)),
            self.folders,
            tuple(self.settings),
            tuple(self.code),
            self.runs_next,
            program is not None and program.downloads,
            program is not None and program.builtin,
            0 if program is None else program.remember,
            self.final_doubts(),
            forbidden="" if program is None else program.forbidden,
            steered_by=() if program is None else program.steered_by,
        )

    def final_doubts(self) -> tuple[Doubt, ...]:
        """The doubts, of which names of files settle only those about names in the folders that it runs in."""
        return tuple(
            replace(doubt, value=None)
            if doubt.value is not None and doubt.value.found_in not in (None, self.folders)
            else doubt
            for doubt in dict.fromkeys(self.doubts)
        )

    def doubt(self, name: str, reason: str, *, hides: bool = False, value: Value | None = None) -> None:
        """Note why it is not proven what the command does."""
        self.doubts.append(Doubt(name, reason, hides, value))  # type: ignore[arg-type]

    def use(self, meaning: Meaning, value: Value) -> None:
        """Note what a word of this meaning does."""
        match meaning:
            case "text" | "program" | "include" | "exclude":
                self._show_names(value)
            case "number":
                self._use_number(value)
            case "count" | "seconds":
                self._use_bounded(_BOUNDED_NUMBERS[meaning], value)
            case "read" | "list" | "write" | "edit" | "move" | "delete":
                self._use_file(meaning, value)
            case "file list":
                self._use_file("read", value)
                self.files.append(FileUse("", "read", Certainty.UNKNOWN))
                self.doubt("value", f"it uses the files that {value.source} names")
            case "enter":
                self.enter(value)
            case "revision":
                self._use_git_word(value, read_revision(value, may_be_path=False), is_filter=False)
            case "revision or path":
                self._use_git_word(value, read_revision(value, may_be_path=True), is_filter=False)
            case "path filter":
                self._use_git_word(value, read_path_filter(value), is_filter=True)
            case "host":
                self._use_host(value)
            case "variable":
                self._show_variable(value)
            case "shell variable":
                self._change_variable(value)
            case "assignment":
                self.set_variable(value)
            case "setting":
                self.doubt("operand", f"{value.source} of {self.name} is not known to be harmless")
            case "shell script":
                self.scripts.append(value)
            case "code":
                self._run_code(value)
            case "script file":
                self._use_file("read", value)
                self.effects.add(Effect.RUNS)
            case "awk" | "jq" | "printf" | "sed":
                self._read_script(meaning, value)
            case "command" | "find" | "fd" | "xargs" | "test":
                self.doubt("operand", f"{value.source} of {self.name} may be a command")
            case _:
                assert_never(meaning)

    def add_use(self, use: FileUse) -> None:
        """Note a use that a reader of a language found, with its path relative to where the command runs."""
        if use.certainty is Certainty.UNKNOWN:
            self.files.append(use)
            self.doubt("value", "it is not certain which files it uses")
            return
        reach = Reach(use.below, use.skips, use.only, use.excludes, use.follows_links)
        self.add_path(use.path, use.action, pattern=use.certainty is Certainty.BOUNDED, reach=reach)
        if use.action in _ACTION_EFFECTS:
            self.effects.add(_ACTION_EFFECTS[use.action])

    def mention(self, value: Value) -> None:
        """Note a word of which it is not known what it means, but which may be a path."""
        if value.certainty is Certainty.UNKNOWN:
            self._add_unknown_file(value, "mention")
            return
        for path in _paths_in(value.text):
            self.add_path(path, "mention", pattern=value.certainty is Certainty.BOUNDED)

    def add_path(
        self, path: str, action: FileAction, *, pattern: bool = False, reach: Reach | None = None
    ) -> None:
        """Note the use of a file, by a path relative to each folder that the command may run in."""
        reach = reach or Reach()
        certainty = Certainty.BOUNDED if pattern else Certainty.KNOWN
        for folder in self.folders:
            if folder is None and not path.startswith(("/", "~", START)):
                self.files.append(FileUse("", action, Certainty.UNKNOWN, below=reach.below))
                continue
            start = folder or ""
            joined = join_path(escape(start) if pattern else start, path)
            if pattern and goes_back(joined):
                self.files.append(FileUse("", action, Certainty.UNKNOWN, below=reach.below))
                self.doubt("value", f"it is not certain where {path} leads")
                # It counts as it reads as well: for guards, and for rules that deny.
            self.files.append(
                FileUse(
                    joined,
                    action,
                    certainty,
                    reach.below,
                    reach.skips,
                    reach.only,
                    reach.excludes,
                    reach.follows_links,
                )
            )

    def add_file(self, value: Value, action: FileAction, reach: Reach | None = None) -> None:
        """Note the use of the file that a word names."""
        if value.certainty is Certainty.UNKNOWN:
            self._add_unknown_file(value, action, below=reach is not None and reach.below)
            self.doubt("value", f"it is not certain which file {value.source} is")
            return
        if value.splits:
            self.doubt("value", f"{value.source} becomes other words where a name has a blank", value=value)
        self.add_path(value.text, action, pattern=value.certainty is Certainty.BOUNDED, reach=reach)
        if value.names_files and "[" in value.text:
            # Where no file fits `[a]b` the word stays as it is, and a file may have that very name.
            self.add_path(unescape(value.text), action, reach=reach)

    def _add_unknown_file(self, value: Value, action: FileAction, *, below: bool = False) -> None:
        """Note a file in any folder; its last names may be certain (`"$X/.env"`)."""
        self.files.append(FileUse("", action, Certainty.UNKNOWN, below=below))
        start, _, names = value.suffix.partition("/")
        if names or start == ".":
            path = f"{start if start in ('~', '.') else '**'}/{escape(names)}"
            self.files.append(FileUse(posixpath.normpath(path), action, Certainty.BOUNDED, below))

    def _show_names(self, value: Value) -> None:
        """A pattern shows the names in its folder wherever it stands (`echo ~/*`)."""
        if value.names_files and value.certainty is Certainty.BOUNDED:
            folder, slash, _ = prefix_of(value).rpartition("/")
            self.add_path(folder or slash or ".", "list")

    def enter(self, value: Value) -> None:
        """Change the folder that the rest of the command is about."""
        self.add_file(value, "list")
        path = value.known
        self.folders = tuple(
            dict.fromkeys(None if path is None else enter_folder(folder, path) for folder in self.folders)
        )

    def set_variable(self, value: Value) -> None:
        """Note `NAME=value`, put into the environment of a program."""
        name, equals, _ = prefix_of(value).partition("=")
        if not equals:
            name = value.known or ""
            setting = Value(value.source, Certainty.UNKNOWN)
        elif value.known is not None:
            setting = Value(value.source, Certainty.KNOWN, value.text[len(name) + 1 :])
        else:
            setting = Value(value.source, Certainty.UNKNOWN)
        self.add_setting(name, setting)

    def add_setting(self, name: str, value: Value) -> None:
        """Note a variable that is set for a program."""
        self.settings.append((name, value))
        self.note_shown(value)
        if not _SCRIPT_NAME.fullmatch(name):
            self.doubt("variable", f"{name or value.source} is not a variable")
        elif self.catalog.variables.may_change_programs(name, value.known, exported=True):
            self.doubt("variable", f"{name} is set, which may change what runs")

    def note_shown(self, value: Value) -> None:
        """Note variables of the environment that the command is given."""
        for name in value.shows:
            self.effects.add(Effect.PRINTS_SECRETS)
            self.doubt("value", f"it shows ${name}, which may hold a secret")

    def _use_number(self, value: Value) -> None:
        number = value.known
        if number is not None and not _NUMBER.fullmatch(number):
            self.doubt("value", f"{value.source} of {self.name} is not a number")
        elif number is None and value.content != "number":
            self.doubt("value", f"it is not certain that {value.source} of {self.name} is a number")

    def _use_bounded(self, numbers: re.Pattern[str], value: Value) -> None:
        if value.known is None or not numbers.fullmatch(value.known):
            self.doubt("value", f"{value.source} of {self.name} may be too large to end soon")

    def _use_file(self, meaning: str, value: Value) -> None:
        action = _FILE_ACTIONS[meaning]
        if (value.known == "-" and meaning == "read") or value.known in DEVICES:
            return
        if value.known is not None and _ADDRESS.match(value.text):
            self.doubt("operand", f"{value.source} may be an address")
        if value.known is not None and value.text[:1] in ("@", "|"):
            self.doubt(
                "option-like", f"{value.source} begins with {value.text[0]}, which {self.name} may obey"
            )
        reach = self.reach if action != "write" or meaning == "edit" else Reach()
        if meaning == "edit":
            self.add_file(value, "read", reach)
        if action == "read" and reach.names_only:
            action = "list"
        self.add_file(value, action, reach)
        if action in _ACTION_EFFECTS:
            self.effects.add(_ACTION_EFFECTS[action])
        if action in ("read", "list"):
            self.printed.append("" if value.certainty is Certainty.UNKNOWN else _as_pattern(value))

    def _use_git_word(self, value: Value, word: GitWord, *, is_filter: bool) -> None:
        """Note what a word of git names. `is_filter`: it is a path for certain, and what
        git prints or changes lies below."""
        action: FileAction = "list" if self.reach.names_only else "read"
        reach = self.reach
        if is_filter and self.entry is not None and self.entry.program.changes_paths:
            action, reach = "write", replace(reach, below=True)
        for named in word.paths:
            if is_filter and named.bounds:
                pattern = named.path if named.pattern else escape(named.path)
                self.printed.append("" if named.from_top else pattern)
            first = len(self.files)
            self.add_path(named.path, action, pattern=named.pattern, reach=reach)
            if named.from_top:
                folders, self.folders = self.folders, START_FOLDERS
                self.add_path(named.path, action, pattern=named.pattern, reach=reach)
                self.folders = folders
                self.files[first:] = [replace(use, from_top=True) for use in self.files[first:]]
        if word.doubt:
            self.printed.append("")
            self.files.append(FileUse("", action, Certainty.UNKNOWN))
            self.doubt("value", word.doubt)
        elif value.certainty is Certainty.BOUNDED and not value.content:
            self.doubt("value", f"{value.source} may mean something else to git", value=value)

    def _use_host(self, value: Value) -> None:
        self.effects.add(Effect.CONNECTS)
        if value.known is None:
            self.mention(value)
            self.doubt("value", f"it is not certain which host {value.source} is")
        elif value.known.lower().startswith("file:"):
            self.add_path(unquote(value.known[5:].removeprefix("//").removeprefix("localhost")), "read")
        else:
            self.hosts.append(value.known)

    def _show_variable(self, value: Value) -> None:
        if value.known is None or self.catalog.variables.may_hold_secret(value.known):
            self.effects.add(Effect.PRINTS_SECRETS)
            self.doubt("value", f"it shows {value.source}, which may hold a secret")

    def _change_variable(self, value: Value) -> None:
        name = value.known
        if name is not None and not _SCRIPT_NAME.fullmatch(name):
            self.doubt("variable", f"{value.source} is not a variable")
        elif name is None or self.catalog.variables.may_change_programs(name, None, exported=False):
            self.doubt("variable", f"{name or value.source} is set, which may change what runs")

    def _run_code(self, value: Value) -> None:
        self.effects.add(Effect.RUNS)
        if value.known is None:
            self.doubt("value", f"it is not certain which code {value.source} is", hides=True)
        else:
            self.code.append(value.known)

    def _read_script(self, language: str, value: Value) -> None:
        reader: ScriptReader = SCRIPT_READERS[language]
        if value.known is None or value.many:
            self.effects.add(Effect.RUNS)
            self.doubt("language", f"it is not certain which {language} script {value.source} is", value=None)
            return
        self.code.append(value.known)
        reading = reader(value.known)
        for use in reading.files:
            self.add_use(use)
        if reading.doubt:
            self.doubt("language", reading.doubt)


def _paths_in(text: str) -> Iterator[str]:
    """Texts in a word that may be paths: all of it, and what stands in an option or behind `=`."""
    if not text or len(text) > MAX_PATH or "\n" in text:
        return
    if not text.startswith("-"):
        yield text
    option = _OPTION_WITH_PATH.fullmatch(text)
    if option is not None:
        yield from (path for path in option.groups() if path)


def _as_pattern(value: Value) -> str:
    return value.text if value.certainty is Certainty.BOUNDED else escape(value.text)
