"""The policy check of files that the program reads for a model without a call, such as mentions and instructions.

Invariant: a file that a rule or guard denies to the agent is not shown to a model in any other way.
"""

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.policy import Policy, PolicyFacts
from tui_agent.protocol.effects import Reads

READER = "read_file"
"""The tool whose rules apply."""


def why_not(
    policy: Policy,
    state: SessionStateView,
    root: str,
    path: str,
    real: str,
    allowed: frozenset[str] | None = None,
) -> str:
    """Return the reason why a file may not be read; empty if it may.

    `real` is the real path behind `path`; `allowed` are the tools of the session (None: all).
    """
    facts = PolicyFacts(
        workspace=root,
        policy=state.settings.policy if state.settings else "ask",
        resolved={path: real},
        granted=state.granted,
        allowed_tools=allowed,
    )
    decision = policy.decide(READER, (Reads(path=path),), facts)
    return decision.reason if decision.verdict == "deny" else ""
