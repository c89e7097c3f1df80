"""L3: the policy: guards that no profile lifts, the user's rules, then the profile.

Invariant: `decide` is pure and never raises; deny wins in whatever order rules stand; what is not understood is
never allowed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tui_agent.policy.explain import git_folders, programs_of, touched, what_it_does, written
from tui_agent.policy.places.paths import Guards, place
from tui_agent.policy.programs.installed import places_of, with_installed
from tui_agent.policy.programs.runs import mentioned_paths, read_runs
from tui_agent.policy.programs.table import Table
from tui_agent.policy.rules.below import read_below
from tui_agent.policy.rules.file_rules import FileRules
from tui_agent.policy.rules.findings import Finding, strongest
from tui_agent.policy.rules.foreign import is_own, is_steered
from tui_agent.policy.rules.grammar import Rule, parse_rule
from tui_agent.policy.rules.hosts import read_host
from tui_agent.policy.rules.offers import RULED, SECRET, UNSEEN, choices, only_once
from tui_agent.policy.rules.profiles import PROFILES
from tui_agent.policy.rules.rule_set import RuleSet, by_rule, first, granted_rules, stop
from tui_agent.policy.rules.run_rules import RunJudge
from tui_agent.policy.shell.script import ARBITRARY, NETWORK, READ_ONLY, WORKSPACE, ranked
from tui_agent.policy.unseen import unseen
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes
from tui_agent.protocol.events.policy import Deed

_EXACTLY = "rule: allow exact "
NOBODY = "no one is there to answer"
NEVER_ASKS = "a delegate that only reads asks nothing"


class RulePolicy:
    """`ports.policy.Policy` over rules.

    `user_rules` stand for every session; `own` are the product's configuration and data folders, which no agent
    may write; `programs` is the table that command lines are read by, the product's own where none is given.
    """

    def __init__(
        self,
        user_rules: Iterable[Rule | str] = (),
        *,
        own: Iterable[str] = (),
        programs: Table | None = None,
    ) -> None:
        self.rules = tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in user_rules)
        self._guards = Guards(own)
        self._programs = programs
        self._kept: tuple[tuple[str, ...], RuleSet] = ((), RuleSet(self.rules))

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        """Allow, ask or deny this call. See `ports.policy`."""
        found = self._decided(tool, effects, facts)
        return replace(found, own=tuple(sorted(facts.own_files))) if facts.own_files else found

    def _decided(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        programs = with_installed(effects, facts.resolved, self._programs)
        judge = _Judge(self._all(facts.granted), self._guards, facts, programs, tool)
        by_effect = [(effect, judge.effect(effect)) for effect in effects]
        findings = [*judge.tool(known=bool(effects)), *(one for _, several in by_effect for one in several)]
        hidden = unseen(effects)
        found = strongest([*findings, *hidden])
        classes = classes_of(effects, programs, facts)
        if found.verdict != "ask":
            named, below = found.rule_id.startswith(_EXACTLY), judge.below(effects)
            sealed = any(finding.bounded for finding in findings)
            return Decision(
                found.verdict, found.rule_id, found.reason, classes, named=named, below=below, sealed=sealed
            )
        silent = NOBODY if not facts.interactive else NEVER_ASKS if not PROFILES[facts.policy].asks else ""
        if silent:
            return Decision(
                "deny",
                found.rule_id,
                f"{found.reason}, and {silent}",
                classes,
                risk=found.risk,
                unanswered=silent == NOBODY,
            )
        findings, found = findings + hidden, hidden[0] if hidden else found
        asked = [effect for effect, several in by_effect if strongest(several).verdict == "ask"]
        ruled = any(one.verdict == "ask" and one.ruled for one in findings)
        return Decision(
            "ask",
            found.rule_id,
            found.reason,
            classes,
            only_once(UNSEEN if hidden else RULED)
            if hidden or ruled
            else only_once(SECRET)
            if found.rule_id == "guard.below"
            else choices(asked, facts, programs),
            found.risk,
            found.default_no,
            by_profile=all(_of_profile(one, facts) for one in findings or [found] if one.verdict == "ask"),
        )

    def paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        """See `ports.policy`."""
        named = self._all(tuple(granted)).named if effects else ()
        installed = places_of(effects, self._programs)
        return tuple(dict.fromkeys((*mentioned_paths(effects, self._programs), *installed, *named)))

    def deeds(self, effects: Sequence[Effect], new: Collection[str], facts: PolicyFacts) -> tuple[Deed, ...]:
        """See `ports.policy`."""
        return what_it_does(effects, new, with_installed(effects, facts.resolved, self._programs), facts)

    def programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return programs_of(effects, self._programs)

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return git_folders(effects, self._programs)

    def written(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return written(effects, self._programs)

    def touched(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return touched(effects, self._programs)

    def _all(self, granted: tuple[str, ...]) -> RuleSet:
        """All rules; sorted again only when the session's change."""
        known, found = self._kept
        if known != granted:
            found = RuleSet((*self.rules, *granted_rules(granted)))
            self._kept = (granted, found)
        return found


