"""L3: rules and guards about files that a command may use though its report does not say so: words of a program that may do
anything, code, and whole folders.

Invariant: nothing here allows; a command that is proven to read only what its report names has no findings.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.decision.code_files import judge_code
from tui_agent.policy.decision.file_certainty import (
    changes_operands,
    changes_unnamed,
    does_only_as_named,
    has_changing_word,
    is_runner,
    only_starts,
    reads_unnamed,
    shows_repository,
)
from tui_agent.policy.decision.file_judge import FileJudge
from tui_agent.policy.decision.finding import Finding
from tui_agent.policy.decision.line_uses import paths_from
from tui_agent.policy.decision.rule_index import RuleIndex
from tui_agent.policy.interpreter.report import Certainty, CommandReport, FileUse, Value
from tui_agent.policy.places.paths import Place, place
from tui_agent.policy.rules.grammar import What
from tui_agent.ports.policy import PolicyFacts

_CHANGES: Final[tuple[What, ...]] = ("edit", "remove")
_MAX_WORDS: Final = 500
_MAX_PATH: Final = 300
_ATTACHED: Final = re.compile(r"(?:(-\w)([^=\w-].*|\w[^=]*)|([\w.-]+)=(.+))", re.DOTALL)
_OUTPUT_OPTION: Final = re.compile(
    r"-[odtPCBwDO]|[\w-]*(?:out|dir|dest|target|prefix|report|xml|save|cache|path|root|log|dump)[\w-]*",
    re.IGNORECASE,
)
"""Options whose word is likely to be written."""
_DD_OUTPUT: Final = "of"
_OUTPUT: Final = re.compile(r"-o|--?\w*out(?:put)?(?:-?(?:file|dir|doc\w*))?", re.IGNORECASE)
_UNPACKING: Final = frozenset({"tar", "bsdtar", "gtar"})
_COPYING: Final = frozenset({"cp", "mv", "ln", "install", "rsync", "scp"})
_GIT_SETTINGS: Final = frozenset({"git config", "git config core.hooksPath"})
_ENTERING: Final = frozenset({"cd", "pushd"})
_SEARCHES: Final = frozenset({"rg", "grep", "egrep", "fgrep", "git grep", "ag"})
_DISK: Final = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|md|dm-|mapper/|disk/|loop|sr)")


@dataclass(frozen=True, slots=True)
class _Traits:
    """Traits of a command, computed once for all its words, which may be thousands. See `file_certainty`."""

    changes_operands: bool
    is_runner: bool
    only_as_named: bool
    compiles: bool


@dataclass(frozen=True, slots=True)
class NamedFileJudge:
    """Judges the files of commands that may do more than their reports say."""

    rules: RuleIndex
    files: FileJudge
    facts: PolicyFacts

    def judge(
        self, command: CommandReport, uses: Sequence[tuple[FileUse, str]], cwd: str
    ) -> Iterator[Finding]:
        """Yield what rules that ask or deny, and guards, say of a command. `uses` are its files as seen from the
        workspace, `cwd` the folder of the call."""
        if self.rules.has_against("read") and shows_repository(command):
            why = f"{command.name} shows files that it does not name, and rules are against some"
            yield Finding("ask", "rules.unnamed", why)
        if command.name in _ENTERING:
            yield from self._entered(command, cwd)
        if command.only_reads:
            yield from self._chosen_names(command, uses)
            return
        yield from self._git_settings(command)
        yield from judge_code(command, cwd, self.files, self.facts)
        yield from self._into_folders(command, uses)
        if only_starts(command):
            return
        if command.entry and changes_unnamed(command):
            yield from self._filled_folders(command, cwd)
        if _only_carries(command):
            for use, path in uses:
                if use.action == "mention" and use.certainty is Certainty.BOUNDED:
                    yield from self.files.refuse_secret(place(path, self.facts), pattern=True)
        named = {path: use for use, path in uses}
        traits = _Traits(
            changes_operands(command),
            is_runner(command),
            does_only_as_named(command),
            bool(command.remember) and not has_changing_word(command),
        )
        for value, option in _pieces(command):
            yield from self._word(command, traits, value, option, named, cwd)
        if traits.changes_operands:
            yield from self._changed_uses(command, uses)
        yield from self._unnamed(command)

    def _changed_uses(self, command: CommandReport, uses: Sequence[tuple[FileUse, str]]) -> Iterator[Finding]:
        """Count the files that a command names as changed ones: patterns of git's own are in no word (`git checkout -- 'a*'`)."""
        for use, path in uses:
            if use.action == "mention" or use.certainty is Certainty.UNKNOWN or command.remember:
                continue
            at, pattern = place(path, self.facts), use.certainty is Certainty.BOUNDED
            refused = self.files.refuse_write(at, pattern=pattern)
            yield from () if refused is None else (refused,)
            yield from self._changed_word(at, pattern=pattern, certain=True)

    def _filled_folders(self, command: CommandReport, cwd: str) -> Iterator[Finding]:
        """`cd .git && tar xf a.tar`: files that it does not name are made in the folder that it runs in."""
        for path in paths_from(command, "any", cwd):
            refused = self.files.refuse_write(place(path, self.facts))
            yield from () if refused is None else (refused,)

    def _word(
        self,
        command: CommandReport,
        traits: "_Traits",
        value: Value,
        option: str,
        named: Mapping[str, FileUse],
        cwd: str,
    ) -> Iterator[Finding]:
        pattern = value.certainty is Certainty.BOUNDED
        for path in paths_from(command, value.text, cwd):
            if path in named and traits.only_as_named:
                continue
            at = place(path, self.facts)
            compiled = path in named and named[path].action == "read" and traits.compiles
            output = (traits.changes_operands and not compiled) or _is_output(command, option)
            if output or (not command.entry and _DISK.match(at.absolute)):
                refused = self.files.refuse_write(at, pattern=pattern)
                yield from () if refused is None else (refused,)
            elif option and _only_carries(command):
                yield from self.files.refuse_secret(at, pattern=pattern)
            yield from self._read_word(command, traits, at, pattern=pattern)
            if output or _may_change(traits, option):
                yield from self._changed_word(at, pattern=pattern, certain=output)

    def _read_word(
        self, command: CommandReport, traits: "_Traits", at: Place, *, pattern: bool
    ) -> Iterator[Finding]:
        yield from self.files.rules_against(at, ("read",), pattern=pattern)
        if not traits.is_runner or Effect.CONNECTS in command.effects or command.code:
            yield from self.files.rules_below(at, ("read",), pattern=pattern)

    def _changed_word(self, at: Place, *, pattern: bool, certain: bool) -> Iterator[Finding]:
        for finding in self.files.rules_against(at, _CHANGES, pattern=pattern):
            yield finding if certain else replace(finding, verdict="ask")
        yield from self.files.rules_below(at, _CHANGES, pattern=pattern)

    def _entered(self, command: CommandReport, cwd: str) -> Iterator[Finding]:
        """`cd priv*`: which files the commands behind it use is not certain, so a pattern counts itself."""
        for value in command.words[1:]:
            if value.certainty is Certainty.BOUNDED:
                for path in paths_from(command, value.text, cwd):
                    yield from self.files.rules_against(place(path, self.facts), ("read",), pattern=True)

    def _chosen_names(self, command: CommandReport, uses: Sequence[tuple[FileUse, str]]) -> Iterator[Finding]:
        """Refuse a search for text in files with secrets, though only their names are shown."""
        if command.name in _SEARCHES and "--files" not in {word.known for word in command.words}:
            refused = [self.files.refuse_chosen(use) for use, _ in uses]
            yield from (finding for finding in refused if finding is not None)

    def _into_folders(self, command: CommandReport, uses: Sequence[tuple[FileUse, str]]) -> Iterator[Finding]:
        """Judge the files that a command puts into a folder under their own names (`cp .bashrc ~`)."""
        if command.name not in _COPYING:
            return
        # With an option that is not known (`-t`) the first may be the target as well.
        sources = [(use, path) for use, path in uses if use.action != "write" or command.doubts]
        targets = [path for use, path in uses if use.action in ("write", "mention") or command.doubts]
        for use, source in sources:
            pattern = use.certainty is Certainty.BOUNDED
            name = posixpath.basename(source.rstrip("/"))
            if command.name == "ln":
                yield from self.files.rules_below(place(source, self.facts), ("read",), pattern=pattern)
            for target in targets if name not in ("", ".", "..") else ():
                at = place(posixpath.join(target, name), self.facts)
                refused = self.files.refuse_write(at, pattern=pattern)
                if Effect.DELETES in command.effects:
                    refused = self.files.refuse_ruin(place(target, self.facts), target) or refused
                found = [
                    *self.files.rules_against(at, ("edit",), pattern=pattern),
                    *([refused] if refused else []),
                ]
                yield from found
                if (
                    use.action == "move"
                    and place(source, self.facts).inside
                    and not place(target, self.facts).inside
                ):
                    yield self.files.write(place(source, self.facts), removes=True, pattern=pattern)

    def _unnamed(self, command: CommandReport) -> Iterator[Finding]:
        """Ask about a command that changes or shows files which its words do not name."""
        if self.rules.has_against(*_CHANGES) and changes_unnamed(command):
            why = f"it is not known which files {command.name or 'it'} changes, and rules are against some"
            yield Finding("ask", "rules.unnamed", why)
        if self.rules.has_against("read") and reads_unnamed(command):
            why = f"it is not known which files {command.name or 'it'} reads, and rules are against some"
            yield Finding("ask", "rules.unnamed", why)

    def _git_settings(self, command: CommandReport) -> Iterator[Finding]:
        """Ask about settings of git that may name a program, also where all other commands run unasked."""
        if self.facts.sandboxed or command.name not in _GIT_SETTINGS:
            return
        texts = [word.known or "?" for word in command.words]
        named = (
            [text for text in texts[texts.index("config") + 1 :] if not text.startswith("-")]
            if "config" in texts
            else []
        )
        if len(named) > 1:
            why = f"it sets {named[0]} for git, which may name a program that git runs"
            yield Finding("ask", f"{self.facts.policy}.guarded", why, default_no=True, needs_person=True)


