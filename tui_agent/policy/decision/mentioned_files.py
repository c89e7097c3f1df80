"""The judge of files that a command may use although the command's report does not list them.

Any part of an argument can be a path. Words are therefore split at every character that can stand before a path. And
some commands use files that no argument names (`git stash`).

Invariant: no judgement of this module allows a call.
"""

import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.file_judge import GUARDED, SECRETS_RISK, FileJudge
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.line_uses import Uses, paths_from
from tui_agent.policy.decision.repository_contents import shows_repository
from tui_agent.policy.decision.rule_index import RuleIndex
from tui_agent.policy.decision.unconfined_commands import has_open_doubt
from tui_agent.policy.decision.word_lists import word_list
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse, Value
from tui_agent.policy.interpreter.git_words import left_out_path
from tui_agent.policy.places.path_places import Place, place
from tui_agent.policy.rules.grammar import RuleKind
from tui_agent.ports.policy import PolicyFacts

_MAX_WORDS: Final = 500
_MAX_PIECES: Final = 300
_MAX_PATH: Final = 300
_CUTS: Final = re.compile(r"[\s'\"`=:,@<>;()|\[\]{}$&]+")
_IN_CODE: Final = re.compile(r"(?:^|(?<=[\s'\"`=@:<>(]))[^\s'\"`()<>;,|\[\]{}$]+")
_ATTACHED: Final = re.compile(r"(-\w)([^=\w-].*|\w[^=]*)|([\w.-]+)=(.*)", re.DOTALL)
"""Matches a word with an attached value, such as `-ofile` (a single-letter option) or `name=value`."""
_CODE_SIGN: Final = re.compile(r"[\s(]")
_LETTERS: Final = re.compile(r"-\w+?(?=[./~])")
_EXCLUDING: Final = re.compile(r"--(?:exclude|ignore)(?:-dir)?")
_CHANGING: Final = frozenset({Effect.RUNS, Effect.WRITES, Effect.DELETES})
_READS: Final[tuple[RuleKind, ...]] = ("read",)
_CHANGES: Final[tuple[RuleKind, ...]] = ("edit", "remove")
_PLAIN_SETTINGS: Final = frozenset(
    {"core.autocrlf", "init.defaultbranch", "pull.rebase", "user.email", "user.name"}
)
"""Settings of git, in lower case, whose value never makes git run a program."""
_DISK: Final = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|md|dm-|mapper/|disk/|loop|sr)")
_OUTPUT_OPTION: Final = re.compile(
    r"-[odtPCBwDO]|of|(?=[\w-]+\Z)[\w-]*?(?:out|dir|dest|target|prefix|report|xml|save|cache|path|root|log|dump).*",
    re.IGNORECASE,
)
"""Matches options whose value is probably an output file."""


@dataclass(frozen=True, slots=True)
class _PathCandidate:
    """A text in a command that can be a path.

    `option`: the option or variable that has the text as its value, or an empty string.
    `pattern`: the text is a shell pattern.
    `is_piece`: the text is only a part of a word.
    `in_code`: the text is a part of code.
    """

    text: str
    option: str = ""
    pattern: bool = False
    is_piece: bool = False
    in_code: bool = False


def _path_candidates(command: CommandReport) -> Iterator[_PathCandidate]:
    """Yield the possible paths in a command's words, variables, code and here-documents."""
    before = ""
    subcommands = command.name.split()[1:]
    texts = [*command.code]
    is_git = command.name.partition(" ")[0] == "git"
    for value in command.words[1:_MAX_WORDS]:
        if value.text in subcommands:
            subcommands.remove(value.text)
        elif value.certainty is Certainty.UNKNOWN:
            texts.append(value.source)
        elif is_git and _is_left_out(value):
            continue
        elif value.text not in command.code:
            yield from _in_value(value, before)
        # All code is searched below. A code without blanks and brackets can also be just a path.
        elif not _CODE_SIGN.search(value.text):
            yield _PathCandidate(value.text, before, is_piece=True)
        before = value.text if value.text.startswith("-") and "=" not in value.text else ""
    for name, value in command.settings:
        yield from _in_value(value, name)
    for text in (*texts, *([command.source] if "<<" in command.source else ())):
        yield from (_PathCandidate(name, is_piece=True, in_code=True) for name in _in_code(text))


