"""A rule that the user wrote into an approval, in place of the one that was offered.

Invariant: pure; a rule without a fault is one of `policy.toml`'s grammar, allows, and allows this call.
"""

from collections.abc import Callable
from typing import Literal

from tui_agent.errors import ConfigError
from tui_agent.policy.rules.grammar import parse_rule


def find_fault(text: str, judge: Callable[[str], Literal["allow", "ask", "deny"]]) -> str:
    """Return what is wrong with the rule, or "". `judge` returns the verdict about the call if the rule holds."""
    try:
        rule = parse_rule(text)
    except ConfigError as error:
        return str(error)
    if rule.verdict != "allow":
        return "This rule does not allow anything. Only a rule with allow can be kept here."
    if judge(rule.text) != "allow":
        return "This rule does not fit what is asked here."
    return ""