def _pieces(command: CommandReport) -> Iterator[tuple[Value, str]]:
    """Yield the parts of a command's words that may be paths, each with the option that it stands at, "" for none."""
    before = ""
    subcommand = command.name.split()[1:]
    for value in command.words[1:_MAX_WORDS]:
        text = value.text
        if subcommand and text == subcommand[0]:
            del subcommand[0]
            before = ""
            continue
        if (
            text in command.code
            or value.certainty is Certainty.UNKNOWN
            or not text
            or " " in text
            or "\n" in text
            or len(text) > _MAX_PATH
        ):
            before = ""
            continue
        attached = _ATTACHED.fullmatch(text)
        if attached is not None:
            option, path = (attached[1], attached[2]) if attached[1] else (attached[3], attached[4])
            for part in dict.fromkeys((path, *re.split("[=:,]", path))):
                yield replace(value, text=part), option
        if not text.startswith("-"):
            yield value, before
            for part in text.split(":")[1:] if attached is None else ():
                yield replace(value, text=part), before
        before = text if text.startswith("-") and "=" not in text else ""
    for name, value in command.settings:
        if value.known and " " not in value.text:
            yield value, name


def _is_output(command: CommandReport, option: str) -> bool:
    """Return True if a known program certainly writes the word behind this option."""
    if option == _DD_OUTPUT or (option == "-C" and command.name in _UNPACKING):
        return True
    return bool(command.entry) and bool(_OUTPUT.fullmatch(option))


def _only_carries(command: CommandReport) -> bool:
    """Return True for a known program that reads, writes or sends files, and runs nothing."""
    return bool(command.entry) and Effect.RUNS not in command.effects


def _may_change(traits: _Traits, option: str) -> bool:
    """Return True if a command may change the file of a word behind this option."""
    return not traits.only_as_named and (not traits.is_runner or bool(_OUTPUT_OPTION.fullmatch(option)))
