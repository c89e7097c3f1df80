"""Colours and short descriptions of the policies. Invariant: a policy's name is always shown with its colour."""

from typing import Final

from tui_agent.tui.theme.theme import Role

ROLES: dict[str, Role] = {"plan": "success", "ask": "accent", "accept-edits": "warning", "bypass": "error"}
DESCRIPTIONS: dict[str, str] = {
    "plan": "reads only, ends in a plan",
    "ask": "asks before writing or running",
    "accept-edits": "edits, runs in the sandbox",
    "bypass": "asks if unsure or if a rule says so",
}
"""Maps a policy to its description. The strictest policy comes first."""
UNCONFINED: dict[str, str] = {"accept-edits": "edits, asks before running"}
PROGRAM_RULES: dict[str, str] = {
    "plan": "may only read",
    "ask": "may only read",
    "accept-edits": "works by its own rules",
    "bypass": "may do everything",
}
"""Maps a policy to its description for an agent that is an external program.

Such an agent asks for no approval and runs outside the sandbox.
"""
COLUMNS: tuple[str, ...] = ("read", "edit", "remove", "run", "network", "outside")
"""The columns of the table of policies: kinds of actions in the workspace.

`run` is a command that does more than read; `outside` is access to any other folder.
"""
GRID: dict[str, tuple[str, ...]] = {
    "plan": ("yes", "no", "no", "no", "no", "no"),
    "ask": ("yes", "asks", "asks", "asks", "asks", "asks"),
    "accept-edits": ("yes", "yes", "asks*", "sandbox", "asks", "asks"),
    "bypass": ("yes", "yes", "yes", "yes", "yes", "yes"),
}
"""Maps a policy to its answers, one for each of `COLUMNS`.

The answer `sandbox` means `yes` if commands run in a sandbox, and `asks` if they do not. `asks*` means `asks` with the
exception in `RESTORABLE`.
"""
RESTORABLE: Final = "* a command may delete files that it names and /undo can restore"


def policy_role(name: str) -> Role:
    return ROLES.get(name, "accent")


def policy_words(name: str, *, unconfined: bool = False, program: str = "") -> str:
    """Return a short description of the policy `name`.

    `unconfined` means that commands run without a sandbox. `program` is the agent's name if the agent is an external
    program.
    """
    if program:
        return f"{program} {PROGRAM_RULES.get(name, '')}"
    return UNCONFINED.get(name, DESCRIPTIONS.get(name, "")) if unconfined else DESCRIPTIONS.get(name, "")
