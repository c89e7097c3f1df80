"""The judge of files that a command's report does not list. The command can still use them.

Any argument can name a file, and some commands use files that no argument names (`git stash`).

Invariant: no judgement of this module allows a call.
"""

import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.decision.file_judge import GUARDED, SECRETS_RISK, FileJudge
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.line_uses import Uses, paths_from
from tui_agent.policy.decision.path_candidates import Candidate, path_candidates
from tui_agent.policy.decision.rule_index import RuleIndex
from tui_agent.policy.decision.unnamed_files import (
    changes_unnamed,
    is_runner,
    is_uncertain,
    may_change,
    reads_unnamed,
)
from tui_agent.policy.decision.word_lists import word_list
from tui_agent.policy.interpreter.report import Certainty, CommandReport, FileUse
from tui_agent.policy.places.paths import Place, place
from tui_agent.policy.rules.grammar import What
from tui_agent.ports.policy import PolicyFacts

_READS: Final[tuple[What, ...]] = ("read",)
_CHANGES: Final[tuple[What, ...]] = ("edit", "remove")
_DISK: Final = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|md|dm-|mapper/|disk/|loop|sr)")
_OUTPUT_OPTION: Final = re.compile(
    r"-[odtPCBwDO]|of|(?=[\w-]+\Z)[\w-]*?(?:out|dir|dest|target|prefix|report|xml|save|cache|path|root|log|dump).*",
    re.IGNORECASE,
)
"""Matches options whose value is probably an output file."""


