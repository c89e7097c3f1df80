"""L3: the findings about one file: guards, then rules, then the profile.

Invariant: a guard or a rule that denies wins; the profile decides only where no rule does.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from tui_agent.policy.decision.finding import Finding, strongest
from tui_agent.policy.decision.path_patterns import (
    SIGNS,
    expand_braces,
    leads_through_pattern,
    leaves_out,
    matches_path,
)
from tui_agent.policy.decision.profiles import Profile
from tui_agent.policy.decision.rule_index import (
    RuleIndex,
    first_finding,
    has_fixed_place,
    stopping_finding,
)
from tui_agent.policy.interpreter.report import Certainty, FileUse
from tui_agent.policy.places.paths import Guards, Place, place
from tui_agent.policy.rules.grammar import Rule, Verdict, What
from tui_agent.ports.policy import PolicyFacts

OUTSIDE_RISK = "It is outside this workspace."
_GUARDED = {
    "secret": "may hold secrets, which are never written",
    "protected": "decides what runs or what is asked, and is never written",
    "system": "belongs to the system",
}
_NO_FILES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})


class FileJudge:
    """Judges the files of one call. `tool_rule` is a rule that allows the tool itself, for files of the workspace."""

    def __init__(
        self,
        rules: RuleIndex,
        guards: Guards,
        profile: Profile,
        facts: PolicyFacts,
        tool_rule: Finding | None = None,
    ) -> None:
        self.guards = guards
        self._rules = rules
        self._profile = profile
        self._facts = facts
        self._tool_rule = tool_rule

    def judge_use(self, use: FileUse, path: str) -> list[Finding]:
        """Return the findings about a file that a command uses; `path` is the use's path as seen from the workspace."""
        if use.certainty is Certainty.UNKNOWN:
            return self._unknown(use)
        at = place(path, self._facts)
        if at.absolute in _NO_FILES:
            return []
        pattern = use.certainty is Certainty.BOUNDED
        finding = self._by_action(use, at, path, pattern=pattern)
        if finding is not None and not finding.is_rule and not finding.rule_id.startswith("guard."):
            # What only this session's sandbox holds is judged by rules and guards alone.
            finding = self._own(at, pattern, writes=use.action not in ("read", "list")) or finding
        return [] if finding is None else [finding]

    def _by_action(self, use: FileUse, at: Place, path: str, *, pattern: bool) -> Finding | None:
        match use.action:
            case "read":
                return self.refuse_chosen(use) or self.read(at, below=use, pattern=pattern)
            case "list":
                return self._list(at, pattern=pattern)
            case "write":
                if use.below and not at.inside and self.guards.would_ruin(path, at, self._facts):
                    return Finding("deny", "guard.ruin", f"it would change all of {path}")
                return self.write(at, below=use.below, pattern=pattern)
            case "move":
                return self._move(at, path, pattern=pattern)
            case "delete":
                return self._delete(use, at, path, pattern=pattern)
            case "mention":
                why = "it is not known what the program does with it"
                return self._guarded_mention(at, path, why, pattern=pattern)
            case _:
                assert_never(use.action)

    def read(self, at: Place, *, below: FileUse | bool = False, pattern: bool = False) -> Finding:
        """Judge reading a file, or a folder with everything below it."""
        secret = self.refuse_secret(at, pattern=pattern)
        if secret:
            return secret[0]
        rules = self._rules.about_file(at, "read", self._facts)
        verdict = self._profile.reads_outside
        free = at.inside or self.guards.is_open_to_all(at)
        stopped = stopping_finding(rules) or self._pattern_rule(at, ("read",), pattern)
        use = below if isinstance(below, FileUse) else None
        if stopped is None and (use.below if use else below):
            stopped = self._rule_below(at, "read", use, pattern=pattern)
        if stopped is not None and (free or stopped.verdict == "deny" or verdict != "deny"):
            return stopped
        if at.inside:
            return Finding("allow", "reads.workspace", "it only reads this workspace")
        if free:
            return Finding("allow", "reads.system", "it only reads system files that are open to all")
        why = f"{at.given} is outside this workspace"
        return self.by_profile(verdict, first_finding(rules, "allow"), "reads-outside", why, OUTSIDE_RISK)

    def write(
        self,
        at: Place,
        *,
        removes: bool = False,
        moves: bool = False,
        below: bool = False,
        pattern: bool = False,
    ) -> Finding:
        """Judge making, changing, moving or removing a file; with `below`, everything below it as well."""
        refused = self.refuse_write(at, pattern=pattern)
        if refused is not None:
            return refused
        rules = self._rules.about_file(at, "edit", self._facts)
        whats: tuple[What, ...] = ("edit", "remove") if removes or moves else ("edit",)
        if removes:
            rules = [rule for rule in rules if rule.verdict != "allow"]
            removals = self._rules.about_file(at, "remove", self._facts)
            through = pattern and leads_through_pattern(at.given)
            rules += [rule for rule in removals if rule.verdict != "allow" or not through]
        stopped = stopping_finding(rules) or self._pattern_rule(at, whats, pattern)
        if stopped is None and below:
            stopped = self._changes_below(at, whats, pattern=pattern, all_of_it=removes or moves)
        inside = self._profile.deletes_inside if removes else self._profile.writes_inside
        verdict = inside if at.inside else self._profile.writes_outside
        if stopped is not None and (stopped.verdict == "deny" or verdict != "deny"):
            return stopped
        return self._write_by_profile(at, verdict, first_finding(rules, "allow"), removes=removes)

    def refuse_write(self, at: Place, *, pattern: bool = False) -> Finding | None:
        """Return the guard against writing a file, None where there is none."""
        guard = self.guards.find_write_guard(at, self._facts, pattern=pattern)
        if guard:
            return Finding("deny", f"guard.{guard}", f"{at.given} {_GUARDED[guard]}")
        if pattern and (hit := self.secret_match(at)):
            return Finding("deny", "guard.secret", f"{at.given} matches {hit}, which {_GUARDED['secret']}")
        return None

    def refuse_secret(self, at: Place, *, pattern: bool = False) -> Sequence[Finding]:
        """Return the guard against reading a file with secrets."""
        if self.guards.is_secret(at, pattern=pattern) and at.absolute not in self._facts.public_files:
            return [Finding("deny", "guard.secret", f"{at.given} may hold secrets, which are never read")]
        return []

    def refuse_ruin(self, at: Place, path: str) -> Finding | None:
        """Return the guard against emptying a folder, None where it is not a whole home, workspace or machine."""
        if self.guards.would_ruin(path, at, self._facts):
            return Finding("deny", "guard.ruin", f"it would delete all of {path or '.'}")
        return None

    def rules_against(self, at: Place, whats: Sequence[What], *, pattern: bool = False) -> Sequence[Finding]:
        """Return the rules that ask or deny about a file, the strongest alone."""
        rules = [rule for what in whats for rule in self._rules.about_file(at, what, self._facts)]
        found = stopping_finding(rules) or self._pattern_rule(at, whats, pattern)
        return () if found is None else (found,)

    def rules_below(self, at: Place, whats: Sequence[What], *, pattern: bool = False) -> Sequence[Finding]:
        """Return a question where a rule asks or denies about something below a folder."""
        found = (self._rule_below(at, what, None, pattern=pattern) for what in whats)
        return [finding for finding in found if finding is not None][:1]

    def judge_code(self, at: Place) -> Finding | None:
        """Judge a file that code names; a sandbox hides files with secrets, and keeps others from being written."""
        if self._facts.sandboxed:
            return None
        return self._guarded_mention(
            at, at.given, "it is not known what the code does with it", pattern=False
        )

    def by_profile(
        self, verdict: Verdict, rule: Finding | None, what: str, why: str, risk: str = ""
    ) -> Finding:
        """Return the profile's verdict, or the rule that allows where the profile hears it."""
        policy = self._facts.policy
        if rule is not None and verdict != "deny":
            return rule
        if verdict == "allow":
            return Finding("allow", f"{policy}.{what}", f"policy {policy} allows it")
        return Finding(verdict, f"{policy}.{what}", why, risk, default_no=bool(risk) and verdict == "ask")

    def secret_match(self, at: Place) -> str:
        """Return the first file with secrets in the workspace that a shell pattern matches, or ""."""
        if at.relative is None:
            return ""
        return next((file.name for file in self._facts.secrets if matches_path(at.relative, file.name)), "")

    def _unknown(self, use: FileUse) -> list[Finding]:
        """Rules about files may mean a file of which the name is not certain."""
        whats: tuple[What, ...] = ("read",) if use.action in ("read", "list") else ("edit", "remove")
        if not self._rules.has_against(*whats):
            return []
        return [
            Finding("ask", "rules.vague", "it is not certain which files it uses, and rules are against some")
        ]

    def _own(self, at: Place, pattern: bool, *, writes: bool = False) -> Finding | None:
        """In a sandbox the folders for temporary files are the session's own, and nothing of anybody else's is there."""
        if pattern or not self._facts.sandboxed or at.absolute not in self._facts.own_files:
            return None
        if writes and self._profile.confined_commands != "allow":
            return None
        return Finding("allow", "reads.own", "it uses a temporary file of this session's sandbox")

    def _list(self, at: Place, *, pattern: bool) -> Finding:
        """Judge showing names, sizes and dates: as reading, but a name alone is no secret."""
        if at.inside or self.guards.is_open_to_all(at):
            rules = self._rules.about_file(at, "read", self._facts)
            stopped = stopping_finding(rules) or self._pattern_rule(at, ("read",), pattern)
            return stopped or Finding("allow", "reads.workspace", "it only lists names in this workspace")
        return self.read(at, pattern=pattern)

    def _delete(self, use: FileUse, at: Place, path: str, *, pattern: bool) -> Finding:
        refused = self.refuse_ruin(at, path) if use.below or "**" in path else None
        return refused or self.write(at, removes=True, below=use.below, pattern=pattern)

    def _move(self, at: Place, path: str, *, pattern: bool) -> Finding:
        """Judge moving a file or a folder: it can be read and changed at its new place, and is gone from the old one."""
        if self.guards.would_ruin(path, at, self._facts):
            return Finding("deny", "guard.ruin", f"it would move all of {path or '.'}")
        read = self.read(at, below=True, pattern=pattern)
        if read.verdict != "allow" and (read.is_rule or read.verdict == "deny"):
            return read
        removed = self.rules_against(at, ("remove",), pattern=pattern)
        return strongest([self.write(at, moves=True, below=True, pattern=pattern), *removed])

    def refuse_chosen(self, use: FileUse) -> Finding | None:
        """Return a refusal where the names that a search is limited to are those of files with secrets."""
        for shape in use.only:
            for name in expand_braces(shape):
                at = place(name.strip("/").removeprefix("**/") or ".", self._facts)
                if self.guards.is_secret(at, pattern=bool(set(name) & SIGNS)):
                    return Finding(
                        "deny", "guard.secret", f"{shape} chooses files with secrets, which are never read"
                    )
        return None

    def _guarded_mention(self, at: Place, path: str, why: str, *, pattern: bool) -> Finding | None:
        policy = self._facts.policy
        if self.guards.is_secret(at, pattern=pattern):
            reason = f"{path} may hold secrets, and {why}"
            return Finding("ask", f"{policy}.secrets", reason, default_no=True, needs_person=True)
        if not self._facts.sandboxed and self.guards.find_write_guard(at, self._facts) == "protected":
            reason = f"agents may not write {path}, and {why}"
            return Finding("ask", f"{policy}.guarded", reason, default_no=True, needs_person=True)
        return None

    def _write_by_profile(
        self, at: Place, verdict: Verdict, rule: Finding | None, *, removes: bool
    ) -> Finding:
        policy = self._facts.policy
        if at.inside:
            why = f"policy {policy} wants a yes before any {'removal' if removes else 'write'}"
            risk = ""
            rule = rule or (None if removes else self._tool_rule)
            if verdict == "allow" and policy != "bypass" and self.guards.is_run_by_others(at):
                verdict, why = "ask", f"other programs run {at.given} without a question"
        else:
            why, risk = f"{at.given} is outside this workspace", OUTSIDE_RISK
        if verdict == "deny":
            why = f"policy {policy} allows no writes"
        return self.by_profile(verdict, rule, "writes", why, risk)

    def _pattern_rule(self, at: Place, whats: Sequence[What], pattern: bool) -> Finding | None:
        """Judge names that a pattern may stand for. Where the pattern comes from a program's list, or the rule means files
        wherever they lie, most names that it stands for are others, so it is asked about."""
        if not pattern:
            return None
        rules = [rule for what in whats for rule in self._rules.about_pattern(at, what, self._facts)]
        found = stopping_finding([rule for rule in rules if has_fixed_place(rule) and "**" not in at.given])
        if found is not None:
            return replace(found, reason=f"{found.reason}, and {at.given} may stand for what it is about")
        if not rules:
            return None
        return Finding(
            "ask", "rules.pattern", f"{at.given} may stand for what a rule is against: {rules[0].text}"
        )

    def _rule_below(self, at: Place, what: What, use: FileUse | None, *, pattern: bool) -> Finding | None:
        rules = self._against_below(at, what, pattern=pattern)
        rule = next((rule for rule in rules if use is None or not leaves_out(use, rule)), None)
        if rule is None:
            return None
        return Finding("ask", "rules.below", f"a rule is against files below {at.given or '.'}: {rule.text}")

    def _changes_below(
        self, at: Place, whats: Sequence[What], *, pattern: bool, all_of_it: bool
    ) -> Finding | None:
        """Judge changes below a folder. A rule that says where its files lie decides itself where `all_of_it` is changed;
        else it is not certain that a file of the rule is among those."""
        rules = [rule for what in whats for rule in self._against_below(at, what, pattern=pattern)]
        stopped = stopping_finding([rule for rule in rules if has_fixed_place(rule)])
        if stopped is not None and all_of_it:
            return stopped
        if not rules:
            return None
        return Finding(
            "ask", "rules.below", f"a rule is against files below {at.given or '.'}: {rules[0].text}"
        )

    def _against_below(self, at: Place, what: What, *, pattern: bool) -> Sequence[Rule]:
        if pattern:
            return self._rules.about_pattern(at, what, self._facts, below=True)
        return self._rules.about_below(at, what, self._facts)
