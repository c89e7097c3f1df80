"""Events of permissions: requests to the user, and every decision, including automatic ones."""

from typing import Literal, TypeAlias

from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.settings import PolicyName
from tui_agent.protocol.stored_text import LongText

Reach: TypeAlias = Literal["once", "session", "always", "everywhere"]
"""The reach of an answer to an approval: the calls that it allows.

`once`: only this call. `session`, `always`, `everywhere`: all calls that the rule matches in this session, in this
workspace or in all workspaces.
"""
Rerun: TypeAlias = Literal["", "outside", "with_files"]


class PermissionChoice(FrozenModel):
    """An answer offered by an approval, with the rule that it would add.

    The rule of the choice `always` can be saved for this workspace, or for all workspaces (`everywhere`).
    `explanation`: the calls that an offered answer's rule allows, or the reason why the answer is not offered.
    `wider_rule`: a wider rule that the user can save instead, e.g. for all tools of an MCP server.
    """

    reach: Reach
    rule: str
    offered: bool = True
    explanation: str = ""
    wider_rule: str = ""


class CommandEffect(FrozenModel):
    """A short description of one effect of a command, such as `writes` `out.txt`.

    `verb`: such as `writes` or `network`. `target`: the file or host that the verb refers to. `risky`: False if the
    effect only reads the workspace or runs the workspace's code.
    """

    verb: str
    target: str = ""
    risky: bool = False


class CommandEffects(FrozenModel):
    """The effects of one simple command in a command line.

    `command`: the command's name. `classes`: kinds of risk, such as `network` or `destructive`.
    """

    command: str
    classes: tuple[str, ...] = ()
    effects: tuple[CommandEffect, ...] = ()


class PermissionRequested(Payload):
    """A tool call needs the user's decision.

    `preview`: exactly what will run or change. `risk`: one sentence, or empty. `commands`: the simple commands of the
    command line in order. `time_limit_s`: maximum run time. `sandbox`: name of the sandbox, or empty. `environment`:
    name of the environment if the command does not run on this machine.

    `rejected_rule`, `rejected_reach`, `rule_error`: set if the user wrote a faulty rule and is asked again.
    `rule_error` describes the fault.

    `rerun`: set if the call already ran and the sandbox blocked it; `reason` describes the blocked action. If the user
    agrees, the call runs again: outside the sandbox, or in it with access to the files that it needs.

    `outside_paths`: paths in the call's effects that lead out of the workspace, directly or through a link.
    `unrestorable`: files that the call may change or delete, and that `/undo` cannot restore.
    `missing_paths`: paths that the call's commands delete although nothing existed there before the call first ran.
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
    outside_paths: tuple[str, ...] = ()
    unrestorable: tuple[str, ...] = ()
    missing_paths: tuple[str, ...] = ()

    def choice_for(self, reach: Reach) -> PermissionChoice | None:
        """Return the choice with this reach, or None. For `everywhere`, return the choice `always`."""
        reach = "always" if reach == "everywhere" else reach
        return next((choice for choice in self.choices if choice.reach == reach), None)

    def why_unavailable(self, reach: Reach) -> str:
        """Return the reason why the answer with this reach is not available; empty if it is available."""
        choice = self.choice_for(reach)
        if choice is not None and choice.offered:
            return ""
        reason = choice.explanation if choice is not None else ""
        return reason or "not available for this call"


OPENS_FILES = "sandbox readable "
"""Prefix of a rule that lets commands read files with secrets.

Such a rule names single files, not patterns, and is saved in config.toml.
"""


class PermissionRevoked(Payload):
    """A rule that the user allowed in this session no longer applies."""

    kind: Literal["permission.revoked"] = "permission.revoked"
    rule: str


class PermissionDecided(Payload):
    """A tool call was allowed or denied. The event is stored before the call starts.

    Rules with the reach `session`, and rules that begin with `OPENS_FILES`, apply in this session and in its forks
    in the same folder. Other rules are saved in policy.toml with their workspace. `message`: the user's note to the model.
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
