"""L3: the profiles: what each says of an effect that no guard and no rule has decided.

Invariant: a table; no code asks for a profile by its name. What is not in the table is asked.
"""

from dataclasses import dataclass

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


PROFILES: dict[PolicyName, Profile] = {
    "plan": Profile("deny", "deny", "deny", "deny", "deny", "deny", "deny", "deny", hears_allow_rules=False),
    "ask": Profile("ask", "ask", "ask", "ask", "ask", "ask", "ask", "ask"),
    "accept-edits": Profile("ask", "allow", "ask", "ask", "ask", "ask", "ask", "allow"),
    "bypass": Profile("allow", "allow", "allow", "allow", "allow", "allow", "ask", "allow"),
    "read-only-delegate": Profile(
        "deny", "deny", "deny", "deny", "deny", "deny", "deny", "deny", hears_allow_rules=False, asks=False
    ),
}

BEYOND_SANDBOX = frozenset(
    {
        Effect.DELETES,
        Effect.CONNECTS,
        Effect.ACTS_AS_OTHER,
        Effect.PRINTS_SECRETS,
        Effect.NEVER_ENDS,
        Effect.NEEDS_TERMINAL,
        Effect.LEAVES_PROCESS,
    }
)
"""Effects that a sandbox does not bound, or that a person wants to know of: `confined_commands` does not cover them."""

WISHES: dict[Effect, str] = {
    Effect.WRITES: "for writes by commands",
    Effect.RUNS: "before programs that run code",
    Effect.CONNECTS: "for network access",
    Effect.DELETES: "before anything is deleted",
    Effect.ACTS_AS_OTHER: "before commands that act as another user",
    Effect.PRINTS_SECRETS: "before commands that print secrets",
    Effect.NEVER_ENDS: "before commands that do not end by themselves",
    Effect.NEEDS_TERMINAL: "before commands that need a terminal",
    Effect.LEAVES_PROCESS: "before commands that leave a process behind",
}
"""What a profile that asks wants a yes for: the end of "policy ask wants a yes …"."""

RISKS: dict[Effect, str] = {
    Effect.ACTS_AS_OTHER: "It acts with the rights of another user.",
    Effect.DELETES: "It may delete things that /undo cannot restore.",
    Effect.PRINTS_SECRETS: "Its output may hold secrets, and the model sees it.",
    Effect.NEVER_ENDS: "It does not end by itself; it runs until its time limit.",
    Effect.NEEDS_TERMINAL: "It waits for keys on a terminal, and there is none.",
    Effect.LEAVES_PROCESS: "It leaves a process behind.",
}
"""One sentence for the approval, the most serious first."""

WARNINGS: dict[Effect, str] = {
    Effect.DELETES: "deletes",
    Effect.CONNECTS: "uses the network",
    Effect.ACTS_AS_OTHER: "acts as another user",
    Effect.PRINTS_SECRETS: "prints secrets",
    Effect.NEVER_ENDS: "does not end by itself",
    Effect.NEEDS_TERMINAL: "needs a terminal",
    Effect.LEAVES_PROCESS: "leaves a process behind",
}
"""What an effect of `BEYOND_SANDBOX` is called behind "which"."""
