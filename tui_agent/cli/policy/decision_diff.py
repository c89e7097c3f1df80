"""Recorded decisions judged again by other rules, and the differences.

Invariant: pure. A decision is judged with the facts of its time (workspace, profile, session rules, sandbox). Links are
not followed, because their targets are not recorded.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, get_args

from tui_agent.ports.policy import Decision, Policy, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.settings import PolicyName

Change: TypeAlias = Literal["saved", "passes", "opened", "stopped", "asked", "same"]
CHANGES: tuple[Change, ...] = get_args(Change)
"""How a decision would change.

`saved`: it was asked and allowed, or nobody could be asked, and it would now run without a question. `passes`: the user
denied it, and it would run. `opened`: a rule or the profile denied it, and it would run or be asked about. `stopped`:
it ran, and would be denied. `asked`: it ran without a question, and would be asked about. `same`: no difference.
"""


HOOK: Final = "hook"
"""The rule id recorded for decisions of hooks."""
SANDBOX: Final = frozenset({"sandbox.leave", "sandbox.open"})
"""The rule ids recorded for leaving the sandbox and for opening secret files to it."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A recorded decision, and the decision that would be made now."""

    change: Change
    said: PermissionDecided
    now: Decision

    @property
    def what(self) -> str:
        """A short description of the judged effects."""
        return "; ".join(_describe_effect(effect) for effect in self.said.effects) or "unknown effects"


@dataclass(slots=True)
class Tally:
    """Counts over many decisions. `by_rule`: counts of changes by the rule that decides now."""

    decisions: int = 0
    questions: int = 0
    changes: Counter[Change] = field(default_factory=Counter)
    by_rule: dict[str, Counter[Change]] = field(default_factory=dict)

    def add(self, tried: Tried) -> None:
        """Count one decision."""
        self.decisions += 1
        self.questions += was_asked(tried.said)
        self.changes[tried.change] += 1
        if tried.change != "same":
            self.by_rule.setdefault(tried.now.rule_id, Counter())[tried.change] += 1


class Trial:
    """Judges recorded decisions by `policy`; `profile` replaces the recorded profile."""

    def __init__(self, policy: Policy, profile: PolicyName | None = None) -> None:
        self._policy = policy
        self._profile = profile
        self._decisions: dict[object, Decision] = {}

    def judge(
        self, said: PermissionDecided, tool: str, workspace: str, sandboxed: bool, granted: Sequence[str]
    ) -> Tried:
        """Return the recorded decision with the one that would be made now."""
        profile = self._profile or said.policy
        key = (tool, said.effects, workspace, profile, sandboxed, tuple(granted))
        now = self._decisions.get(key)
        if now is None:
            facts = PolicyFacts(
                workspace=workspace or "/", policy=profile, granted=tuple(granted), sandboxed=sandboxed
            )
            now = self._decisions[key] = self._policy.decide(tool, said.effects, facts)
        return Tried(_classify_change(said, _apply_unruled_decisions(said, now)), said, now)


def was_asked(said: PermissionDecided) -> bool:
    """Return True if a person was asked, or would have been if one had been there."""
    return said.request_id is not None or unanswered(said)


def unanswered(said: PermissionDecided) -> bool:
    """Return True for a denial because nobody could be asked."""
    return said.by == "engine"


def _apply_unruled_decisions(recorded: PermissionDecided, now: Decision) -> Decision:
    """Return the decision now, after hooks and sandbox questions that no rule decides.

    A hook that denied or asked does so again; one that allowed answers the profile's questions. Leaving the sandbox,
    and opening secret files to it, is always asked about.
    """
    if recorded.rule_id in SANDBOX or (recorded.rule_id == HOOK and was_asked(recorded)):
        return now if now.verdict == "deny" else replace(now, verdict="ask")
    if recorded.rule_id != HOOK:
        return now
    if recorded.decision == "deny":
        return replace(now, verdict="deny")
    return replace(now, verdict="allow") if now.verdict == "ask" and now.by_profile else now


def _classify_change(recorded: PermissionDecided, now: Decision) -> Change:
    asked = was_asked(recorded)
    match recorded.decision, now.verdict:
        case "allow", "allow":
            return "saved" if asked else "same"
        case "allow", "deny":
            return "stopped"
        case "allow", "ask":
            return "same" if asked else "asked"
        case "deny", "allow":
            return "opened" if not asked else "saved" if unanswered(recorded) else "passes"
        case "deny", "ask":
            return "same" if asked else "opened"
        case _:
            return "same"


def _describe_effect(effect: Effect) -> str:
    match effect:
        case Reads(path=path):
            return f"read {path}"
        case Writes(path=path, removes=removes):
            return f"{'remove' if removes else 'edit'} {path}"
        case Connects(host=host):
            return f"connect {host}"
        case Runs(script=script, argv=argv):
            return " ".join(script.split()) or shlex.join(argv)
        case Internal(what=what):
            return what
