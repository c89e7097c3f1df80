"""Events of hooks: commands or functions that run before or after a tool call, prompt, turn or session."""

from typing import Final, Literal, TypeAlias

from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.stored_text import JsonMap, LongText

HookEvent: TypeAlias = Literal[
    "before_tool",
    "after_tool",
    "before_prompt",
    "after_prompt",
    "before_turn",
    "after_turn",
    "before_compaction",
    "after_compaction",
    "session_start",
    "session_end",
]
HookDecision: TypeAlias = Literal["", "allow", "ask", "deny"]
HookSource: TypeAlias = Literal["user", "project", "plugin"]

REFUSED_MESSAGE: Final = "A hook refused this message"
"""If a hook refuses a message, the recorded reason begins with these words."""
HOOK_STOPPED: Final = "The hook was stopped because its event was cancelled."
"""Fault that is recorded for a stopped hook. The hook's tool call, prompt or turn was cancelled."""


class HookRan(Payload):
    """A hook ended. `command`: start of the configured command, or `plugin NAME`.

    `decision`: empty if the hook did not decide. `arguments_changed`: True if the hook changed the call; `arguments`
    and `target` are the new values. `context`: text for the model. `fault`: reason why the hook's answer is ignored.
    After a fault, the tool call needs the user's approval.
    """

    kind: Literal["hook.ran"] = "hook.ran"
    event: HookEvent
    command: str
    source: HookSource
    call_id: CallId | None = None
    tool: str = ""
    decision: HookDecision = ""
    reason: str = ""
    arguments_changed: bool = False
    arguments: JsonMap = {}
    target: str = ""
    context: LongText = ""
    exit_code: int | None = None
    duration_ms: float = 0.0
    fault: str = ""
