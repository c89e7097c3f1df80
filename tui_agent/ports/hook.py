"""Hooks: whoever is asked before something happens, or told after it.

Invariant: a hook never raises but for cancellation; what went wrong with it is said in its reply.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, get_args

from pydantic import JsonValue

from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.hook import HookDecision, HookEvent, HookSource

HOOK_EVENTS: Final[tuple[HookEvent, ...]] = get_args(HookEvent)
TOOL_EVENTS: Final[frozenset[HookEvent]] = frozenset({"before_tool", "after_tool"})
TIME_LIMIT_S: Final = 60.0
"""Seconds that a hook may take where it says no other number."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What a hook says. Empty fields say nothing; `updated_input` are the call's arguments, whole."""

    decision: HookDecision = ""
    reason: str = ""
    updated_input: Mapping[str, JsonValue] | None = None
    additional_context: str = ""


@dataclass(frozen=True, slots=True)
class HookReply:
    """How a hook ended. With a `fault` (a sentence) nothing of the answer counts."""

    answer: HookAnswer = field(default_factory=HookAnswer)
    fault: str = ""
    exit_code: int | None = None


AskHook: TypeAlias = Callable[[JsonMap, float], Awaitable[HookReply]]
"""(what happens, seconds that it may take) -> how it ended."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook. `words` name it on the screen; `matcher` fits the whole name of a tool (None: every tool)."""

    event: HookEvent
    words: str
    source: HookSource
    ask: AskHook
    matcher: re.Pattern[str] | None = None
    time_limit_s: float = TIME_LIMIT_S

    def fits(self, tool: str) -> bool:
        """Whether it wants to hear of this tool."""
        return self.matcher is None or self.matcher.fullmatch(tool) is not None