@dataclass(frozen=True, slots=True)
class MentionedFileJudge:
    """Judges files that the reports on commands do not list. The commands can still use them."""

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
        for candidate in path_candidates(command):
            for path in paths_from(command, candidate.text, cwd):
                at = place(path, self.facts)
                yield from self._secrets_below(command, at)
                if not starts and path not in proven:
                    yield from self._judge_mention(command, candidate, at)
        if not starts:
            yield from self._put_into_folders(command, uses)
            yield from self._git_settings(command)
            yield from self._read_by_input(command, uses)
            yield from self._filled_folder(command, cwd)

    def _judge_unnamed(self, command: CommandReport) -> Iterator[Judgement]:
        reads = self.rules.rules_against(*_READS) and reads_unnamed(command)
        if reads or (self.rules.rules_against(*_CHANGES) and changes_unnamed(command)):
            why = f"tui-agent cannot tell which files {command.name or 'it'} uses, and your rules restrict some files"
            yield Judgement("ask", "rules.unnamed", why)

    def _judge_mention(self, command: CommandReport, candidate: Candidate, at: Place) -> Iterator[Judgement]:
        is_output = bool(_OUTPUT_OPTION.fullmatch(candidate.option)) and not command.name.startswith("git")
        writes = _only_carries(command) and not command.effects.isdisjoint({Effect.WRITES, Effect.DELETES})
        certain = writes or (is_output and bool(command.entry))
        pattern = candidate.pattern and bool(candidate.text.strip("*?/"))
        yield from self._judge_guarded(command, at, certain=certain, pattern=pattern)
        runner = is_runner(command) and not is_output and not command.code
        below = not candidate.is_piece and (not runner or Effect.CONNECTS in command.effects)
        certainty = Certainty.BOUNDED if candidate.pattern else Certainty.KNOWN
        use = FileUse(at.given, "mention", certainty, below)
        changes = may_change(command) or is_output or candidate.in_code
        for kinds, sure in ((_READS, True), (_CHANGES, certain))[: 2 if changes else 1]:
            judgement = self.files.find_rule_against(use, at, kinds)
            if judgement is not None and (candidate.in_code or not sure):
                why = f"{judgement.reason}, and it is not certain whether {at.given} is used"
                judgement = replace(judgement, verdict="ask", reason=why)
            yield from filter(None, (judgement,))

    def _judge_guarded(
        self, command: CommandReport, at: Place, *, certain: bool, pattern: bool = False
    ) -> Iterator[Judgement]:
        """Ask about a guarded file. Deny if the command certainly writes a protected file."""
        name = command.name or "it"
        guard = self.files.find_write_guard(at, pattern=pattern)
        if not guard or at.absolute in self.facts.public_files:
            return
        if guard == "secret":
            yield self._ask(
                "secrets", f"{at.given} may hold secrets, and it is not known what {name} does with it"
            )
            return
        disk = bool(_DISK.match(at.absolute))
        if (certain and guard == "protected") or (disk and (certain or not command.entry)):
            yield Judgement("deny", f"guard.{guard}", f"{at.given} {GUARDED[guard]}")
        elif guard == "protected" or disk or self._may_write_system(command, at, certain=certain):
            yield self._ask("guarded", f"{at.given} {GUARDED[guard]}, and {name} may write it")

    def _may_write_system(self, command: CommandReport, at: Place, *, certain: bool) -> bool:
        known = bool(command.entry) and (certain or is_uncertain(command))
        return known and not at.absolute.startswith("/dev/")

    def _ask(self, name: str, why: str) -> Judgement:
        return Judgement("ask", f"{self.facts.policy}.{name}", why, default_no=True, needs_person=True)

    def _secrets_below(self, command: CommandReport, at: Place) -> Iterator[Judgement]:
        sends = Effect.CONNECTS in command.effects or (_only_carries(command) and is_uncertain(command))
        if self.facts.sandboxed or at.relative is None or not sends:
            return
        front = f"{at.relative}/" if at.relative else ""
        name = next((secret.name for secret in self.facts.secrets if secret.name.startswith(front)), "")
        if name:
            yield _below_judgement(name)

    def _read_by_input(self, command: CommandReport, uses: Uses) -> Iterator[Judgement]:
        """Ask about a command that reads files named on its standard input (`ls -A | xargs cat`)."""
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
                    found = self.files.find_rule_against(linked, place(source, self.facts), _READS)
                    yield from filter(None, (found,))
                name = posixpath.basename(source.rstrip("/"))
                at = place(posixpath.join(target.given, name), self.facts)
                found = self.files.judge_place(replace(use, action="write", below=False), at)
                if found.is_rule or found.is_guard or self.files.guards.is_run_by_others(at):
                    yield found
                if use.action == "move" and not target.inside:
                    yield self.files.judge_place(replace(use, action="delete"), place(source, self.facts))

    def _filled_folder(self, command: CommandReport, cwd: str) -> Iterator[Judgement]:
        """Judge the working folder of a command that writes files without naming them (`cd .git && tar xf a.tar`)."""
        for path in paths_from(command, "any", cwd) if changes_unnamed(command) else ():
            yield from self._judge_guarded(command, place(path, self.facts), certain=_only_carries(command))

    def _git_settings(self, command: CommandReport) -> Iterator[Judgement]:
        """Ask about a command that sets git's settings. A setting can make git run a program."""
        texts = [word.known or "?" for word in command.words]
        if self.facts.sandboxed or command.name not in word_list("git_settings") or "config" not in texts:
            return
        named = [text for text in texts[texts.index("config") + 1 :] if not text.startswith("-")]
        if len(named) > 1:
            yield self._ask("guarded", f"it sets git's {named[0]}, which can make git run a program")


def _below_judgement(name: str) -> Judgement:
    why = f"it may also read {name}, which may hold secrets"
    return Judgement("ask", "guard.below", why, SECRETS_RISK, default_no=True, needs_person=True)


def _proven_paths(command: CommandReport, uses: Uses) -> Collection[str]:
    """Return the paths of files whose use in the report is certain and complete."""
    if command.doubts or (changes_unnamed(command) and not is_runner(command)):
        return ()
    return {path for use, path in uses if use.action != "mention"}


def _only_carries(command: CommandReport) -> bool:
    """Return True for a known program that reads, writes or sends files but runs no code."""
    return bool(command.entry) and Effect.RUNS not in command.effects
