"""Decisions of the past, judged by other rules, and what would have been different.

Invariant: pure; a decision is judged with the facts of its time (workspace, profile, rules of the session, sandbox), and
links are taken as they read, for where they led is not recorded.
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
"""`saved`: you were asked and said yes, or nobody was there to be asked, and it would run without a question. `passes`: you
said no, and it would run. `opened`: a rule or the profile said no, and it would run or be asked about. `stopped`: it ran, and would be denied.
`asked`: it ran without a question, and would be asked about. `same`: nothing would be different."""


HOOK: Final = "hook"
"""The rule that a hook's word is recorded under."""
SANDBOX: Final = frozenset({"sandbox.leave", "sandbox.open"})
"""The rules that leaving the sandbox, and opening files with secrets in it, are recorded under."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One decision, and how it would be now."""

    change: Change
    said: PermissionDecided
    now: Decision

    @property
    def what(self) -> str:
        """What was judged, in a few words."""
        return "; ".join(_what(effect) for effect in self.said.effects) or "nothing that is known"


@dataclass(slots=True)
class Tally:
    """Counts over many decisions. `by_rule` has a count of changes for each rule that decides now."""

    decisions: int = 0
    questions: int = 0
    changes: Counter[Change] = field(default_factory=Counter)
    by_rule: dict[str, Counter[Change]] = field(default_factory=dict)

    def add(self, tried: Tried) -> None:
        """Count one more."""
        self.decisions += 1
        self.questions += was_asked(tried.said)
        self.changes[tried.change] += 1
        if tried.change != "same":
            self.by_rule.setdefault(tried.now.rule_id, Counter())[tried.change] += 1


class Trial:
    """Judges decisions of the past by `policy`; `profile` stands for the one that was in force then."""

    def __init__(self, policy: Policy, profile: PolicyName | None = None) -> None:
        self._policy = policy
        self._profile = profile
        self._known: dict[object, Decision] = {}

    def judge(
        self, said: PermissionDecided, tool: str, workspace: str, sandboxed: bool, granted: Sequence[str]
    ) -> Tried:
        """How it would be decided now."""
        profile = self._profile or said.policy
        key = (tool, said.effects, workspace, profile, sandboxed, tuple(granted))
        now = self._known.get(key)
        if now is None:
            facts = PolicyFacts(
                workspace=workspace or "/", policy=profile, granted=tuple(granted), sandboxed=sandboxed
            )
            now = self._known[key] = self._policy.decide(tool, said.effects, facts)
        return Tried(_change(said, _with_the_rest(said, now)), said, now)


def was_asked(said: PermissionDecided) -> bool:
    """A person was asked, or would have been, had there been one."""
    return said.request_id is not None or unanswered(said)


def unanswered(said: PermissionDecided) -> bool:
    """It is a no because no one was there to be asked."""
    return said.by == "engine"


def _with_the_rest(said: PermissionDecided, now: Decision) -> Decision:
    """The decision now, with those whom no rule answers for: a hook that refused or asked does so again, and one that
    allowed answers what the profile asks; leaving the sandbox, and opening files in it, is always asked about."""
    if said.rule_id in SANDBOX or (said.rule_id == HOOK and was_asked(said)):
        return now if now.verdict == "deny" else replace(now, verdict="ask")
    if said.rule_id != HOOK:
        return now
    if said.decision == "deny":
        return replace(now, verdict="deny")
    return replace(now, verdict="allow") if now.verdict == "ask" and now.by_profile else now


def _change(said: PermissionDecided, now: Decision) -> Change:
    asked = was_asked(said)
    match said.decision, now.verdict:
        case "allow", "allow":
            return "saved" if asked else "same"
        case "allow", "deny":
            return "stopped"
        case "allow", "ask":
            return "same" if asked else "asked"
        case "deny", "allow":
            return "opened" if not asked else "saved" if unanswered(said) else "passes"
        case "deny", "ask":
            return "same" if asked else "opened"
        case _:
            return "same"


def _what(effect: Effect) -> str:
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
