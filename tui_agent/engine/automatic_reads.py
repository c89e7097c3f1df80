"""What the program reads by itself for a model, under the user's rules for reading.

Invariant: what a rule or a guard denies the agent to read is not put before a model either.
"""

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.policy import Policy, PolicyFacts
from tui_agent.protocol.effects import Reads

READER = "read_file"
"""The tool whose rules hold for what is read so."""


def why_not(
    policy: Policy,
    state: SessionStateView,
    root: str,
    path: str,
    real: str,
    allowed: frozenset[str] | None = None,
) -> str:
    """Why a file is not read: a rule or a guard denies it, or it lies elsewhere; nothing where it may be read. `real` is
    where `path` leads, `allowed` are the tools that the session may use (None: all)."""
    facts = PolicyFacts(
        workspace=root,
        policy=state.settings.policy if state.settings else "ask",
        resolved={path: real},
        granted=state.granted,
        allowed_tools=allowed,
    )
    decision = policy.decide(READER, (Reads(path=path),), facts)
    return decision.reason if decision.verdict == "deny" else ""
