"""Hooks: what a command of the user's (or a plugin's function) said about a tool, a prompt, a turn or a session."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import JsonMap, LongText
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId

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


class HookRan(Payload):
    """A hook has ended. `command` begins as the configuration has it; of a plugin's it is `plugin NAME`.

    `decision` is empty where it said nothing. `changed`: `arguments` are the call's from here on, and `target` its
    row's word. `context` is what the model is told. `fault` says why nothing of it counts (it failed, took too long,
    printed what is no answer); a call is then asked about.
    """

    kind: Literal["hook.ran"] = "hook.ran"
    event: HookEvent
    command: str
    source: HookSource
    call_id: CallId | None = None
    tool: str = ""
    decision: HookDecision = ""
    reason: str = ""
    changed: bool = False
    arguments: JsonMap = {}
    target: str = ""
    context: LongText = ""
    exit_code: int | None = None
    duration_ms: float = 0.0
    fault: str = ""