def _in_value(value: Value, option: str) -> Iterator[_PathCandidate]:
    # `-xf../a.tar` contains the path `../a.tar`.
    words = [value.text, _LETTERS.sub("", value.text, count=1)]
    attached = _ATTACHED.fullmatch(value.text)
    if attached is not None:
        option = attached[1] or attached[3]
        words.append(attached[2] or attached[4])
    undivided = [word for word in words if not _CODE_SIGN.search(word)]
    pieces = (piece for word in words for piece in (*_split_text(word), *_split_text(unquote(word))))
    for piece in dict.fromkeys((*undivided, *pieces)) if not _EXCLUDING.fullmatch(option) else ():
        if piece and not piece.startswith("-") and len(piece) <= _MAX_PATH:
            yield _PathCandidate(piece, option, value.certainty is Certainty.BOUNDED, piece not in undivided)


def _is_left_out(value: Value) -> bool:
    """Return True for a path filter of git that only excludes files (`:!.env`)."""
    path = left_out_path(value)
    return path is not None and not _CUTS.search(path)


def _split_text(text: str) -> list[str]:
    return _CUTS.split(text)[:_MAX_PIECES]


def _in_code(text: str) -> Iterator[str]:
    """Yield the names in code that are quoted or look like a path."""
    for match in list(_IN_CODE.finditer(text))[:_MAX_PIECES]:
        name = match[0]
        quoted = match.start() > 0 and text[match.start() - 1] in "'\"`"
        if len(name) <= _MAX_PATH and (quoted or "/" in name or name.startswith(".")):
            yield name


def _reads_unnamed(command: CommandReport) -> bool:
    """Return True if a command can read or show files without naming them."""
    if shows_repository(command):
        return True
    if not command.name.startswith("git "):
        return _uses_unnamed(command, {Effect.RUNS}, ("read", "list"))
    limited = any(use.action == "write" and use.below for use in command.files)
    return _uses_unnamed(command, {Effect.RUNS, Effect.WRITES}, ("read", "write") if limited else ("read",))


def _changes_unnamed(command: CommandReport) -> bool:
    """Return True if a command can change or delete files without naming them."""
    return _uses_unnamed(command, _CHANGING, ("write", "move", "delete"))


def _is_uncertain(command: CommandReport) -> bool:
    """Return True if a command can use any file, even a file that its report does not list."""
    own = command.name in word_list("own_commands") and any(code.startswith(".") for code in command.code)
    return own or has_open_doubt(command)


def _is_runner(command: CommandReport) -> bool:
    """Return True if the command certainly runs the project's own code, as `pytest` does."""
    # Rules against files are not guaranteed to stop such code.
    script = any(use.action == "read" for use in command.files)
    own_code = command.program.remember or ((script or command.code) and Effect.WRITES not in command.effects)
    certain = Effect.RUNS in command.effects and not (command.doubts or command.name.startswith("git "))
    return bool(certain and own_code) and not _has_changing_word(command)


def _may_change(command: CommandReport) -> bool:
    """Return True if a command can change its file arguments. Commands that run the project's code do not count."""
    changes = bool(command.doubts) or not command.effects.isdisjoint(_CHANGING)
    return changes and not _is_runner(command)


def _uses_unnamed(command: CommandReport, effects: Collection[Effect], actions: Collection[str]) -> bool:
    if command.only_reads or (command.name in word_list("uses_no_files") and not command.doubts):
        return False
    if _is_uncertain(command):
        return True
    if any(use.action in actions for use in command.files) or _is_runner(command):
        return False
    return not command.effects.isdisjoint(effects) or _has_changing_word(command)


def _has_changing_word(command: CommandReport) -> bool:
    words = {first for word in command.words for first in word.text.split(maxsplit=1)[:1]}
    return "--check" not in words and not words.isdisjoint(word_list("changing"))


