"""The judge of one file that a call uses: guards first, then rules, then the profile.

Invariant: a denial by a guard or a rule wins, and no rule lifts a denial by the profile.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.decision import path_patterns
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.profiles import Profile
from tui_agent.policy.decision.rule_index import (
    RuleIndex,
    first_judgement,
    has_fixed_place,
    stopping_judgement,
)
from tui_agent.policy.interpreter.command_report import Certainty, FileAction, FileUse
from tui_agent.policy.interpreter.shell_state import goes_back
from tui_agent.policy.places.path_places import Guards, Place, lexical_place, place
from tui_agent.policy.rules.grammar import RuleKind, Verdict
from tui_agent.ports.policy import PolicyFacts

SECRETS_RISK = "Its output may hold secrets, and the model sees it."
GUARDED = {
    "secret": "may hold secrets, so the agent must not write it",
    "protected": "can start programs or change approvals, so the agent must not write it",
    "system": "belongs to the system",
}
_NO_FILES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
_CHANGES: Final[tuple[RuleKind, ...]] = ("edit", "remove")
_RULES: Final[dict[FileAction, tuple[RuleKind, ...]]] = {
    "read": ("read",),
    "list": ("read",),
    "start": ("read",),
    "write": ("edit",),
    "move": _CHANGES,
    "delete": _CHANGES,
}
"""Maps an action on a file to the kinds of rules for it."""


RESTORABLE: Final = "restorable"
"""End of a judgement's id, as in `ask.restorable`. The judgement allows deletions that `/undo` can restore."""

READS_OUTSIDE: Final = "reads-outside"
"""End of a judgement's id, as in `ask.reads-outside`. The judgement is about reading outside the workspace."""


def is_known_file(use: FileUse) -> bool:
    """Return True if `use` is the use of one file or folder that the command names exactly."""
    return use.certainty is Certainty.KNOWN and not use.below


def is_single_deletion(use: FileUse) -> bool:
    """Return True if `use` is the deletion of one file that the command names exactly."""
    return use.action == "delete" and is_known_file(use)


