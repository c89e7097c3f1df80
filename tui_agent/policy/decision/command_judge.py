"""The judge of a command line: rules and guards first, then each command separately.

Invariant: a line is allowed only if every command is allowed, or if an `allow exact` rule allows the whole line.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.bash.tree_check import parse_tree
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.command_rules import Words, allows, judgements_against, words_of
from tui_agent.policy.decision.effect_wording import words_for
from tui_agent.policy.decision.escalations import escalate
from tui_agent.policy.decision.file_judge import READS_OUTSIDE, RESTORABLE, FileJudge, is_single_deletion
from tui_agent.policy.decision.fork_bombs import reason_to_forbid, starts_without_end
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.line_uses import Uses, file_uses, line_uses, literal_path
from tui_agent.policy.decision.mentioned_files import MentionedFileJudge
from tui_agent.policy.decision.profiles import BEYOND_SANDBOX, Profile
from tui_agent.policy.decision.rule_index import RuleIndex, first_judgement, rule_judgement
from tui_agent.policy.decision.unconfined_commands import (
    find_unbounded,
    inner_commands,
    may_run_other_code,
    written_scripts,
)
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse, LineReport
from tui_agent.policy.interpreter.shell_state import join_path
from tui_agent.policy.places.path_places import place
from tui_agent.policy.rules.grammar import Rule, begins_with, fits_words
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

DOWNLOADS = "It downloads a package and runs it. Packages can run any code during installation."
UNPROVEN = "tui-agent cannot tell exactly what this command does."
FETCHES_CODE = "It uses the network and may run downloaded code."

_UNEXPECTED_KEYWORD = re.compile(r"unexpected `(\w+|\})`")
"""Matches our parser's message about an unexpected shell keyword. Bash refuses such a script too."""

WORKSPACE_PROGRAM_RULE = "guard.workspace-program"
"""Id of the judgement about a command whose program is a workspace file."""


