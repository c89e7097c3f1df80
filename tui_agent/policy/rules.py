"""L3: the policy: guards that no profile lifts, the user's rules, then the profile.

Invariant: `decide` is pure and never raises; deny wins in whatever order rules stand; what is not understood is
never allowed.
"""

from collections.abc import Iterable, Sequence

from tui_agent.errors import ConfigError
from tui_agent.policy.findings import Finding, strongest
from tui_agent.policy.grammar import (
    Rule,
    fits_host,
    fits_path,
    fits_tool,
    may_be_below,
    parse_rule,
)
from tui_agent.policy.offers import choices
from tui_agent.policy.paths import Guards, Place, place
from tui_agent.policy.profiles import PROFILES, Profile
from tui_agent.policy.run_rules import RunJudge
from tui_agent.policy.runs import read_runs
from tui_agent.policy.script import NETWORK, READ_ONLY, WORKSPACE, ranked
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes

NOBODY = "no one is there to answer"
NEVER_ASKS = "a delegate that only reads asks nothing"
OUTSIDE = "It is outside this workspace."


class RulePolicy:
    """`ports.policy.Policy` over rules.

    `user_rules` stand for every session; `own` are the product's configuration and data folders, which no agent
    may write.
    """

    def __init__(self, user_rules: Iterable[Rule | str] = (), *, own: Iterable[str] = ()) -> None:
        self._rules = tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in user_rules)
        self._guards = Guards(own)

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        """Allow, ask or deny this call. See `ports.policy`."""
        rules = (*self._rules, *granted_rules(facts.granted))
        judge = _Judge(rules, self._guards, facts)
        by_effect = [(effect, judge.effect(effect)) for effect in effects]
        findings = [*judge.tool(tool), *(one for _, several in by_effect for one in several)]
        found = strongest(findings)
        classes = classes_of(effects)
        if found.verdict != "ask":
            return Decision(found.verdict, found.rule_id, found.reason, classes)
        silent = NOBODY if not facts.interactive else NEVER_ASKS if not PROFILES[facts.policy].asks else ""
        if silent:
            return Decision("deny", found.rule_id, f"{found.reason}, and {silent}", classes, risk=found.risk)
        asked = [effect for effect, several in by_effect if strongest(several).verdict == "ask"]
        return Decision(
            "ask",
            found.rule_id,
            found.reason,
            classes,
            choices(asked, facts),
            found.risk,
            found.default_no,
            by_profile=all(_of_profile(one, facts) for one in findings or [found] if one.verdict == "ask"),
        )


def _of_profile(finding: Finding, facts: PolicyFacts) -> bool:
    """Asked about because the profile is careful: no rule of anybody's names it, and it is no danger."""
    return finding.rule_id.startswith(f"{facts.policy}.") and not finding.default_no


def granted_rules(granted: Sequence[str]) -> tuple[Rule, ...]:
    """The session's rules. One that cannot be read allows nothing."""
    rules: list[Rule] = []
    for text in granted:
        try:
            rules.append(parse_rule(text, "this session"))
        except ConfigError:
            continue
    return tuple(rules)


def classes_of(effects: Sequence[Effect]) -> tuple[str, ...]:
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
                found |= set(read_runs(effect).classes)
    return ranked(frozenset(found))


