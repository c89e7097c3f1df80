"""L3: a rule that the user wrote into an approval, in place of the one that was offered.

Invariant: pure; a rule for which nothing is said is one of `policy.toml`'s grammar, allows, and allows this call.
"""

from collections.abc import Callable
from typing import Literal

from tui_agent.errors import ConfigError
from tui_agent.policy.rules.grammar import parse_rule


def wrong_with(text: str, judged: Callable[[str], Literal["allow", "ask", "deny"]]) -> str:
    """What is wrong with it, empty where nothing is. `judged` tells how the call is judged where the rule stands."""
    try:
        rule = parse_rule(text)
    except ConfigError as error:
        return str(error)
    if rule.verdict != "allow":
        return "This rule does not allow anything. Only a rule with allow can be kept here."
    if judged(rule.text) != "allow":
        return "This rule does not fit what is asked here."
    return ""
