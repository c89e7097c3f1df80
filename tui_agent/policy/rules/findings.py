"""L3: what was found about one effect, and how findings become one decision.

Invariant: the order of findings does not matter: deny wins over ask, ask over allow; none at all is ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.policy.rules.grammar import Verdict

_RANK: dict[Verdict, int] = {"deny": 0, "ask": 1, "allow": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """`about` sorts findings of equal verdict, so that the same set gives the same words."""

    verdict: Verdict
    rule_id: str
    reason: str
    risk: str = ""
    default_no: bool = False
    grave: bool = False
    """No hook answers it: what would run is not certain, or may do more than read, change or run the workspace."""
    bounded: bool = False
    """It allows only what a sandbox bounds: what the command changes does not follow from its words."""

    @property
    def ruled(self) -> bool:
        """A rule that somebody wrote says it, not a profile or a guard."""
        return self.rule_id.startswith(("rule:", "rules."))

    def sort_key(self) -> tuple[int, bool, bool, str, str]:
        """The one that decides comes first; among equals one that names a risk, then one that is somebody's rule."""
        return (_RANK[self.verdict], not self.risk, not self.ruled, self.rule_id, self.reason)


def strongest(findings: Sequence[Finding]) -> Finding:
    """The finding that decides."""
    if not findings:
        return Finding("ask", "no-rule", "nothing is known of what it does", default_no=True)
    return min(findings, key=Finding.sort_key)