@dataclass(frozen=True, slots=True)
class FileJudge:
    """Judges the files that one tool call uses.

    `tool_rule`: a rule that allows the tool itself. The rule also allows the tool to write in the workspace.
    """

    rules: RuleIndex
    guards: Guards
    profile: Profile
    facts: PolicyFacts
    tool_rule: Judgement | None = None

    def judge_use(self, use: FileUse, path: str) -> Judgement | None:
        """Return the judgement about a used file, or None if there is nothing to judge.

        `path`: the path of the file relative to the workspace.
        """
        if use.certainty is Certainty.UNKNOWN:
            return self._judge_uncertain_path(use)
        location = place(path, self.facts)
        if location.absolute in _NO_FILES or use.action == "mention":
            return None
        if use.action == "start":
            return self.find_rule_against(use, location) or self._judge_way_back(location)
        judgement = self.judge_place(use, location)
        # For a file that exists only in this session's sandbox, only rules and guards count.
        return (
            judgement
            if judgement.is_rule or judgement.is_guard
            else self._judge_temp_file(use, location) or judgement
        )

    def _judge_way_back(self, location: Place) -> Judgement | None:
        """Judge the part `name/..` of a program's path: if `name` is a link, `..` leads to another folder."""
        is_plain = location.absolute == lexical_place(location.given, self.facts.workspace).absolute
        if not goes_back(location.given) or (is_plain and location.inside):
            return None
        why = f"{location.given} leads through a link"
        return self.by_profile(self.profile.reads_outside, None, READS_OUTSIDE, why, f"{why}.")

    def judge_place(self, use: FileUse, location: Place) -> Judgement:
        """Return the judgement about the use of a file at the place `location`. The file's path must be certain."""
        ruin = self.find_ruin(use, location)
        if ruin is not None:
            return ruin
        if use.action in ("read", "list"):
            return self._read(use, location)
        if use.action == "move":  # it is deleted at the old place, and can be read at the new one
            use = replace(use, below=True)
            read = self._read(replace(use, action="read"), location)
            if read.verdict != "allow" and (read.is_rule or read.verdict == "deny"):
                return read
        return self._write(use, location)

    def find_ruin(self, use: FileUse, location: Place) -> Judgement | None:
        """Return a denial of deleting or changing a whole home, workspace or system folder. None for any other use."""
        is_whole_folder = use.below or "**" in location.given
        ruins = {"write": use.below and not location.inside, "move": True, "delete": is_whole_folder}.get(
            use.action, False
        )
        if (
            ruins
            and use.certainty is not Certainty.UNKNOWN
            and self.guards.would_ruin(location.given, location, self.facts)
        ):
            verb = "change" if use.action == "write" else use.action
            return Judgement("deny", "guard.ruin", f"it would {verb} all of {location.given or '.'}")
        return None

    def find_write_guard(self, location: Place, *, pattern: bool) -> str:
        """Return the name of the guard against writing a file, such as "secret". Empty if no guard applies.

        `pattern`: True if the path of `location` is a shell pattern. Such a path is guarded if it matches the name of a secret file.
        """
        guard = self.guards.find_write_guard(location, self.facts, pattern=pattern)
        return guard or ("secret" if pattern and self._matches_secret(location) else "")

    def find_rule_against(
        self, use: FileUse, location: Place, kinds: Sequence[RuleKind] = ()
    ) -> Judgement | None:
        """Return the judgement of the `ask` and `deny` rules for a file, or None.

        `kinds`: the kinds of rules to apply; by default, the kinds for the action of `use`.
        """
        kinds = kinds or _RULES[use.action]
        rules = [rule for kind in kinds for rule in self.rules.rules_for_file(location, kind, self.facts)]
        judgement = stopping_judgement(rules)
        pattern = use.certainty is Certainty.BOUNDED
        if judgement is None and pattern:
            judgement = self._pattern_rule(location, kinds)
        if judgement is None and use.below:
            judgement = self._rule_below(use, location, kinds)
        return judgement

    def find_chosen_secret(self, use: FileUse) -> Judgement | None:
        """Return a refusal if a search selects files with secrets (`grep -r --include=.env X`); otherwise None."""
        for shape in use.only:
            for name in path_patterns.expand_braces(shape):
                location = place(name.strip("/").removeprefix("**/") or ".", self.facts)
                if self.guards.is_secret(location, pattern=bool(set(name) & path_patterns.SIGNS)):
                    why = f"{shape} selects files with secrets, which the agent must not read"
                    return Judgement("deny", "guard.secret", why)
        return None

    def by_profile(
        self, verdict: Verdict, rule: Judgement | None, id_end: str, why: str, risk: str = ""
    ) -> Judgement:
        """Return `rule`, or the profile's own judgement if there is no rule or if the profile denies.

        `verdict`: the profile's verdict.
        `id_end`: the end of the judgement's id.
        `why`: the reason for asking or denying.
        `risk`: a sentence for the approval.
        """
        policy = self.facts.policy
        if rule is not None and verdict != "deny":
            return rule
        if verdict == "allow":
            return Judgement("allow", f"{policy}.{id_end}", f"policy {policy} allows it")
        return Judgement(verdict, f"{policy}.{id_end}", why, risk, default_no=bool(risk) and verdict == "ask")

    def _read(self, use: FileUse, location: Place) -> Judgement:
        """Judge reading a file or a folder."""
        free = location.inside or self.guards.is_open_to_all(location)
        secret = self.guards.is_secret(location, pattern=use.certainty is Certainty.BOUNDED)
        if (
            secret
            and location.absolute not in self.facts.public_files
            # A list shows only names, and those in the workspace are no secret.
            and not (free and use.action == "list")
        ):
            return Judgement(
                "deny", "guard.secret", f"{location.given} may hold secrets, so the agent must not read it"
            )
        chosen = self.find_chosen_secret(use) if use.action == "read" else None
        if chosen is not None:
            return chosen
        verdict = self.profile.reads_outside
        stopped = self.find_rule_against(replace(use, below=use.below and use.action == "read"), location)
        # If the profile denies, an `ask` rule must not weaken that.
        if stopped is not None and (free or stopped.verdict == "deny" or verdict != "deny"):
            return stopped
        if location.inside:
            return Judgement("allow", "reads.workspace", "it only reads this workspace")
        if free:
            return Judgement("allow", "reads.system", "it only reads system files that everyone can read")
        allowed = first_judgement(self.rules.rules_for_file(location, "read", self.facts), "allow")
        why = f"{location.given} is outside this workspace"
        return self.by_profile(verdict, allowed, READS_OUTSIDE, why, f"{why}.")

    def _write(self, use: FileUse, location: Place) -> Judgement:
        pattern, removes = use.certainty is Certainty.BOUNDED, use.action == "delete"
        guard = self.find_write_guard(location, pattern=pattern)
        if guard:
            return Judgement("deny", f"guard.{guard}", f"{location.given} {GUARDED[guard]}")
        inside = self.profile.deletes_inside if removes else self.profile.writes_inside
        verdict = inside if location.inside else self.profile.writes_outside
        stopped = self.find_rule_against(use, location)
        if stopped is not None and (stopped.verdict == "deny" or verdict != "deny"):
            return stopped
        # A pattern can match a link to another folder, so no rule allows such a deletion.
        through = removes and pattern and path_patterns.leads_through_pattern(location.given)
        rules = self.rules.rules_for_file(location, "remove" if removes else "edit", self.facts)
        rule = None if through else first_judgement(rules, "allow")
        policy, risk = self.facts.policy, ""
        if verdict == "ask" and rule is None and self._can_restore(use, location):
            return Judgement(
                "allow", f"{policy}.{RESTORABLE}", "it only deletes files that /undo can restore"
            )
        why = f"policy {policy} requires approval for every {'removal' if removes else 'write'}"
        if verdict == "deny":
            why = f"policy {policy} allows no writes"
        elif not location.inside:
            why = f"{location.given} is outside this workspace"
            risk = f"{why}."
        elif policy != "bypass" and self._is_unrestorable(location, pattern=pattern):
            verdict, why = "ask", f"no checkpoint can hold {location.given}"
            risk = "It may change a file that /undo cannot restore."
        elif verdict == "allow" and policy != "bypass" and self.guards.is_run_by_others(location):
            verdict, why = "ask", f"other programs run {location.given} without asking"
        if location.inside and not removes:
            rule = rule or self.tool_rule
        return self.by_profile(verdict, rule, "writes", why, risk)

    def _can_restore(self, use: FileUse, location: Place) -> bool:
        restorable = is_single_deletion(use) and location.absolute in self.facts.restorable_files
        return (
            restorable
            and self.profile.writes_inside == "allow"
            and not self.guards.is_run_by_others(location)
        )

    def _is_unrestorable(self, location: Place, *, pattern: bool) -> bool:
        """Return True if the path or pattern of `location` means a file that `/undo` cannot restore."""
        root = self.facts.workspace.rstrip("/")
        return location.absolute in self.facts.unrestorable_files or (
            pattern
            and any(
                path_patterns.matches_path(location.relative or "", path.removeprefix(f"{root}/"))
                for path in self.facts.unrestorable_files
            )
        )

    def _matches_secret(self, location: Place) -> bool:
        relative = location.relative or ""
        return any(path_patterns.matches_path(relative, secret.name) for secret in self.facts.secrets)

    def _judge_uncertain_path(self, use: FileUse) -> Judgement | None:
        """Ask about the use of a file with an uncertain path, if any rule restricts files."""
        if not self.rules.rules_against(*_RULES.get(use.action, _CHANGES)):
            return None
        return Judgement(
            "ask",
            "rules.vague",
            "tui-agent cannot tell which files it uses; your rules may restrict one of them",
        )

    def _judge_temp_file(self, use: FileUse, location: Place) -> Judgement | None:
        """Allow using a temporary file of this session's sandbox. Return None for any other file."""
        known = use.certainty is Certainty.KNOWN and self.facts.sandboxed
        if not known or location.absolute not in self.facts.private_temp_paths:
            return None
        if use.action not in ("read", "list") and self.profile.confined_commands != "allow":
            return None
        return Judgement("allow", "reads.own", "it uses a temporary file of this session's sandbox")

    def _pattern_rule(self, location: Place, kinds: Sequence[RuleKind]) -> Judgement | None:
        """Judge a shell pattern by the rules for files that it can match. Return None if there is no such rule."""
        # A match of `**`, or of a rule without a folder (`**/*.lock`), is often an accident, so the verdict is *ask*.
        rules = self.rules.rules_for_pattern(location, kinds, self.facts)
        judgement = stopping_judgement(
            [rule for rule in rules if has_fixed_place(rule) and "**" not in location.given]
        )
        if judgement is not None:
            return replace(judgement, reason=f"{judgement.reason} for files that {location.given} may match")
        why = f"{location.given} may match a file that a rule restricts"
        return Judgement("ask", "rules.pattern", f"{why}: {rules[0].text}") if rules else None

    def _rule_below(self, use: FileUse, location: Place, kinds: Sequence[RuleKind]) -> Judgement | None:
        """Return the judgement of rules that restrict files below a folder, or None."""
        if use.certainty is Certainty.BOUNDED:
            rules = self.rules.rules_for_pattern(location, kinds, self.facts, below=True)
        else:
            rules = self.rules.rules_below(location, kinds, self.facts)
        rules = [rule for rule in rules if not path_patterns.leaves_out(use, rule, location.relative or "")]
        judgement = stopping_judgement([rule for rule in rules if has_fixed_place(rule)])
        if judgement is not None and use.action in ("move", "delete"):
            return judgement
        why = f"a rule restricts files below {location.given or '.'}"
        return Judgement("ask", "rules.below", f"{why}: {rules[0].text}") if rules else None
