"""What the tests of command lines ask the policy: in a workspace, with nothing allowed beforehand."""

from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName

WORKSPACE = "/home/ada/timesheet"


def decide(script: str, policy: PolicyName = "ask") -> Decision:
    """The policy's decision about a command line."""
    facts = PolicyFacts(WORKSPACE, policy)
    return RulePolicy().decide("run_command", (RunEffect(script=script),), facts)


def verdict(script: str) -> str:
    """allow, ask or deny in the profile `ask`."""
    return decide(script).verdict


def classes(script: str) -> tuple[str, ...]:
    """The classes of a command line, the most harmless first."""
    return decide(script).classes


def confined(script: str, policy: PolicyName = "accept-edits") -> Decision:
    """The policy's decision about a command line that a sandbox bounds."""
    facts = PolicyFacts(
        WORKSPACE, policy, sandboxed=True, private_temp_paths=frozenset({"/tmp/out", "/tmp/out.log"})
    )
    return RulePolicy().decide("run_command", (RunEffect(script=script),), facts)
