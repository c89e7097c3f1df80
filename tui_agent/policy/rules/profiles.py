"""L3: what each profile says about an effect that no rule and no guard has decided.

Invariant: a table; `decide` holds no profile's name. What is not in the table is asked.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_agent.protocol.settings import PolicyName

Verdict: TypeAlias = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Profile:
    """`inside` and `outside` are of the workspace; `commands` are those that do more than read in it."""

    reads_outside: Verdict
    writes_inside: Verdict
    writes_outside: Verdict
    removes_inside: Verdict
    connects: Verdict
    commands: Verdict
    unclear: Verdict
    """A command line that cannot be read with certainty, or that takes away what cannot be told."""
    rules_count: bool = True
    """Rules that allow are heard."""
    confined: Verdict = "ask"
    """Certain commands in a sandbox that neither destroy, nor gain rights, nor use the network."""
    asks: bool = True
    """Where not, what would be asked is denied."""


PROFILES: dict[PolicyName, Profile] = {
    "plan": Profile("deny", "deny", "deny", "deny", "deny", "deny", "deny", rules_count=False),
    "ask": Profile("ask", "ask", "ask", "ask", "ask", "ask", "ask"),
    "accept-edits": Profile("ask", "allow", "ask", "ask", "ask", "ask", "ask", confined="allow"),
    "bypass": Profile("allow", "allow", "allow", "allow", "allow", "allow", "ask"),
    "read-only-delegate": Profile(
        "deny", "deny", "deny", "deny", "deny", "deny", "deny", rules_count=False, asks=False
    ),
}
