"""The judgement (one verdict about a tool call), and the choice of the judgement that decides.

Invariant: deny wins over ask, and ask over allow, whatever the order of the judgements.
"""

from collections.abc import Sequence

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.rules.grammar import Verdict

_RANK: dict[Verdict, int] = {"deny": 0, "ask": 1, "allow": 2}


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict about a tool call.

    `rule_id`: the origin of the verdict.
    `reason`: a clause.
    `risk`: a sentence for the approval.
    `default_no`: the approval's default answer is *no*.
    `needs_person`: no hook can answer for the user.
    `bounded`: the verdict is allow only because a sandbox limits the command's changes.
    `not_understood`: the user is asked only because the effects of a command are not known.
    `effects`: the effects of a command that require approval under the profile.
    """

    verdict: Verdict
    rule_id: str
    reason: str
    risk: str = ""
    default_no: bool = False
    needs_person: bool = False
    bounded: bool = False
    not_understood: bool = False
    effects: frozenset[Effect] = frozenset()

    @property
    def is_rule(self) -> bool:
        """True if a rule of the user or a project gave the verdict."""
        return self.rule_id.startswith(("rule:", "rules."))

    @property
    def is_guard(self) -> bool:
        """True if a guard or an escalation gave the verdict."""
        return self.rule_id.startswith("guard.")

    @property
    def is_concealed(self) -> bool:
        """True if the judgement is about invisible or misleading characters in the call."""
        return self.rule_id.startswith("unseen")

    def sort_key(self) -> tuple[int, bool, bool, bool, str, str]:
        """Return a key that sorts the deciding judgement first: deny before ask before allow."""
        lifted = self.verdict == "deny" and not self.is_guard
        return (_RANK[self.verdict], lifted, not self.risk, not self.is_rule, self.rule_id, self.reason)


def strongest_judgement(judgements: Sequence[Judgement]) -> Judgement:
    """Return the judgement that decides the call. If there are none, the verdict is *ask*."""
    if not judgements:
        return Judgement("ask", "no-rule", "it is not known what this does", default_no=True)
    return min(judgements, key=Judgement.sort_key)
