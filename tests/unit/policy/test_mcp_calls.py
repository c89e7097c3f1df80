"""Calls of MCP servers: asked about unless a rule names the tool, and asked about again once the tool has changed."""

import pytest

from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import McpCallEffect
from tui_agent.protocol.settings import PolicyName

TOOL = "mcp_time_convert"
BOUND = f"allow tool {TOOL}#aaaa"


def decide(
    *rules: str,
    policy: PolicyName = "ask",
    read_only: bool = False,
    digest: str = "aaaa",
    attended: bool = True,
) -> Decision:
    effect = McpCallEffect(server="time", tool="convert", digest=digest, read_only=read_only)
    facts = PolicyFacts("/workspace", policy, interactive=attended)
    return RulePolicy(rules).decide(TOOL, (effect,), facts)


@pytest.mark.parametrize(
    ("rules", "policy", "read_only", "verdict"),
    [
        ((), "ask", False, "ask"),
        ((), "ask", True, "ask"),
        ((), "accept-edits", True, "ask"),
        ((), "bypass", False, "allow"),
        ((), "plan", True, "deny"),
        ((f"allow tool {TOOL}",), "ask", False, "allow"),
        (("allow tool mcp_time_*",), "ask", False, "allow"),
        (("allow tool mcp_tim_*",), "ask", False, "ask"),
        ((f"allow tool {TOOL}",), "plan", False, "deny"),
        ((f"allow tool {TOOL}",), "plan", True, "allow"),
        (("allow tool mcp_*",), "read-only-delegate", True, "allow"),
        (("allow tool mcp_*", "deny tool mcp_time_*"), "bypass", False, "deny"),
        (("allow tool mcp_*", "ask tool mcp_time_*"), "ask", False, "ask"),
        (("ask tool mcp_time_*",), "bypass", False, "ask"),
        ((BOUND,), "ask", False, "allow"),
    ],
)
def test_verdicts(rules: tuple[str, ...], policy: PolicyName, read_only: bool, verdict: str) -> None:
    assert decide(*rules, policy=policy, read_only=read_only).verdict == verdict


def test_without_anybody_to_ask_a_call_is_denied() -> None:
    assert decide(attended=False).verdict == "deny"
    assert decide(BOUND, attended=False).verdict == "allow"


def test_an_approval_offers_a_rule_for_all_tools_of_the_server() -> None:
    always = decide().choices[-1]
    assert always.wider_rule == "allow tool mcp_time_*"
    assert decide(always.wider_rule, digest="bbbb").verdict == "allow"


def test_an_approval_offers_a_rule_that_ends_when_the_tool_changes() -> None:
    asked = decide()
    assert asked.reason == "policy ask requires approval for calls to MCP servers"
    assert asked.classes == ("arbitrary",)
    assert [(choice.reach, choice.rule) for choice in asked.choices] == [
        ("once", ""),
        ("session", BOUND),
        ("always", BOUND),
    ]
    changed = decide(BOUND, digest="bbbb")
    assert changed.verdict == "ask"
    assert changed.reason == "the server time changed this tool since you allowed it"