@dataclass(frozen=True, slots=True)
class CommandJudge:
    """Judges the command lines of one tool call."""

    rules: RuleIndex
    files: FileJudge
    profile: Profile
    facts: PolicyFacts
    read_line: Callable[[RunEffect], LineReport]

    @property
    def _relies_on_sandbox(self) -> bool:
        return self.facts.sandboxed and self.profile.confined_commands == "allow"

    def judge(self, effect: RunEffect, line: LineReport) -> list[Judgement]:
        """Return the judgements about a command line. `line` is the report on `effect`."""
        uses = line_uses(effect, line, self.facts)
        mentioned = MentionedFileJudge(self.rules, self.files, self.facts)
        files = [
            [
                *filter(None, (self.files.judge_use(use, path) for use, path in paths)),
                *mentioned.judge(command, paths, literal_path(effect.cwd)),
            ]
            for command, paths in zip(line.commands, uses, strict=True)
        ]
        exact = [rule for rule in self.rules.rules_for("exact") if rule.rest == command_line(effect)]
        inner = [tuple(inner_commands(command, self.read_line)) for command in line.commands]
        stops = [*judgements_against(self.rules, line), *self._ruin(effect, line, chain.from_iterable(inner))]
        if self.rules.rules_against("run", "connect"):
            for script in written_scripts(line):
                stops += judgements_against(self.rules, self.read_line(script))
        stops += map(rule_judgement, exact)
        stops += [
            judgement
            for file_judgements in files
            for judgement in file_judgements
            if judgement.verdict == "deny" or judgement.is_rule
        ]
        stops = [judgement for judgement in stops if judgement.verdict != "allow"]
        # Nothing lifts a denial, so the rest of the line need not be judged.
        if any(judgement.verdict == "deny" for judgement in stops):
            return stops
        allowed = first_judgement(exact, "allow") if self.profile.hears_allow_rules else None
        # The user knows exactly this line, so doubts about its parts do not matter.
        if allowed is not None:
            return [allowed, *stops]
        stops += self._judge_unsupported_syntax(line) if line.refusal else ()
        for index, command in enumerate(line.commands):
            unbounded = find_unbounded(command, inner[index], line) if self._relies_on_sandbox else ""
            stops += self._command(line, index, uses[index], files[index], unbounded)
        stops = self._name_effects(stops)
        if effect.cwd:
            folder = place(literal_path(effect.cwd), self.facts)
            stops.append(self.files.judge_place(FileUse(effect.cwd, "read"), folder))
        restored = [
            self._can_restore(command, paths) for command, paths in zip(line.commands, uses, strict=True)
        ]
        risk = _risk_of(line, restored)
        return [_with_risk(judgement, risk) for judgement in stops]

    def _can_restore(self, command: CommandReport, paths: Uses) -> bool:
        """Return True if the command deletes files and `/undo` can restore all of them."""
        deletions = [(use, path) for use, path in paths if use.action == "delete"]
        return (
            bool(deletions)
            and not command.doubts
            and all(
                is_single_deletion(use) and place(path, self.facts).absolute in self.facts.restorable_files
                for use, path in deletions
            )
        )

    def _ruin(
        self, effect: RunEffect, line: LineReport, inner: Iterable[tuple[CommandReport, bool]]
    ) -> Iterator[Judgement]:
        """Yield the guards' denials of commands that no profile runs, such as `rm -rf ~`.

        `inner`: pairs of a command that the line might run, and True if the command's text might be only prose.
        """
        texts = (line.line, *(text for command in line.commands for text in command.code))
        reasons = [starts_without_end(text) for text in texts]
        for command, prose in chain(((command, False) for command in line.commands), inner):
            reasons.append("" if prose else command.program.forbidden or reason_to_forbid(command))
            for use, path in file_uses(effect, command):
                ruin = self.files.find_ruin(use, place(path, self.facts)) if use.action == "delete" else None
                reasons += [ruin.reason] if ruin is not None else []
        yield from (Judgement("deny", "guard.ruin", reason) for reason in reasons if reason)

    def _judge_unsupported_syntax(self, line: LineReport) -> Iterator[Judgement]:
        """Ask about or deny a command line with bash syntax that the parser does not support."""
        # Yields nothing if the programs are certain and the profile or a sandbox lets them run. Each possible command
        # is then judged by itself.
        doubts = (doubt for command in line.commands for doubt in command.doubts)
        hidden = line.unreadable or any(doubt.hides_command for doubt in doubts) or _is_broken(line)
        if (self.profile.commands == "allow" or self._relies_on_sandbox) and not hidden:
            return
        if self.profile.unproven == "deny":
            why = f"policy {self.facts.policy} allows only commands proven read-only: {line.refusal}"
            yield Judgement("deny", f"{self.facts.policy}.unproven", why)
        else:
            yield replace(self._ask_unproven(line.refusal), not_understood=True)

    def _ask_unproven(self, reason: str) -> Judgement:
        policy = self.facts.policy
        return Judgement("ask", f"{policy}.unproven", reason, UNPROVEN, default_no=True, needs_person=True)

    def _allow_by_policy(self, *, bounded: bool = False) -> Judgement:
        policy = self.facts.policy
        return Judgement("allow", f"{policy}.commands", f"policy {policy} allows it", bounded=bounded)

    def _command(
        self, line: LineReport, index: int, uses: Uses, files: Sequence[Judgement], unbounded: str
    ) -> Sequence[Judgement]:
        command = line.commands[index]
        asked = [judgement for judgement in files if judgement.verdict == "ask"]
        escalations = list(escalate(command, uses, self.facts))
        below = [judgement for judgement in escalations if judgement.rule_id == "guard.below"]
        if command.only_reads and not escalations:
            return [
                *asked,
                Judgement(
                    "allow",
                    "reads.command",
                    "it only reads this workspace or system files that everyone can read",
                ),
            ]
        rule = self._allowing_rule(line, index, command)
        if rule is not None and not any(judgement.needs_person for judgement in asked):
            # The user's rule for this command also covers what it reads outside the workspace, but not the files that
            # it changes, and no work on another project (`cd ../other && npm test`).
            if command.only_reads or not self._works_elsewhere(command, uses, rule):
                asked = [judgement for judgement in asked if not judgement.rule_id.endswith(READS_OUTSIDE)]
            return [*asked, rule_judgement(rule), *below]
        # If rules allow each deletion, or `/undo` can restore the files, the command needs no approval of its own.
        if _only_removes(command) and files and not escalations and all(map(_allows_removal, files)):
            return files
        if command.only_reads and self.profile.commands != "allow":
            return [*asked, *self._judge_escalations(escalations)]
        return [*asked, *below, self._by_profile(line, command, asked, bool(escalations), unbounded)]

    def _works_elsewhere(self, command: CommandReport, uses: Uses, rule: Rule) -> bool:
        """Return True if the command runs in a folder outside the workspace, or runs code and uses files outside.

        A program outside does not count if `rule`, which allows the command, names it.
        """
        runs = Effect.RUNS in command.effects
        named = _named_program_paths(command, rule)
        return any(
            not place(path, self.facts).inside
            for use, path in uses
            if use.action in ("read", "list")
            and (use.path in command.folders or (runs and use.path not in named))
        )

    def _judge_escalations(self, escalations: Sequence[Judgement]) -> Sequence[Judgement]:
        """Return the escalations of a read-only command, adapted to the profile and the sandbox."""
        if self._relies_on_sandbox and all(
            judgement.rule_id == WORKSPACE_PROGRAM_RULE for judgement in escalations
        ):
            return [self._allow_by_policy(bounded=True)]
        if self.profile.commands == "deny":
            return [replace(judgement, verdict="deny") for judgement in escalations]
        return escalations

    def _by_profile(
        self,
        line: LineReport,
        command: CommandReport,
        asked: Sequence[Judgement],
        escalated: bool,
        unbounded: str,
    ) -> Judgement:
        policy, verdict = self.facts.policy, self.profile.commands
        confined = self._relies_on_sandbox and not unbounded and self._is_confined(command)
        if verdict == "allow" or (verdict == "ask" and confined):
            hidden = [line.refusal or doubt.reason for doubt in command.doubts if doubt.hides_command]
            # Code that runs only because a sandbox confines it must not change the repository; see
            # `Decision.repository_read_only`.
            bounded = verdict == "ask" and may_run_other_code(command)
            return self._ask_unproven(hidden[0]) if hidden else self._allow_by_policy(bounded=bounded)
        if verdict == "deny":
            why = f"policy {policy} allows only commands proven read-only: {_because(command)}"
            return Judgement("deny", f"{policy}.commands", why)
        no = next((judgement for judgement in asked if judgement.default_no), None)
        # Doubts that the sandbox makes harmless are not the reason.
        doubtful = unbounded or not self._relies_on_sandbox or _has_unconfined_doubts(command)
        reason = no.reason if no else _join_doubts(command, unbounded) if doubtful else ""
        return Judgement(
            "ask",
            f"{policy}.commands",
            reason,
            no.risk if no else "",
            default_no=no is not None,
            needs_person=escalated or not is_ordinary(command),
            not_understood=no is None and not escalated and _is_not_understood(command),
            effects=frozenset() if reason else self._effects_to_approve(command),
        )

    def _effects_to_approve(self, command: CommandReport) -> frozenset[Effect]:
        """Return a command's effects that require approval under the profile and the sandbox."""
        unconfined = BEYOND_SANDBOX & command.effects if self._relies_on_sandbox else frozenset()
        return frozenset(unconfined or command.effects)

    def _name_effects(self, judgements: Sequence[Judgement]) -> list[Judgement]:
        """Return the judgements.

        All judgements with effects to approve get one common reason, which names these effects.
        """
        effects = frozenset(chain.from_iterable(judgement.effects for judgement in judgements))
        wishes = ", ".join(words.wish for words in words_for(effects))
        reason = f"policy {self.facts.policy} requires approval for {wishes}"
        return [
            replace(judgement, reason=reason, effects=effects) if judgement.effects else judgement
            for judgement in judgements
        ]

    def _is_confined(self, command: CommandReport) -> bool:
        beyond = BEYOND_SANDBOX & command.effects
        if _only_removes(command) and command.files and all(map(self._is_own, command.files)):
            # Nobody else has the sandbox's own temporary files.
            beyond -= {Effect.DELETES}
        return not _has_unconfined_doubts(command) and not beyond and not command.program.downloads

    def _is_own(self, use: FileUse) -> bool:
        known = use.certainty is Certainty.KNOWN
        return known and place(use.path, self.facts).absolute in self.facts.private_temp_paths

    def _allowing_rule(self, line: LineReport, index: int, command: CommandReport) -> Rule | None:
        """Return a rule that allows the command at index `index` of a line, or None."""
        words = words_of(command)
        if line.refusal or None in words or not words or not self.profile.hears_allow_rules:
            return None
        if any(doubt.hides_command or doubt.name in _NOT_BY_RULE for doubt in command.doubts):
            return None
        for rule in self.rules.rules_for("run"):
            if rule.verdict != "allow" or (rule.bounded and not is_ordinary(command)):
                continue
            if allows(rule, command) or allows_started(rule, line, index):
                return rule
            # A rule `uv run pytest` must also allow the launcher `uv run`, which is a command of its own.
            if command.runs_next and allows_started(rule, line, index + 1):
                return rule
        return None


