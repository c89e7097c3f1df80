"""L3: what stands about one file: guards, then rules, then the profile.

Invariant: a guard or a rule that denies wins; the profile speaks only where no rule does, and `plan` hears none that
allows.
"""

from collections.abc import Sequence
from dataclasses import replace

from tui_agent.policy.places.paths import Guards, Place
from tui_agent.policy.rules.below import finds_secret
from tui_agent.policy.rules.findings import Finding
from tui_agent.policy.rules.grammar import Rule, What
from tui_agent.policy.rules.profiles import Profile, Verdict
from tui_agent.policy.rules.rule_set import RuleSet, first, stop
from tui_agent.ports.policy import PolicyFacts

OUTSIDE = "It is outside this workspace."
_GUARDED = {
    "secret": "may hold secrets, which are never written",
    "protected": "decides what runs or what is asked, and is never written",
    "system": "belongs to the system",
}


class FileRules:
    """One decision's word about files. `allowed` is a rule that allows the tool itself, for files of the workspace."""

    def __init__(
        self,
        rules: RuleSet,
        guards: Guards,
        profile: Profile,
        facts: PolicyFacts,
        allowed: Finding | None = None,
    ) -> None:
        self._rules = rules
        self._guards = guards
        self._profile = profile
        self._facts = facts
        self._allowed = allowed
        self.dotted = False
        """The shell's `*` may find names that begin with a dot."""

    def read(self, at: Place, *, deep: bool = False, pattern: bool = False) -> Finding:
        """About reading a file, or a folder with all below it."""
        if self._guards.secret(at, pattern=pattern):
            return Finding("deny", "guard.secret", f"{at.given} may hold secrets, which are never read")
        rules = self._rules.about_file(at, "read", self._facts)
        said = self._profile.reads_outside
        free = at.inside or self._guards.open_to_all(at)
        stopped = stop(rules) or (self._meant(at, ("read",)) if pattern else None)
        if stopped is None and deep and self.stands_below(at, "read", pattern=pattern):
            stopped = _against_some_below(at)
        if stopped is not None and (free or stopped.verdict == "deny" or said != "deny"):
            return stopped
        if at.inside:
            return Finding("allow", "reads.workspace", "it only reads this workspace")
        if free:
            return Finding(
                "allow", "reads.system", "it only reads what belongs to the system and is open to all"
            )
        why = f"{at.given} is outside this workspace"
        return self.by_profile(said, first(rules, "allow"), "reads-outside", why, OUTSIDE)

    def write(
        self,
        at: Place,
        *,
        removes: bool = False,
        moved: bool = False,
        deep: bool = False,
        pattern: bool = False,
    ) -> Finding:
        """About making, changing or removing a file; with `deep`, all that is below it as well. `moved`: it only comes to lie
        elsewhere in the workspace, which is no more than a write for the profile."""
        guard = self._guards.write(at, self._facts, pattern=pattern)
        if guard:
            return Finding("deny", f"guard.{guard}", f"{at.given} {_GUARDED[guard]}")
        there = finds_secret(at, self._facts) if pattern else None
        if there is not None:
            return Finding("deny", "guard.secret", f"{at.given} finds {there}, which {_GUARDED['secret']}")
        rules = self._rules.about_file(at, "edit", self._facts)
        whats: tuple[What, ...] = ("edit", "remove") if removes else ("edit",)
        if removes:
            rules = [rule for rule in rules if rule.verdict != "allow"]
            rules += self._rules.about_file(at, "remove", self._facts)
        stopped = stop(rules) or (self._meant(at, whats) if pattern else None)
        stopped = stopped or (self._below(at, whats, pattern=pattern) if deep else None)
        said = self._profile.writes_outside
        if at.inside:
            gone = removes and not moved
            said = self._profile.removes_inside if gone else self._profile.writes_inside
        if stopped is not None and (stopped.verdict == "deny" or said != "deny"):
            return stopped
        policy = self._facts.policy
        allowed = first(rules, "allow")
        if at.inside:
            what = "removal" if removes else "write"
            why, risk = f"policy {policy} wants a yes before any {what}", ""
            allowed = allowed or (None if removes else self._allowed)
            if said == "allow" and self._facts.policy != "bypass" and self._guards.starts(at):
                said, why = "ask", f"{at.given} is run by other programs without a question"
        else:
            why, risk = f"{at.given} is outside this workspace", OUTSIDE
        if said == "deny":
            why = f"policy {policy} allows no writes"
        return self.by_profile(said, allowed, "writes", why, risk)

    def named(self, at: Place, *, pattern: bool = False) -> Finding | None:
        """What a rule against reading says of a file that is only named."""
        found = stop(self._rules.about_file(at, "read", self._facts))
        return found or (self._meant(at, ("read",)) if pattern else None)

    def changed(self, at: Place, *, pattern: bool = False, file: bool = False) -> Finding | None:
        """What rules against editing say of a file, or a folder with some of what is below, that is changed. `file`: it
        is no folder."""
        found = stop(self._rules.about_file(at, "edit", self._facts))
        found = found or (self._meant(at, ("edit",)) if pattern else None)
        some = [] if found else self.stands_below(at, "edit", pattern=pattern)
        some = [rule for rule in some if placed(rule) or not file]
        return _against_some_below(at) if some else found

    def maybe(self, at: Place, *, writes: bool) -> Finding | None:
        """What guards say of a pattern of files of which it is not certain that they are meant."""
        found = self.write(at, pattern=True) if writes else self.read(at, pattern=True)
        return found if found.verdict == "deny" and found.rule_id.startswith("guard.") else None

    def edited(self, at: Place) -> Finding | None:
        """What rules against editing say of a file that a program of which nothing is known is told."""
        found = stop(self._rules.about_file(at, "edit", self._facts))
        why = f"nothing says what the program does with {at.given}, and a rule is against changing it"
        return replace(found, verdict="ask", reason=why) if found is not None else None

    def stands_below(self, at: Place, what: What, *, pattern: bool = False) -> Sequence[Rule]:
        """Rules that ask or deny about what may lie below a folder."""
        if not pattern:
            return self._rules.about_below(at, what, self._facts)
        return self._rules.about_pattern(at, what, self._facts, below=True, dotted=self.dotted)

    def _meant(self, at: Place, whats: Sequence[What]) -> Finding | None:
        """What rules say of names that a pattern may stand for. Where a program lists them, or a rule means files
        wherever they lie, most names that it stands for are others, and it is asked about."""
        rules = [
            rule
            for what in whats
            for rule in self._rules.about_pattern(at, what, self._facts, dotted=self.dotted)
        ]
        found = stop([rule for rule in rules if placed(rule) and "**" not in at.given])
        if found is not None:
            return replace(found, reason=f"{found.reason}, and {at.given} may stand for what it is about")
        if not rules:
            return None
        why = f"{at.given} may stand for what a rule is against: {rules[0].text}"
        return Finding("ask", "rules.pattern", why)

    def _below(self, at: Place, whats: Sequence[What], *, pattern: bool) -> Finding | None:
        rules = [rule for what in whats for rule in self.stands_below(at, what, pattern=pattern)]
        stopped = stop([rule for rule in rules if placed(rule)])
        return stopped if stopped is not None or not rules else _against_some_below(at)

    def mentions_secret(self, at: Place, *, pattern: bool = False) -> bool:
        """Whether a name on a command line is that of a file with secrets."""
        return self._guards.secret(at, pattern=pattern)

    def protects(self, at: Place) -> bool:
        """Whether it decides what runs or what is asked."""
        return self._guards.write(at, self._facts) == "protected"

    def ruins(self, path: str, at: Place) -> bool:
        """Whether taking a path away takes away a root, a home or the workspace."""
        return self._guards.ruins(path, at, self._facts)

    def by_profile(self, said: Verdict, rule: Finding | None, what: str, why: str, risk: str = "") -> Finding:
        """The profile's word, or the rule's that allows where the profile hears it."""
        policy = self._facts.policy
        if rule is not None and said != "deny":
            return rule
        if said == "allow":
            return Finding("allow", f"{policy}.{what}", f"policy {policy} allows it")
        if said == "deny":
            return Finding("deny", f"{policy}.{what}", why)
        return Finding("ask", f"{policy}.{what}", why, risk, default_no=bool(risk))


def placed(rule: Rule) -> bool:
    """Whether a rule about files says where they lie."""
    return not rule.rest.startswith(("*", "?", "["))


def _against_some_below(at: Place) -> Finding:
    return Finding("ask", "rules.below", f"a rule stands against files below {at.given}")