def _of_profile(finding: Finding, facts: PolicyFacts) -> bool:
    """Asked about because the profile is careful: no rule of anybody's names it, it is no danger, and it is
    certain what it does."""
    of_profile = finding.rule_id.startswith(f"{facts.policy}.")
    return of_profile and not finding.default_no and not finding.grave


def classes_of(
    effects: Sequence[Effect], programs: Table | None = None, facts: PolicyFacts | None = None
) -> tuple[str, ...]:
    """The classes of a call, the most harmless first."""
    found: set[str] = set()
    for effect in effects:
        match effect:
            case Reads() | Internal():
                found.add(READ_ONLY)
            case Writes():
                found.add(WORKSPACE)
            case Connects():
                found.add(NETWORK)
            case Runs():
                report = read_runs(effect, programs)
                found |= set(report.classes)
                if facts and any(is_steered(one, facts) or is_own(one, facts) for one in report.once.parts):
                    found.add(ARBITRARY)
    return ranked(frozenset(found))


class _Judge:
    """One decision's rules and facts."""

    def __init__(
        self, rules: RuleSet, guards: Guards, facts: PolicyFacts, programs: Table | None, tool: str
    ) -> None:
        self._rules = rules
        self._facts = facts
        self._programs = programs
        self._name = tool
        self._tool = rules.about_tool(tool)
        self._allowed = first(self._tool, "allow")
        self._files = FileRules(rules, guards, PROFILES[facts.policy], facts, self._allowed)
        self._runs = RunJudge(rules, self._files, PROFILES[facts.policy], facts, programs)

    def tool(self, *, known: bool) -> list[Finding]:
        """What stands about the tool itself. A rule that allows it counts alone only where its effects are not `known`."""
        allowed = self._facts.allowed_tools
        if allowed is not None and self._name not in allowed:
            return [Finding("deny", "tools.not-allowed", f"the tool {self._name} is not allowed here")]
        found = [by_rule(rule) for rule in self._tool if rule.verdict != "allow"]
        if not known and self._allowed is not None and PROFILES[self._facts.policy].rules_count:
            found.append(self._allowed)
        return found

    def effect(self, effect: Effect) -> list[Finding]:
        """Everything that stands about one effect."""
        match effect:
            case Internal():
                return [Finding("allow", "internal", "it touches only the session itself")]
            case Reads():
                return [self._files.read(place(effect.path, self._facts), deep=effect.deep)]
            case Writes():
                at = place(effect.path, self._facts)
                return [self._files.write(at, removes=effect.removes, deep=effect.removes)]
            case Connects():
                return [self._connect(effect.host)]
            case Runs():
                return self._runs.findings(effect)

    def below(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """The files with secrets that its commands would read without naming them."""
        runs = [effect for effect in effects if isinstance(effect, Runs)] if self._facts.secrets else []
        found = (
            name for one in runs for name in read_below(one, read_runs(one, self._programs), self._facts)
        )
        return tuple(dict.fromkeys(found))

    def _connect(self, host: str) -> Finding:
        if read_host(host) is None:
            return Finding("deny", "guard.host", f"it is not certain which host {host[:80]!r} names")
        rules = self._rules.about_host(host)
        stopped = stop(rules)
        policy = self._facts.policy
        said = PROFILES[policy].connects
        if stopped is not None and (stopped.verdict == "deny" or said != "deny"):
            return stopped
        why = f"policy {policy} wants a yes for network access"
        if said == "deny":
            why = f"policy {policy} allows no network"
        return self._files.by_profile(said, first(rules, "allow") or self._allowed, "network", why)