_UNCERTAIN = frozenset({"value", "option-like", "folder", "limit"})
"""Kinds of doubts. A sandbox alone is no reason to allow a command with one of these doubts."""
_NOT_BY_RULE = frozenset({"value", "option-like", "variable", "folder", "limit"})
"""Kinds of doubts. No `allow` rule applies to a command with one of these doubts."""


def _risk_of(line: LineReport, restored: Sequence[bool]) -> str:
    """Return one sentence about the risk of a command line, or an empty string.

    `restored`: for each command, True if `/undo` can restore its deleted files.
    """
    if any(command.program.downloads for command in line.commands):
        return DOWNLOADS
    effects = {
        effect
        for command, is_restored in zip(line.commands, restored, strict=True)
        for effect in command.effects
        if not (is_restored and effect is Effect.DELETES)
    }
    risk = next((words.risk for words in words_for(effects) if words.risk), "")
    return risk or (FETCHES_CODE if {Effect.CONNECTS, Effect.RUNS} <= effects else "")


def _with_risk(judgement: Judgement, risk: str) -> Judgement:
    if not risk or judgement.verdict != "ask" or judgement.rule_id == "reads.workspace":
        return judgement
    return replace(judgement, risk=risk, default_no=True)


def is_ordinary(command: CommandReport) -> bool:
    """Return True if a command certainly does nothing but use files of this workspace or run the workspace's code.

    The rules of a trusted project can allow an ordinary command.
    """
    usual = {Effect.READS, Effect.WRITES, Effect.RUNS}
    known = Effect.RUNS not in command.effects or bool(command.program.remember) or command.runs_next
    return not command.doubts and not command.program.downloads and command.effects <= usual and known


