"""The permission profiles: verdicts on effects that no guard or rule decides.

Invariant: profiles are a table, and no code checks the name of a profile.
"""

from dataclasses import replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.rules.grammar import Verdict
from tui_agent.protocol.settings import PolicyName


@dataclass(frozen=True, slots=True)
class Profile:
    """The verdicts of one permission profile, such as `plan`. `inside` and `outside` refer to the workspace.

    `calls`: calls of tools of MCP servers.
    `commands`: commands that do more than read.
    `unproven`: a command line that the bash parser does not support, or a line that hides its programs.
    `confined_commands`: replaces `commands` if a sandbox limits everything that the command can do.
    `hears_allow_rules`: rules that allow something are applied.
    `asks`: if False, calls that need approval are denied.
    """

    reads_outside: Verdict
    writes_inside: Verdict
    writes_outside: Verdict
    deletes_inside: Verdict
    connects: Verdict
    calls: Verdict
    commands: Verdict
    unproven: Verdict
    confined_commands: Verdict
    hears_allow_rules: bool = True
    asks: bool = True


_PLAN = Profile(
    "deny", "deny", "deny", "deny", "deny", "deny", "deny", "deny", "deny", hears_allow_rules=False
)
PROFILES: dict[PolicyName, Profile] = {
    "plan": _PLAN,
    "ask": Profile("ask", "ask", "ask", "ask", "ask", "ask", "ask", "ask", "ask"),
    "accept-edits": Profile("ask", "allow", "ask", "ask", "ask", "ask", "ask", "ask", "allow"),
    "bypass": Profile("allow", "allow", "allow", "allow", "allow", "allow", "allow", "ask", "allow"),
    "read-only-delegate": replace(_PLAN, asks=False),
}

BEYOND_SANDBOX = frozenset(Effect) - {Effect.READS, Effect.WRITES, Effect.RUNS}
"""Effects that a sandbox does not confine, or that the user must know about."""