@dataclass(frozen=True, slots=True)
class MentionedFileJudge:
    """Judges files that commands may use although the reports on the commands do not list these files."""

    rules: RuleIndex
    files: FileJudge
    facts: PolicyFacts

    def judge(self, command: CommandReport, uses: Uses, cwd: str) -> Iterator[Judgement]:
        """Yield the judgements of guards and of `ask` and `deny` rules for a command.

        - `uses`: the files of the command, relative to the workspace.
        - `cwd`: the working folder of the call.
        """
        starts = command.runs_next and not command.doubts  # the started command is judged separately
        if not starts:
            yield from self._judge_unnamed(command)
        if command.only_reads:
            yield from self._judge_search(command, uses)
            return
        proven = _proven_paths(command, uses)
        for candidate in _path_candidates(command):
            for path in paths_from(command, candidate.text, cwd):
                location = place(path, self.facts)
                yield from self._secrets_below(command, location)
                if not starts and path not in proven:
                    yield from self._judge_mention(command, candidate, location)
        if not starts:
            yield from self._put_into_folders(command, uses)
            yield from self._git_settings(command)
            yield from self._read_by_input(command, uses)
            yield from self._filled_folder(command, cwd)

    def _judge_unnamed(self, command: CommandReport) -> Iterator[Judgement]:
        reads = self.rules.rules_against(*_READS) and _reads_unnamed(command)
        if reads or (self.rules.rules_against(*_CHANGES) and _changes_unnamed(command)):
            user = f"`{command.name}`" if command.name else "it"
            why = f"tui-agent cannot tell which files {user} uses; your rules may restrict one of them"
            yield Judgement("ask", "rules.unnamed", why)

    def _judge_mention(
        self, command: CommandReport, candidate: _PathCandidate, location: Place
    ) -> Iterator[Judgement]:
        is_output = bool(_OUTPUT_OPTION.fullmatch(candidate.option)) and not command.name.startswith("git")
        writes = _only_carries(command) and not command.effects.isdisjoint({Effect.WRITES, Effect.DELETES})
        certain = writes or (is_output and bool(command.entry))
        pattern = candidate.pattern and bool(candidate.text.strip("*?/"))
        yield from self._judge_guarded(command, location, certain=certain, pattern=pattern)
        runner = _is_runner(command) and not is_output and not command.code
        below = not candidate.is_piece and (not runner or Effect.CONNECTS in command.effects)
        certainty = Certainty.BOUNDED if candidate.pattern else Certainty.KNOWN
        use = FileUse(location.given, "mention", certainty, below)
        changes = _may_change(command) or is_output or candidate.in_code
        # A file that is named counts as read, but perhaps it is not changed.
        for kinds, sure in ((_READS, True), (_CHANGES, certain))[: 2 if changes else 1]:
            judgement = self.files.find_rule_against(use, location, kinds)
            if judgement is not None and (candidate.in_code or not sure):
                why = f"{judgement.reason}, but it is not certain whether {location.given} is used"
                judgement = replace(judgement, verdict="ask", reason=why)
            yield from filter(None, (judgement,))

    def _judge_guarded(
        self, command: CommandReport, location: Place, *, certain: bool, pattern: bool = False
    ) -> Iterator[Judgement]:
        """Ask about a guarded file. Deny if the command certainly writes a protected file."""
        name = command.name or "it"
        guard = self.files.find_write_guard(location, pattern=pattern)
        if not guard or location.absolute in self.facts.public_files:
            return
        if guard == "secret":
            yield self._ask(
                "secrets", f"{location.given} may hold secrets, and it is not known what {name} does with it"
            )
            return
        disk = bool(_DISK.match(location.absolute))
        if (certain and guard == "protected") or (disk and (certain or not command.entry)):
            yield Judgement("deny", f"guard.{guard}", f"{location.given} {GUARDED[guard]}")
        elif guard == "protected" or disk or self._may_write_system(command, location, certain=certain):
            yield self._ask("guarded", f"{location.given} {GUARDED[guard]}, but {name} may write it")

    def _may_write_system(self, command: CommandReport, location: Place, *, certain: bool) -> bool:
        known = bool(command.entry) and (certain or _is_uncertain(command))
        return known and not location.absolute.startswith("/dev/")

    def _ask(self, name: str, why: str) -> Judgement:
        return Judgement("ask", f"{self.facts.policy}.{name}", why, default_no=True, needs_person=True)

    def _secrets_below(self, command: CommandReport, location: Place) -> Iterator[Judgement]:
        sends = Effect.CONNECTS in command.effects or (_only_carries(command) and _is_uncertain(command))
        if self.facts.sandboxed or location.relative is None or not sends:
            return
        front = f"{location.relative}/" if location.relative else ""
        name = next((secret.name for secret in self.facts.secrets if secret.name.startswith(front)), "")
        if name:
            yield _below_judgement(name)

    def _read_by_input(self, command: CommandReport, uses: Uses) -> Iterator[Judgement]:
        """Ask about a command that reads files named on its standard input (`ls -A | xargs cat`)."""
        # The source of a command that another one starts begins with the other one's name, such as `xargs`.
        started = command.words and not command.source.startswith(command.words[0].source)
        unknown = any(use.action == "read" and use.certainty is Certainty.UNKNOWN for use, _ in uses)
        if started and unknown and self.facts.secrets and not self.facts.sandboxed:
            yield _below_judgement(self.facts.secrets[0].name)

    def _judge_search(self, command: CommandReport, uses: Uses) -> Iterator[Judgement]:
        """Deny a search in secret files, even if it shows only file names."""
        if command.name in word_list("searching") and "--files" not in {word.known for word in command.words}:
            yield from filter(None, (self.files.find_chosen_secret(use) for use, _ in uses))

    def _put_into_folders(self, command: CommandReport, uses: Uses) -> Iterator[Judgement]:
        """Judge the files that a command puts into a folder without renaming them (`cp .bashrc ~`)."""
        if command.name not in word_list("copying"):
            return
        # With an unknown option (`-t`), the first operand may be the target too.
        sources = [(use, path) for use, path in uses if use.action != "write" or command.doubts]
        targets = [path for use, path in uses if use.action in ("write", "mention") or command.doubts]
        for target in (place(path, self.facts) for path in targets):
            if Effect.DELETES in command.effects:
                ruin = self.files.find_ruin(FileUse(target.given, "delete", below=True), target)
                yield from filter(None, (ruin,))
            for use, source in sources:
                if command.name == "ln":
                    linked = replace(use, below=True)
                    judgement = self.files.find_rule_against(linked, place(source, self.facts), _READS)
                    yield from filter(None, (judgement,))
                name = posixpath.basename(source.rstrip("/"))
                location = place(posixpath.join(target.given, name), self.facts)
                judgement = self.files.judge_place(replace(use, action="write", below=False), location)
                if judgement.is_rule or judgement.is_guard or self.files.guards.is_run_by_others(location):
                    yield judgement
                if use.action == "move" and not target.inside:
                    yield self.files.judge_place(replace(use, action="delete"), place(source, self.facts))

    def _filled_folder(self, command: CommandReport, cwd: str) -> Iterator[Judgement]:
        """Judge the working folder of a command that writes files without naming them (`cd .git && tar xf a.tar`)."""
        for path in paths_from(command, "any", cwd) if _changes_unnamed(command) else ():
            yield from self._judge_guarded(command, place(path, self.facts), certain=_only_carries(command))

    def _git_settings(self, command: CommandReport) -> Iterator[Judgement]:
        """Ask about a command that sets git's settings. A setting can make git run a program."""
        texts = [word.known or "?" for word in command.words]
        if self.facts.sandboxed or command.name not in word_list("git_settings") or "config" not in texts:
            return
        named = [text for text in texts[texts.index("config") + 1 :] if not text.startswith("-")]
        if named[:1] in (["get"], ["list"], ["set"], ["unset"]):
            named = named[1:]
        if len(named) > 1 and named[0].lower() not in _PLAIN_SETTINGS:
            yield self._ask("guarded", f"it sets git's {named[0]}, which can make git run a program")


def _below_judgement(name: str) -> Judgement:
    why = f"it may also read {name}, which may hold secrets"
    return Judgement("ask", "guard.below", why, SECRETS_RISK, default_no=True, needs_person=True)


def _proven_paths(command: CommandReport, uses: Uses) -> Collection[str]:
    """Return the paths of files whose use in the report is certain and complete."""
    if command.doubts or (_changes_unnamed(command) and not _is_runner(command)):
        return ()
    return {path for use, path in uses if use.action != "mention"}


def _only_carries(command: CommandReport) -> bool:
    """Return True for a known program that reads, writes or sends files but runs no code."""
    return bool(command.entry) and Effect.RUNS not in command.effects
