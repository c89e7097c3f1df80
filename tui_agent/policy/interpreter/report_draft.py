"""The draft of a command's report: collects the files, hosts, code and doubts that result from each word.

Invariant: a word with uncertain text raises a doubt wherever its text matters.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never
from urllib.parse import unquote

from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.catalog_entry import Entry
from tui_agent.policy.catalog.catalog_schema import Effect, Meaning, Program
from tui_agent.policy.interpreter.command_report import (
    Certainty,
    CommandReport,
    Doubt,
    FileAction,
    FileUse,
    Value,
)
from tui_agent.policy.interpreter.expansion import STREAM, unknown_value
from tui_agent.policy.interpreter.git_words import GitWord, read_path_filter, read_revision
from tui_agent.policy.interpreter.languages import awk, jq, printf, sed
from tui_agent.policy.interpreter.languages.protocol import ScriptReader
from tui_agent.policy.interpreter.patterns import as_pattern, escape, prefix_of, split_assignment, unescape
from tui_agent.policy.interpreter.shell_state import (
    START_FOLDERS,
    Folders,
    enter_folder,
    goes_back,
    join_path,
)

_NUMBERS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "number": (
        re.compile(r"[+-]?\d+(\.\d+)?[A-Za-z%]{0,3}|[+-]?\.\d+"),
        "{word} of {program} may be something other than a number",
    ),
    "count": (re.compile(r"[+-]?(\d{1,6}|1000000)(\.\d+)?"), "{program} may run for a long time with {word}"),
    "seconds": (re.compile(r"\d{0,2}(\.\d+)?"), "{program} may run for a long time with {word}"),
}
"""Maps a meaning that requires a number to (pattern of valid numbers, doubt about other words)."""
_SCRIPT_READERS: Final[Mapping[str, ScriptReader]] = {
    "awk": awk.find_doubt,
    "jq": jq.find_doubt,
    "printf": printf.find_doubt,
    "sed": sed.find_doubt,
}
_ACTION_EFFECTS: Final = {"write": Effect.WRITES, "move": Effect.WRITES, "delete": Effect.DELETES}
_OPTION_WITH_PATH: Final = re.compile(r"-\w([^=].*)|[\w-]+=(.+)")
_ADDRESS: Final = re.compile(r"[A-Za-z][\w+.-]*:")
"""Matches a scheme or host that some programs accept before a path (`xmllint file:///x`, `tar tf host:x`)."""
MAX_PATH: Final = 4096
DEVICES: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", STREAM})
"""Paths of device files that have no content of their own."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
UNKNOWN_ENTRY: Final = Entry("", "", Program(about=""))
_ONLY_ITSELF: Final = FileUse("", "read")


