"""One thing that speaks for or against a call, and how findings become one decision.

Invariant: the order of findings does not matter: deny wins over ask, ask over allow; no finding at all is ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.policy.rules.grammar import Verdict

_RANK: dict[Verdict, int] = {"deny": 0, "ask": 1, "allow": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with the rule that gives it (`rule_id`) and a reason in plain words.

    `risk` is one sentence for the approval, `default_no` makes *no* its default answer. `needs_person`: no hook may answer
    for the user. `bounded`: it allows only because a sandbox bounds what the command changes. `not_understood`: it asks
    because what a command does is not known, and for nothing that is known of it.
    """

    verdict: Verdict
    rule_id: str
    reason: str
    risk: str = ""
    default_no: bool = False
    needs_person: bool = False
    bounded: bool = False
    not_understood: bool = False

    @property
    def is_rule(self) -> bool:
        """True if somebody's rule says it, not a profile or a guard."""
        return self.rule_id.startswith(("rule:", "rules."))

    @property
    def is_guard(self) -> bool:
        """True if a guard or an escalation says it."""
        return self.rule_id.startswith("guard.")

    @property
    def is_concealed(self) -> bool:
        """True if a person cannot see all of the call."""
        return self.rule_id.startswith("unseen")

    def sort_key(self) -> tuple[int, bool, bool, bool, str, str]:
        """The deciding finding sorts first; among refusals a guard, among equals one with a risk, then somebody's rule."""
        lifted = self.verdict == "deny" and not self.is_guard
        return (_RANK[self.verdict], lifted, not self.risk, not self.is_rule, self.rule_id, self.reason)


def strongest(findings: Sequence[Finding]) -> Finding:
    """Return the finding that decides."""
    if not findings:
        return Finding("ask", "no-rule", "it is not known what this does", default_no=True)
    return min(findings, key=Finding.sort_key)
