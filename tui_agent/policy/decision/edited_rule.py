"""The check of a rule that the user edited in an approval.

Invariant: an accepted rule is a valid `allow` rule and allows the call in question.
"""

from collections.abc import Callable
from typing import Literal

from tui_agent.errors import ConfigError
from tui_agent.policy.rules.grammar import parse_rule


def find_fault(text: str, judge: Callable[[str], Literal["allow", "ask", "deny"]]) -> str:
    """Return the fault of an edited rule, or an empty string if the rule can be saved.

    `judge`: function that returns the verdict on the call with the given rule.
    """
    try:
        rule = parse_rule(text)
    except ConfigError as error:
        return str(error)
    if rule.verdict != "allow":
        return "Only `allow` rules can be saved here."
    if judge(rule.text) != "allow":
        return "This rule does not match this request."
    return ""
