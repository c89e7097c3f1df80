"""The profiles: what each says of an effect that no guard and no rule has decided.

Invariant: a table; no code asks for a profile by its name. What is not in the table is asked.
"""

from dataclasses import dataclass, replace

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.rules.grammar import Verdict
from tui_agent.protocol.settings import PolicyName


@dataclass(frozen=True, slots=True)
class Profile:
    """Verdicts of one profile. `inside` and `outside` are of the workspace.

    `commands` is about commands that do more than read, `unproven` about a line that is outside the subset of bash, or
    that hides which program runs. `confined_commands` takes the place of `commands` in a sandbox that bounds all that the
    command can do. `hears_allow_rules`: rules that allow count. `asks`: where not, a question is a no.
    """

    reads_outside: Verdict
    writes_inside: Verdict
    writes_outside: Verdict
    deletes_inside: Verdict
    connects: Verdict
    commands: Verdict
    unproven: Verdict
    confined_commands: Verdict
    hears_allow_rules: bool = True
    asks: bool = True


_PLAN = Profile("deny", "deny", "deny", "deny", "deny", "deny", "deny", "deny", hears_allow_rules=False)
PROFILES: dict[PolicyName, Profile] = {
    "plan": _PLAN,
    "ask": Profile("ask", "ask", "ask", "ask", "ask", "ask", "ask", "ask"),
    "accept-edits": Profile("ask", "allow", "ask", "ask", "ask", "ask", "ask", "allow"),
    "bypass": Profile("allow", "allow", "allow", "allow", "allow", "allow", "ask", "allow"),
    "read-only-delegate": replace(_PLAN, asks=False),
}

BEYOND_SANDBOX = frozenset(Effect) - {Effect.READS, Effect.WRITES, Effect.RUNS}
"""Effects that a sandbox does not bound, or that a person wants to know of: `confined_commands` does not cover them."""
