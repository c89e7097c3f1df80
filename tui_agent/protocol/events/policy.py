"""L0: permission questions and every decision, automatic ones too."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import Frozen, LongText
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.settings import PolicyName

Reach: TypeAlias = Literal["once", "session", "always"]


class Choice(Frozen):
    """An answer that the approval shows. `rule` is what it would allow; not `offered` says in `why` why not."""

    reach: Reach
    rule: str
    offered: bool = True
    why: str = ""


class PermissionRequested(Payload):
    """A person must decide. `preview` shows exactly what will run or change; `risk` is one sentence or empty."""

    kind: Literal["permission.requested"] = "permission.requested"
    request_id: RequestId
    call_id: CallId
    tool: str
    verb: str
    target: str
    effects: tuple[Effect, ...]
    digest: str
    preview: tuple[DisplayBlock, ...]
    choices: tuple[Choice, ...]
    risk: str = ""
    reason: str = ""
    default_no: bool = False


class PermissionDecided(Payload):
    """Stored before the call starts. `by` tells who decided; `message` is the user's word to the model."""

    kind: Literal["permission.decided"] = "permission.decided"
    call_id: CallId
    request_id: RequestId | None
    decision: Literal["allow", "deny"]
    by: Literal["rule", "user", "engine"]
    policy: PolicyName
    rule_id: str
    reason: str
    digest: str
    effects: tuple[Effect, ...]
    reach: Reach = "once"
    rule: str = ""
    message: LongText = ""
