"""Events of hooks: answers of a user's command or a plugin's function about tools, prompts, turns and sessions."""

from typing import Final, Literal, TypeAlias

from tui_agent.protocol.base import CallId, JsonMap, LongText, Payload

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
"""Beginning of the recorded reason if a hook refused a message."""
HOOK_STOPPED: Final = "The hook was stopped because its event was cancelled."
"""Fault of a hook that was stopped early, because its call, prompt or turn had ended."""


class HookRan(Payload):
    """A hook ended. `command` is the start of the configured command, or `plugin NAME` for a plugin.

    `decision` is empty if the hook made none. With `arguments_changed`, `arguments` replace the call's arguments, and
    `target` replaces the target in the call's row. `context` is text for the model. `fault` is the reason why the
    hook's answer is ignored (it failed, timed out or printed an invalid answer). After a fault, a tool call needs the
    user's approval.
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