@dataclass
class Draft:
    """The report of a command under construction.

    - `reach`: a `FileUse` without a path, as a template for the use of each named file.
    - `scripts`: bash texts that the command runs.
    - `printed`: patterns of the files that the command reads or lists, as the command names them. `src/` means `src`
      and everything below it. An empty pattern means a file that is not certain.
    """

    catalog: Catalog
    source: str
    words: Sequence[Value]
    folders: Folders = START_FOLDERS
    entry: Entry = UNKNOWN_ENTRY
    name: str = ""
    reach: FileUse = _ONLY_ITSELF
    effects: set[Effect] = field(default_factory=set)
    files: list[FileUse] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    settings: list[tuple[str, Value]] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    scripts: list[Value] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    runs_next: bool = False
    local_program: str = ""

    def report(self) -> CommandReport:
        if None in self.folders:
            self.doubt("folder", "it is not certain in which folder it runs")
        if Effect.RUNS in self.effects:
            # Code may use everything in the folder where it runs.
            self.files += [FileUse(folder, "list") for folder in self.folders if folder]
        return CommandReport(
            self.source,
            tuple(self.words),
            self.name,
            self.entry.place,
            frozenset(self.effects or {Effect.READS}),
            tuple(dict.fromkeys(self.files)),
            tuple(dict.fromkeys(self.hosts)),
            self.folders,
            tuple(self.settings),
            tuple(self.code),
            self.runs_next,
            self.local_program,
            tuple(dict.fromkeys(map(self._in_its_folders, self.doubts))),
            self.entry.program,
        )

    def begin_inner(self, words: Sequence[Value]) -> "Draft":
        """Return a draft for an inner command, with the same variables and folders."""
        draft = Draft(self.catalog, self.source, words, self.folders)
        for name, value in self.settings:
            draft.set_variable(name, value)
        return draft

    def _in_its_folders(self, doubt: Doubt) -> Doubt:
        """Return `doubt`, without its value if bash expands the value in another folder than the command's.

        Without a value, the names of files in the command's folder cannot settle the doubt.
        """
        here = doubt.value is None or doubt.value.found_in in (None, self.folders)
        return doubt if here else replace(doubt, value=None)

    def doubt(self, name: str, reason: str, *, hides: bool = False, value: Value | None = None) -> None:
        """Add a doubt about the command; see `Doubt` for the arguments."""
        self.doubts.append(Doubt(name, reason, hides, value))  # type: ignore[arg-type]

    def use(self, meaning: Meaning, value: Value) -> None:
        """Record the effects of a word with this meaning, such as a file to read."""
        match meaning:
            case "text" | "process" | "program" | "include" | "exclude" | "exclude folder":
                self._show_names(value)
            case "number" | "count" | "seconds":
                self._use_number(meaning, value)
            case "read" | "list" | "move" | "delete":
                self._use_file(meaning, value, self.reach)
            case "write":
                self._use_file("write", value)
            case "edit":
                self._use_file("read", value, self.reach)
                self._use_file("write", value, self.reach)
            case "file list":
                self._use_file("read", value, self.reach)
                self._add_unknown(FileUse("", "read"), f"it uses the files that {value.source} names")
            case "enter":
                self.enter(value)
            case "revision" | "revision or path":
                self._use_git_word(value, read_revision(value, may_be_path=meaning != "revision"))
            case "path filter":
                self._use_git_word(value, read_path_filter(value), is_filter=True)
            case "host":
                self._use_host(value)
            case "variable":
                if value.known is None or self.catalog.variables.may_hold_secret(value.known):
                    self.show_secret(value.source)
            case "shell variable":
                self.set_variable(value.known or "", unknown_value(value.source), exported=False)
            case "assignment":
                self.set_variable(*split_assignment(value))
            case "setting":
                self.doubt("operand", f"{value.source} of {self.name} is not known to be harmless")
            case "shell script":
                self.scripts.append(value)
            case "code":
                self._run_code(value)
            case "script file":
                self._use_file("read", value, self.reach)
                self.effects.add(Effect.RUNS)
            case "awk" | "jq" | "printf" | "sed":
                self._read_script(meaning, value)
            case "command" | "find" | "fd" | "xargs" | "test":
                self.doubt("operand", f"{value.source} of {self.name} may be a command")
            case _:
                assert_never(meaning)

    def add_use(self, use: FileUse) -> None:
        """Record the use of a file, once for each possible working folder of the command."""
        if use.action in _ACTION_EFFECTS:
            self.effects.add(_ACTION_EFFECTS[use.action])
        if use.certainty is Certainty.UNKNOWN:
            self._add_unknown(use, "it is not certain which files it uses")
            return
        is_pattern = use.certainty is Certainty.BOUNDED
        for folder in (*self.folders, *(START_FOLDERS if use.from_top else ())):
            # Only an absolute path, or one that begins with `~`, is certain in an unknown folder.
            if folder is None and enter_folder(None, use.path) is None:
                self._add_unknown(use)
                continue
            path = join_path(escape(folder or "") if is_pattern else folder or "", use.path)
            if is_pattern and goes_back(path):
                # The path also counts as written, for guards and for `deny` rules.
                self._add_unknown(use, f"it is not certain where {use.path} leads")
            self.files.append(replace(use, path=path))

    def add_file(self, value: Value, action: FileAction, reach: FileUse | None = None) -> None:
        """Record that the command uses the file named by a word.

        `reach`: a template for the `FileUse`; its path and action are replaced.
        """
        use = replace(reach or FileUse("", action), path=value.text, action=action, certainty=value.certainty)
        if value.certainty is Certainty.UNKNOWN:
            self._add_unknown(use, f"it is not certain which file {value.source} is", value.suffix)
            return
        if value.splits:
            self.doubt(
                "value",
                f"{value.source} is not quoted, so bash splits file names that contain spaces",
                value=value,
            )
        self.add_use(use)
        if value.names_files and "[" in value.text:
            # If no file matches `[a]b`, the word stays unchanged, and a file may have that very name.
            self.add_use(replace(use, path=unescape(value.text), certainty=Certainty.KNOWN))

    def mention(self, value: Value) -> None:
        """Record that a word could be the path of a file. It is not known how the command uses this file."""
        if value.certainty is Certainty.UNKNOWN:
            self._add_unknown(FileUse("", "mention"), suffix=value.suffix)
            return
        for path in _paths_in(value.text):
            self.add_use(FileUse(path, "mention", value.certainty))

    def _add_unknown(self, use: FileUse, doubt: str = "", suffix: str = "") -> None:
        """Record the use of a file with an unknown path.

        `suffix`: the end of the path, if it is certain: `/.env` for `"$X/.env"`. The use of `**/.env` is then recorded
        too.
        """
        self.files.append(FileUse("", use.action, Certainty.UNKNOWN, use.below))
        if doubt:
            self.doubt("value", doubt)
        start, _, names = suffix.partition("/")
        if names or start == ".":
            path = f"{start if start in ('~', '.') else '**'}/{escape(names)}"
            self.files.append(FileUse(posixpath.normpath(path), use.action, Certainty.BOUNDED, use.below))

    def _show_names(self, value: Value) -> None:
        """Record that a pattern such as `~/*` lists the names in its folder."""
        if value.names_files and value.certainty is Certainty.BOUNDED:
            folder, slash, _ = prefix_of(value).rpartition("/")
            self.add_use(FileUse(folder or slash or ".", "list"))

    def enter(self, value: Value) -> None:
        """Enter the folder `value`. File names in later words are relative to this folder."""
        self.add_file(value, "list")
        path = value.known
        folders = [None if path is None else enter_folder(folder, path) for folder in self.folders]
        self.folders = tuple(dict.fromkeys(folders))

    def set_variable(self, name: str, value: Value, *, exported: bool = True) -> None:
        """Record that the command sets a variable. Programs see the variable only if it is exported."""
        self.settings.append((name, value))
        if exported:
            self.note_shown(value)
        if name and not _VARIABLE.fullmatch(name):
            self.doubt("variable", f"{name} is not a variable")
        elif not name or self.catalog.variables.may_change_programs(name, value.known, exported=exported):
            self.doubt("variable", f"{name or value.source} is set, which may change what runs")

    def note_shown(self, value: Value) -> None:
        """Record that the command shows the environment variables whose values the word `value` can contain."""
        for name in value.shows:
            self.show_secret(f"${name}")

    def show_secret(self, source: str) -> None:
        """Record that the command shows the variable `source`, which may hold a secret."""
        self.effects.add(Effect.PRINTS_SECRETS)
        every = "it shows every variable, and one may hold a secret"
        self.doubt("value", every if source == "*" else f"it shows {source}, which may hold a secret")

    def _use_number(self, meaning: str, value: Value) -> None:
        numbers, reason = _NUMBERS[meaning]
        is_number = meaning == value.content == "number"
        if not is_number and not numbers.fullmatch(value.known or "?"):
            self.doubt("value", reason.format(word=value.source, program=self.name))

    def _use_file(self, action: FileAction, value: Value, reach: FileUse | None = None) -> None:
        if (value.known == "-" and action == "read") or value.known in DEVICES:
            return
        if value.known is not None and _ADDRESS.match(value.text):
            self.doubt("operand", f"{value.source} may be an address")
        if value.known is not None and value.text[:1] in ("@", "|"):
            self.doubt(
                "option-like",
                f"{value.source} begins with {value.text[0]}, which may be special for {self.name}",
            )
        self.add_file(value, self.reach.action if action == "read" else action, reach)
        if action == "read" and self.entry.program.added_suffixes:
            if value.known is not None and set(value.known) & set("*?["):
                self.doubt("value", f"{self.name} may itself expand {value.source} to other files")
            # If the file is missing, the program may read one with such a suffix.
            for suffix in (
                self.entry.program.added_suffixes if value.certainty is not Certainty.UNKNOWN else ()
            ):
                self.add_use(FileUse(f"{value.text}{suffix}", "read", value.certainty))
        if action in ("read", "list"):
            self.printed.append(as_pattern(value))

    def _use_git_word(self, value: Value, word: GitWord, *, is_filter: bool = False) -> None:
        """Record the files that a word of a git command names.

        `is_filter`: True if the word is certainly a path filter.
        """
        reach = self.reach
        if is_filter and self.entry.program.changes_paths:
            reach = replace(reach, action="write", below=True)
        for file in word.files:
            self.add_use(replace(reach, path=file.path, certainty=file.certainty, from_top=file.from_top))
        if is_filter and word.files:
            # The last file covers everything that the word means.
            last = word.files[-1]
            is_pattern = last.certainty is Certainty.BOUNDED
            self.printed.append("" if last.from_top else last.path if is_pattern else f"{escape(last.path)}/")
        if word.doubt:
            self.printed.append("")
            self._add_unknown(reach, word.doubt)
        elif value.certainty is Certainty.BOUNDED and not value.content:
            self.doubt(
                "value", f"git may interpret {value.source} as something other than a file name", value=value
            )

    def _use_host(self, value: Value) -> None:
        self.effects.add(Effect.CONNECTS)
        if value.known is None:
            self.mention(value)
            self.doubt("value", f"it is not certain which host {value.source} is")
        # Clients such as curl read such an address from the disk.
        elif value.known.lower().startswith("file:"):
            path = unquote(value.known[5:].removeprefix("//").removeprefix("localhost"))
            self.add_use(FileUse(path, "read"))
        else:
            self.hosts.append(value.known)

    def _run_code(self, value: Value) -> None:
        self.effects.add(Effect.RUNS)
        if value.known is None:
            self.doubt("value", f"it is not certain which code {value.source} is", hides=True)
        else:
            self.code.append(value.known)

    def _read_script(self, language: str, value: Value) -> None:
        if value.known is None:
            self.effects.add(Effect.RUNS)
            self.doubt("language", f"it is not certain which {language} script {value.source} is")
            return
        self.code.append(value.known)
        doubt = _SCRIPT_READERS[language](value.known)
        if doubt:
            self.doubt("language", doubt)


def _paths_in(text: str) -> Iterator[str]:
    """Yield the texts in a word that can be paths: the whole word, and the value of an option or assignment."""
    if not text or len(text) > MAX_PATH or "\n" in text:
        return
    if not text.startswith("-"):
        yield text
    option = _OPTION_WITH_PATH.fullmatch(text)
    if option is not None:
        yield from (path for path in option.groups() if path)
