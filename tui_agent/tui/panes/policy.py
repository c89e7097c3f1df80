"""L7: how a policy is coloured and what it says in a few words. Invariant: the name always stands beside the colour."""

from tui_agent.tui.theme import Role

ROLES: dict[str, Role] = {"plan": "success", "ask": "accent", "accept-edits": "warning", "bypass": "error"}
SAYS: dict[str, str] = {
    "plan": "reads only, ends in a plan",
    "ask": "asks before writing or running",
    "accept-edits": "asks before running",
    "bypass": "asks nothing",
}


def policy_role(name: str) -> Role:
    """The colour role of a policy."""
    return ROLES.get(name, "accent")


def policy_words(name: str) -> str:
    """What the policy does."""
    return SAYS.get(name, "")
