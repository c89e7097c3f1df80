"""L3: the policy: guards that no profile lifts, the user's rules, escalations, then the profile.

Invariant: `decide` is pure and never raises; deny wins in whatever order rules stand; what is not proven is never
allowed by a profile that asks.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from tui_agent.policy.catalog.catalog import Catalog, built_in_catalog
from tui_agent.policy.decision.assumptions import settle_doubts
from tui_agent.policy.decision.call_judge import CallJudge
from tui_agent.policy.decision.choices import RULED, SECRET, UNSEEN, offer_choices, only_once
from tui_agent.policy.decision.classes import (
    ARBITRARY,
    NETWORK,
    READ_ONLY,
    WORKSPACE,
    line_classes,
    ranked,
)
from tui_agent.policy.decision.concealment import find_concealed
from tui_agent.policy.decision.escalations import (
    GIT,
    is_workspace_program,
    program_name,
    runs_configured_programs,
    runs_git,
    secrets_read,
)
from tui_agent.policy.decision.explanation import deed_rows, explain
from tui_agent.policy.decision.finding import Finding, strongest
from tui_agent.policy.decision.line_uses import file_uses, from_workspace, literal_path
from tui_agent.policy.decision.profiles import PROFILES
from tui_agent.policy.decision.rule_index import RuleIndex, session_rules
from tui_agent.policy.interpreter.line import read_line
from tui_agent.policy.interpreter.report import Certainty, LineReport
from tui_agent.policy.places.paths import Guards
from tui_agent.policy.rules.grammar import Rule, parse_rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes
from tui_agent.protocol.events.policy import Deed

_EXACTLY = "rule: allow exact "
NOBODY = "no one is there to answer"
NEVER_ASKS = "a delegate that only reads asks nothing"


@dataclass(frozen=True)
class _Judgement:
    """Everything that was found about one call, and the effects that are asked about by themselves."""

    findings: tuple[Finding, ...]
    decided: Finding
    asked: tuple[Effect, ...]
    lines: tuple[LineReport, ...]
    asked_lines: tuple[LineReport, ...]
    concealed: tuple[Finding, ...]


class RulePolicy:
    """`ports.policy.Policy` over rules.

    `user_rules` hold for every session; `own` are the product's configuration and data folders (absolute paths), which
    no agent may write; `catalog` is what is known of programs, the built-in one if None.
    """

    def __init__(
        self,
        user_rules: Iterable[Rule | str] = (),
        *,
        own: Iterable[str] = (),
        catalog: Catalog | None = None,
    ) -> None:
        self.rules = tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in user_rules)
        self._guards = Guards(own)
        self._catalog = catalog or built_in_catalog()
        self._session: tuple[tuple[str, ...], RuleIndex] = ((), RuleIndex(self.rules))

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        """Allow, ask or deny this call. See `ports.policy`."""
        judged = self._judge(tool, effects, facts)
        decision = self._decision(judged, effects, facts)
        return replace(decision, own=tuple(sorted(facts.own_files))) if facts.own_files else decision

    def explain(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> tuple[str, ...]:
        """Return the chain of reasons behind `decide`, one a line: what was read, what is known of it, what decided."""
        judged = self._judge(tool, effects, facts)
        return explain(effects, judged.lines, judged.findings, judged.decided)

    def paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        """See `ports.policy`."""
        found: dict[str, None] = {}
        for effect in effects:
            match effect:
                case Reads() | Writes():
                    found[effect.path] = None
                case Runs():
                    if effect.cwd:
                        found[literal_path(effect.cwd)] = None
                    for command in self._line(effect).commands:
                        if any(use.action in ("write", "move", "delete") for use in command.files):
                            found["~"] = None
                        found |= dict.fromkeys(path for _, path in file_uses(effect, command) if path)
                case Connects() | Internal():
                    continue
        fixed = self._rules(tuple(granted)).fixed_paths if effects else ()
        return tuple(dict.fromkeys((*found, *fixed)))

    def deeds(self, effects: Sequence[Effect], new: Collection[str], facts: PolicyFacts) -> tuple[Deed, ...]:
        """See `ports.policy`."""
        lines = [
            settle_doubts(effect, self._line(effect), facts) for effect in effects if isinstance(effect, Runs)
        ]
        return deed_rows(effects, lines, new, facts)

    def programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        names = (
            GIT if runs_git(command) else program_name(command)
            for line in self._lines(effects)
            for command in line.commands
            if not command.builtin
        )
        return tuple(dict.fromkeys(name for name in names if name and "/" not in name))

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return tuple(
            dict.fromkeys(
                "**" if folder is None else from_workspace(effect, folder or ".")
                for effect in effects
                if isinstance(effect, Runs)
                for command in self._line(effect).commands
                if runs_git(command)
                for folder in command.folders
            )
        )

    def written(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._named_files(effects, ("write",), Certainty.KNOWN)

    def touched(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._named_files(effects, ("read", "write"), Certainty.KNOWN, Certainty.BOUNDED)

    def _named_files(
        self, effects: Sequence[Effect], actions: Sequence[str], *certainties: Certainty
    ) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                path
                for effect in effects
                if isinstance(effect, Runs)
                for command in self._line(effect).commands
                for use, path in file_uses(effect, command)
                if use.action in actions and use.certainty in certainties
            )
        )

    def _line(self, effect: Runs) -> LineReport:
        return read_line(effect, self._catalog)

    def _lines(self, effects: Sequence[Effect]) -> tuple[LineReport, ...]:
        return tuple(self._line(effect) for effect in effects if isinstance(effect, Runs))

    def _rules(self, granted: tuple[str, ...]) -> RuleIndex:
        """Index all rules; anew only when the session's change."""
        known, rules = self._session
        if known != granted:
            rules = RuleIndex((*self.rules, *session_rules(granted)))
            self._session = (granted, rules)
        return rules

    def _judge(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> _Judgement:
        lines = {
            id(effect): settle_doubts(effect, self._line(effect), facts)
            for effect in effects
            if isinstance(effect, Runs)
        }
        judge = CallJudge(self._rules(facts.granted), self._guards, facts, tool, self._line, lines)
        by_effect = [(effect, judge.judge(effect)) for effect in effects]
        findings = [
            *judge.judge_tool(known=bool(effects)),
            *(each for _, found in by_effect for each in found),
        ]
        concealed = find_concealed(effects)
        asked = tuple(effect for effect, found in by_effect if strongest(found).verdict == "ask")
        decided = strongest([*findings, *concealed])
        return _Judgement(
            (*findings, *concealed),
            decided,
            asked,
            tuple(lines.values()),
            tuple(lines[id(effect)] for effect in asked if isinstance(effect, Runs)),
            tuple(concealed),
        )

    def _decision(self, judged: _Judgement, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        decided, findings = judged.decided, judged.findings
        classes = self._classes(effects, judged.lines, facts)
        if decided.verdict != "ask":
            return Decision(
                decided.verdict,
                decided.rule_id,
                decided.reason,
                classes,
                named=decided.rule_id.startswith(_EXACTLY),
                below=self._secrets_read(effects, facts),
                sealed=any(finding.bounded for finding in findings),
            )
        silent = NOBODY if not facts.interactive else "" if PROFILES[facts.policy].asks else NEVER_ASKS
        if silent:
            reason = f"{decided.reason}, and {silent}"
            return Decision(
                "deny",
                decided.rule_id,
                reason,
                classes,
                risk=decided.risk,
                unanswered=silent == NOBODY,
            )
        if judged.concealed:
            decided = judged.concealed[0]
        asking = [finding for finding in findings or (decided,) if finding.verdict == "ask"]
        ruled = any(finding.is_rule for finding in asking)
        if judged.concealed or ruled:
            choices = only_once(UNSEEN if judged.concealed else RULED)
        elif decided.rule_id == "guard.below":
            choices = only_once(SECRET)
        else:
            choices = offer_choices(judged.asked, judged.asked_lines, facts)
        return Decision(
            "ask",
            decided.rule_id,
            decided.reason,
            classes,
            choices,
            decided.risk,
            decided.default_no,
            by_profile=all(_is_of_profile(finding, facts) for finding in asking),
            may_try=facts.sandboxed
            and not judged.concealed
            and all(finding.not_understood for finding in asking),
        )

    def _classes(
        self, effects: Sequence[Effect], lines: Sequence[LineReport], facts: PolicyFacts
    ) -> tuple[str, ...]:
        """Return the classes of a call, the most harmless first."""
        found: set[str] = set()
        reports = iter(lines)
        for effect in effects:
            match effect:
                case Reads() | Internal():
                    found.add(READ_ONLY)
                case Writes():
                    found.add(WORKSPACE)
                case Connects():
                    found.add(NETWORK)
                case Runs():
                    line = next(reports)
                    found |= line_classes(line)
                    if any(
                        is_workspace_program(command, (), facts)
                        or runs_configured_programs(command, (), facts)
                        for command in line.commands
                    ):
                        found.add(ARBITRARY)
        return ranked(found)

    def _secrets_read(self, effects: Sequence[Effect], facts: PolicyFacts) -> tuple[str, ...]:
        """Return the files with secrets that commands would read without naming them."""
        if not facts.secrets:
            return ()
        uses = [
            use
            for effect in effects
            if isinstance(effect, Runs)
            for command in self._line(effect).commands
            for use in file_uses(effect, command)
        ]
        return secrets_read(uses, facts.secrets, facts)


def _is_of_profile(finding: Finding, facts: PolicyFacts) -> bool:
    """Return True if only the profile asks, about something certain: a hook may answer for the user."""
    of_profile = finding.rule_id.startswith(f"{facts.policy}.")
    return of_profile and not finding.default_no and not finding.needs_person
