"""L3: the policy: guards that no profile lifts, the user's rules, escalations, then the profile.

Invariant: `decide` is pure and never raises; deny wins in whatever order rules stand; what is not proven is never
allowed by a profile that asks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from tui_agent.policy.decision.line_uses import Uses, file_uses, from_workspace, literal_path
from tui_agent.policy.decision.profiles import PROFILES
from tui_agent.policy.decision.rule_index import RuleIndex, session_rules
from tui_agent.policy.interpreter.line import read_line
from tui_agent.policy.interpreter.report import Certainty, CommandReport, FileUse, LineReport
from tui_agent.policy.places.paths import Guards
from tui_agent.policy.rules.grammar import Rule, parse_rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect, Reads, Runs, Writes
from tui_agent.protocol.events.policy import Choice, Deed

_EXACTLY = "rule: allow exact "
_CLASSES = {"writes": WORKSPACE, "connects": NETWORK}
NOBODY = "no one is there to answer"
NEVER_ASKS = "a delegate that only reads asks nothing"


@dataclass(frozen=True)
class _Judgement:
    """Everything that was found about one call, the effects that are asked about by themselves, and the reports on those that
    run commands, by their `id`."""

    findings: tuple[Finding, ...]
    asked: tuple[Effect, ...]
    lines: Mapping[int, LineReport]
    concealed: tuple[Finding, ...]

    @property
    def decided(self) -> Finding:
        """The finding that decides."""
        return strongest(self.findings)

    def uses(self, effects: Sequence[Effect]) -> Uses:
        """Return the files of all commands."""
        runs = [effect for effect in effects if isinstance(effect, Runs)]
        return [
            use
            for effect in runs
            for command in self.lines[id(effect)].commands
            for use in file_uses(effect, command)
        ]


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
        return explain(effects, tuple(judged.lines.values()), judged.findings, judged.decided)

    def paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        """See `ports.policy`."""
        found = [effect.path for effect in effects if isinstance(effect, Reads | Writes)]
        found += [literal_path(effect.cwd) for effect in effects if isinstance(effect, Runs) and effect.cwd]
        uses = list(self._uses(effects))
        found += [path for _, path in uses if path]
        found += ["~" for use, _ in uses if use.action in ("write", "move", "delete")]
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
            for _, command in self._commands(effects)
            if not command.builtin
        )
        return tuple(dict.fromkeys(name for name in names if name and "/" not in name))

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        folders = (
            "**" if folder is None else from_workspace(effect, folder or ".")
            for effect, command in self._commands(effects)
            if runs_git(command)
            for folder in command.folders
        )
        return tuple(dict.fromkeys(folders))

    def written(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._files(effects, ("write",), Certainty.KNOWN)

    def touched(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._files(effects, ("read", "write"), Certainty.KNOWN, Certainty.BOUNDED)

    def _files(
        self, effects: Sequence[Effect], actions: Sequence[str], *certainties: Certainty
    ) -> tuple[str, ...]:
        uses = self._uses(effects)
        found = (path for use, path in uses if use.action in actions and use.certainty in certainties)
        return tuple(dict.fromkeys(found))

    def _commands(self, effects: Sequence[Effect]) -> Iterator[tuple[Runs, CommandReport]]:
        for effect in effects:
            if isinstance(effect, Runs):
                yield from ((effect, command) for command in self._line(effect).commands)

    def _uses(self, effects: Sequence[Effect]) -> Iterator[tuple[FileUse, str]]:
        for effect, command in self._commands(effects):
            yield from file_uses(effect, command)

    def _line(self, effect: Runs) -> LineReport:
        return read_line(effect, self._catalog)

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
        findings = judge.judge_tool(known=bool(effects))
        asked: list[Effect] = []
        for effect in effects:
            found = judge.judge(effect)
            findings += found
            if strongest(found).verdict == "ask":
                asked.append(effect)
        concealed = find_concealed(effects)
        return _Judgement((*findings, *concealed), tuple(asked), lines, tuple(concealed))

    def _decision(self, judged: _Judgement, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        decided = judged.decided
        classes = _classes(effects, judged.lines, facts)
        if decided.verdict != "ask":
            return Decision(
                decided.verdict,
                decided.rule_id,
                decided.reason,
                classes,
                named=decided.rule_id.startswith(_EXACTLY),
                below=secrets_read(judged.uses(effects), facts.secrets, facts),
                sealed=any(finding.bounded for finding in judged.findings),
            )
        silent = NOBODY if not facts.interactive else "" if PROFILES[facts.policy].asks else NEVER_ASKS
        if silent:
            reason = f"{decided.reason}, and {silent}"
            risk, nobody = decided.risk, silent == NOBODY
            return Decision("deny", decided.rule_id, reason, classes, risk=risk, unanswered=nobody)
        asking = [finding for finding in judged.findings or (decided,) if finding.verdict == "ask"]
        shown = judged.concealed[0] if judged.concealed else decided
        return Decision(
            "ask",
            shown.rule_id,
            shown.reason,
            classes,
            _choices(judged, asking, facts),
            shown.risk,
            shown.default_no,
            by_profile=all(_is_of_profile(finding, facts) for finding in asking),
            may_try=facts.sandboxed
            and not judged.concealed
            and all(finding.not_understood for finding in asking),
        )


def _choices(judged: _Judgement, asking: Sequence[Finding], facts: PolicyFacts) -> tuple[Choice, ...]:
    if judged.concealed:
        return only_once(UNSEEN)
    if any(finding.is_rule for finding in asking):
        return only_once(RULED)
    if judged.decided.rule_id == "guard.below":
        return only_once(SECRET)
    lines = [judged.lines[id(effect)] for effect in judged.asked if isinstance(effect, Runs)]
    return offer_choices(judged.asked, lines, facts)


def _classes(
    effects: Sequence[Effect], lines: Mapping[int, LineReport], facts: PolicyFacts
) -> tuple[str, ...]:
    """Return the classes of a call, the most harmless first."""
    found: set[str] = set()
    for effect in effects:
        if isinstance(effect, Runs):
            line = lines[id(effect)]
            found |= line_classes(line)
            if any(
                is_workspace_program(command, (), facts) or runs_configured_programs(command, (), facts)
                for command in line.commands
            ):
                found.add(ARBITRARY)
        else:
            found.add(_CLASSES.get(effect.kind, READ_ONLY))
    return ranked(found)


def _is_of_profile(finding: Finding, facts: PolicyFacts) -> bool:
    """Return True if only the profile asks, about something certain: a hook may answer for the user."""
    of_profile = finding.rule_id.startswith(f"{facts.policy}.")
    return of_profile and not finding.default_no and not finding.needs_person