class _Judge:
    """One decision's rules and facts."""

    def __init__(self, rules: Sequence[Rule], guards: Guards, facts: PolicyFacts) -> None:
        self._rules = rules
        self._guards = guards
        self._facts = facts
        self._profile: Profile = PROFILES[facts.policy]

    def tool(self, name: str) -> list[Finding]:
        """What stands about the tool itself, whatever it does."""
        allowed = self._facts.allowed_tools
        if allowed is not None and name not in allowed:
            return [Finding("deny", "tools.not-allowed", f"the tool {name} is not allowed here")]
        rules = [rule for rule in self._rules if rule.what == "tool" and fits_tool(rule.rest, name)]
        return [_by_rule(rule) for rule in rules if rule.verdict != "allow"]

    def effect(self, effect: Effect) -> list[Finding]:
        """Everything that stands about one effect."""
        match effect:
            case Internal():
                return [Finding("allow", "internal", "it touches only the session itself")]
            case Reads():
                return [self.read(place(effect.path, self._facts), deep=effect.deep)]
            case Writes():
                return [self.write(place(effect.path, self._facts), removes=effect.removes)]
            case Connects():
                return [self._connect(effect.host)]
            case Runs():
                return RunJudge(self._rules, self, self._profile, self._facts).findings(effect)

    def read(self, at: Place, *, deep: bool = False, pattern: bool = False) -> Finding:
        """About reading a file, or a folder with all below it."""
        if self._guards.secret(at, pattern=pattern):
            return Finding("deny", "guard.secret", f"{at.given} may hold secrets, which are never read")
        rules = self._about(at, "read")
        stopped = _first(rules, "deny") or _first(rules, "ask")
        if stopped is not None:
            return stopped
        if deep and any(self._below(rule, at) for rule in self._rules):
            return Finding("ask", "rules.below", f"a rule stands against files below {at.given}")
        if at.inside:
            return Finding("allow", "reads.workspace", "it only reads this workspace")
        if self._guards.open_to_all(at):
            return Finding(
                "allow", "reads.system", "it only reads what belongs to the system and is open to all"
            )
        return self._by_profile(
            self._profile.reads_outside,
            _first(rules, "allow"),
            "reads-outside",
            f"{at.given} is outside this workspace",
            OUTSIDE,
        )

    def write(self, at: Place, *, removes: bool = False) -> Finding:
        """About making, changing or removing a file."""
        guard = self._guards.write(at, self._facts)
        if guard:
            return Finding("deny", f"guard.{guard}", f"{at.given} {_GUARDED[guard]}")
        rules = self._about(at, "edit")
        if removes:
            rules = [rule for rule in rules if rule.verdict != "allow"] + self._about(at, "remove")
        stopped = _first(rules, "deny") or _first(rules, "ask")
        if stopped is not None:
            return stopped
        policy = self._facts.policy
        if at.inside:
            said = self._profile.removes_inside if removes else self._profile.writes_inside
            what = "removal" if removes else "write"
            why = f"policy {policy} wants a yes before any {what}"
            risk = ""
        else:
            said, why, risk = self._profile.writes_outside, f"{at.given} is outside this workspace", OUTSIDE
        if said == "deny":
            why = f"policy {policy} allows no writes"
        return self._by_profile(said, _first(rules, "allow"), "writes", why, risk)

    def mentions_secret(self, at: Place, *, pattern: bool = False) -> bool:
        """Whether a name on a command line is that of a file with secrets."""
        return self._guards.secret(at, pattern=pattern)

    def ruins(self, path: str, at: Place) -> bool:
        """Whether taking a path away takes away a root, a home or the workspace."""
        return self._guards.ruins(path, at, self._facts)

    def _connect(self, host: str) -> Finding:
        rules = [rule for rule in self._rules if rule.what == "connect" and fits_host(rule.rest, host)]
        stopped = _first(rules, "deny") or _first(rules, "ask")
        if stopped is not None:
            return stopped
        policy = self._facts.policy
        said = self._profile.connects
        why = f"policy {policy} wants a yes for network access"
        if said == "deny":
            why = f"policy {policy} allows no network"
        return self._by_profile(said, _first(rules, "allow"), "network", why)

    def _by_profile(self, said: str, rule: Finding | None, what: str, why: str, risk: str = "") -> Finding:
        policy = self._facts.policy
        if said != "deny" and rule is not None:
            return rule
        if said == "allow":
            return Finding("allow", f"{policy}.{what}", f"policy {policy} allows it")
        if said == "deny":
            return Finding("deny", f"{policy}.{what}", why)
        return Finding("ask", f"{policy}.{what}", why, risk, default_no=bool(risk))

    def _about(self, at: Place, what: str) -> list[Rule]:
        """Rules about a file: one that denies or asks is also about the name that was given."""
        given = place(at.given, PolicyFacts(self._facts.workspace, self._facts.policy))
        found = []
        for rule in self._rules:
            if rule.what != what:
                continue
            names = (at,) if rule.verdict == "allow" else (at, given)
            if any(fits_path(rule.rest, name.relative, name.absolute) for name in names):
                found.append(rule)
        return found

    def _below(self, rule: Rule, at: Place) -> bool:
        against = rule.what == "read" and rule.verdict != "allow"
        return against and may_be_below(rule.rest, at.relative, at.absolute)


_GUARDED = {
    "secret": "may hold secrets, which are never written",
    "protected": "decides what runs or what is asked, and is never written",
    "system": "belongs to the system",
}


def _by_rule(rule: Rule) -> Finding:
    where = f" of {rule.source}" if rule.source else ""
    return Finding(rule.verdict, f"rule: {rule.text}", f"the rule `{rule.text}`{where} says so")


def _first(rules: Sequence[Rule], verdict: str) -> Finding | None:
    found = sorted(rule.text for rule in rules if rule.verdict == verdict)
    by_text = {rule.text: rule for rule in rules if rule.verdict == verdict}
    return _by_rule(by_text[found[0]]) if found else None
