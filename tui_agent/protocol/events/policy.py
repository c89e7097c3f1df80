"""Events of permissions: requests to the user, and every decision, including automatic ones."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import CallId, FrozenModel, LongText, Payload, RequestId
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.settings import PolicyName

Reach: TypeAlias = Literal["once", "session", "always", "everywhere"]
"""The calls that an answer to an approval allows.

`once` allows only the call in question. The others allow all calls that the rule matches: in this session (`session`),
in this workspace (`always`), or in every workspace (`everywhere`).
"""
Rerun: TypeAlias = Literal["", "outside", "with_files"]


class PermissionChoice(FrozenModel):
    """An answer that an approval offers, with the rule that the answer would add.

    A rule for `always` can be saved `everywhere` instead. `unavailable_reason` is the reason if the answer is not
    offered. `wider_rule` is a wider rule that the user can save instead, e.g. for all tools of an MCP server.
    """

    reach: Reach
    rule: str
    offered: bool = True
    unavailable_reason: str = ""
    wider_rule: str = ""


class CommandEffect(FrozenModel):
    """A short description of one effect: the verb `verb` (`writes`, `network`) and its object `target`.

    `risky` is True if the effect is more than reading the workspace or running the workspace's code.
    """

    verb: str
    target: str = ""
    risky: bool = False


class CommandEffects(FrozenModel):
    """The effects of one simple command in a command line.

    `command` is the command's name. `classes` are the policy's classes for the command.
    """

    command: str
    classes: tuple[str, ...] = ()
    effects: tuple[CommandEffect, ...] = ()


class PermissionRequested(Payload):
    """A tool call needs the user's decision.

    `preview` shows exactly what will run or change. `risk` is one sentence, or empty. `commands` are the simple
    commands of the command line in order, as the policy judged them; empty if no command runs. `time_limit_s` is the
    maximum run time. `sandbox` is the name of the sandbox; empty if there is none. `environment` is the name of the
    environment if the command does not run on this machine. When first asked about this call, the user wrote the faulty
    rule `rejected_rule` and chose `rejected_reach` for it. `rule_error` describes the fault. `rerun` is set if the call
    ran and the sandbox blocked it; `reason` describes the blocked action. The call would then run again: outside the
    sandbox, or in the sandbox with the files that it needs.
    """

    kind: Literal["permission.requested"] = "permission.requested"
    request_id: RequestId
    call_id: CallId
    tool: str
    verb: str
    target: str
    effects: tuple[Effect, ...]
    digest: str
    preview: tuple[DisplayBlock, ...]
    choices: tuple[PermissionChoice, ...]
    commands: tuple[CommandEffects, ...] = ()
    risk: str = ""
    reason: str = ""
    default_no: bool = False
    time_limit_s: float | None = None
    sandbox: str = ""
    environment: str = ""
    rule_error: str = ""
    rejected_rule: str = ""
    rejected_reach: Reach = "always"
    rerun: Rerun = ""

    def choice_for(self, reach: Reach) -> PermissionChoice | None:
        """Return the choice with this reach. Return None if there is no such choice.

        For `everywhere`, this is the choice `always`, because its rule can be saved for every workspace.
        """
        reach = "always" if reach == "everywhere" else reach
        return next((choice for choice in self.choices if choice.reach == reach), None)


OPENS_FILES = "sandbox readable "
"""Prefix of a rule that lets commands read files with secrets.

Such a rule names exact files and is saved in config.toml.
"""


class PermissionRevoked(Payload):
    """A rule that the user allowed in this session no longer applies."""

    kind: Literal["permission.revoked"] = "permission.revoked"
    rule: str


class PermissionDecided(Payload):
    """A tool call was allowed or denied. This event is stored before the call starts.

    `rule` applies in this session and its forks if `reach` is `session` or if the rule begins with `OPENS_FILES`. Any
    other rule is saved in policy.toml with its workspace. `message` is the user's note to the model.
    """

    kind: Literal["permission.decided"] = "permission.decided"
    call_id: CallId
    request_id: RequestId | None
    decision: Literal["allow", "deny"]
    decided_by: Literal["rule", "user", "engine"]
    policy: PolicyName
    rule_id: str
    reason: str
    digest: str
    effects: tuple[Effect, ...]
    reach: Reach = "once"
    rule: str = ""
    message: LongText = ""