def command_line(effect: RunEffect) -> str:
    """Return the text of an effect's command line, for the comparison with `allow exact` rules."""
    text = effect.script.strip() if effect.script else shlex.join(effect.argv)
    folder = literal_path(posixpath.normpath(effect.cwd))
    return text if folder == "." else f"cd {shlex.quote(folder)} && {text}"


def starters(line: LineReport, index: int) -> list[tuple[CommandReport, Words]]:
    """Return the commands that start the command at index `index`, innermost first, with their launcher words.

    For `pytest` in `uv run python -m pytest`, the launcher words are `python -m`, then `uv run python -m`.
    """
    words = words_of(line.commands[index])
    outer_commands: list[tuple[CommandReport, Words]] = []
    for before in reversed(line.commands[:index]):
        outer = words_of(before)
        if not (words and before.runs_next and is_ordinary(before) and outer[-len(words) :] == words):
            break
        outer_commands.append((before, outer[: -len(words)]))
    return outer_commands


def allows_started(rule: Rule, line: LineReport, index: int) -> bool:
    """Return True if a rule with launcher words (`uv run pytest`) allows the command at index `index` of a line."""
    if index >= len(line.commands) or not is_ordinary(line.commands[index]):
        return False
    words = words_of(line.commands[index])
    return any(
        begins_with(rule.rest, (*prefix, words[0])) and fits_words(rule.rest, (*prefix, *words), certain=True)
        for _, prefix in starters(line, index)
    )


def _named_program_paths(command: CommandReport, rule: Rule) -> frozenset[str]:
    """Return the paths of a command's program and of its folder (a virtual environment) if the rule names the program."""
    program = words_of(command)[0]
    if program is None or "/" not in program or program not in shlex.split(rule.rest):
        return frozenset()
    paths = {join_path(folder, program) for folder in command.folders if folder is not None}
    return frozenset(paths | {posixpath.dirname(path) for path in paths})


def _is_broken(line: LineReport) -> bool:
    """Return True if bash itself would reject the line as a syntax error; False if only our parser rejects the line."""
    if line.refusal.startswith("a second parser"):  # our own parser understood the line
        return False
    root = parse_tree(line.line)
    return bool(_UNEXPECTED_KEYWORD.search(line.refusal)) or root is None or root.has_error


def _has_unconfined_doubts(command: CommandReport) -> bool:
    return any(doubt.hides_command or doubt.name in _UNCERTAIN for doubt in command.doubts)


def _is_not_understood(command: CommandReport) -> bool:
    """Return True if the policy asks about a command only because of doubts or unknown code."""
    more = command.effects - {Effect.READS, Effect.RUNS}
    return bool(command.doubts) and not more and not command.program.downloads


def _only_removes(command: CommandReport) -> bool:
    return (
        command.effects <= {Effect.READS, Effect.DELETES}
        and not command.doubts
        and all(use.action == "delete" and use.certainty is not Certainty.UNKNOWN for use in command.files)
    )


def _allows_removal(judgement: Judgement) -> bool:
    named = judgement.rule_id.startswith("rule: allow remove ") or judgement.rule_id.endswith(
        f".{RESTORABLE}"
    )
    return judgement.verdict == "allow" and named


def _join_doubts(command: CommandReport, unbounded: str) -> str:
    """Return the reason to ask about a command: all doubts about it, then `unbounded` (see `find_unbounded`)."""
    return "; ".join(dict.fromkeys((*(doubt.reason for doubt in command.doubts), *filter(None, [unbounded]))))


def _because(command: CommandReport) -> str:
    does = ", ".join(sorted(words.warning for words in words_for(command.effects)))
    doubts = "; ".join(doubt.reason for doubt in command.doubts)
    return doubts or f"{command.name} {does or 'may do anything'}"
