"""Hooks: commands or plugin functions that run before or after a tool call, prompt, turn or session.

Invariant: errors of a hook are reported in its reply and not raised.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias, get_args

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.hook import HookDecision, HookEvent, HookSource
from tui_agent.protocol.stored_text import JsonMap

HOOK_EVENTS: Final[tuple[HookEvent, ...]] = get_args(HookEvent)
TOOL_EVENTS: Final[frozenset[HookEvent]] = frozenset({"before_tool", "after_tool"})
MATCHER_EVENTS: Final[frozenset[HookEvent]] = TOOL_EVENTS | {
    "session_start",
    "before_compaction",
    "after_compaction",
}
"""The events for which a hook can have a matcher (a pattern).

The pattern is compared with the tool's name, the reason why the session starts, or the trigger of the compaction.
"""
DEFAULT_TIME_LIMIT_S: Final = 60.0
"""Default time limit of a hook in seconds."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """A hook's answer. Empty fields have no effect. For a tool call, `updated_input` replaces all arguments."""

    decision: HookDecision = ""
    reason: str = ""
    updated_input: Mapping[str, JsonValue] | None = None
    additional_context: str = ""


@dataclass(frozen=True, slots=True)
class HookReply:
    """The result of running a hook. If `fault` (a sentence about an error) is not empty, the answer is ignored."""

    answer: HookAnswer = field(default_factory=HookAnswer)
    fault: str = ""
    exit_code: int | None = None


HookFunction: TypeAlias = Callable[[JsonMap, float], Awaitable[HookReply]]
"""Function that runs a hook. Its arguments are facts about the event, and the time limit in seconds."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook from the user or from a plugin.

    - `label`: name on the screen.
    - `matcher`: pattern for the name of the event's subject, such as a tool's name. The whole name must match. None: any
      subject.
    - `subject_name`: function that converts a subject to the name for `matcher`.
    """

    event: HookEvent
    label: str
    source: HookSource
    run: HookFunction
    matcher: re.Pattern[str] | None = None
    time_limit_s: float = DEFAULT_TIME_LIMIT_S
    subject_name: Callable[[str], str] = str

    def matches(self, subject: str) -> bool:
        """Return True if the hook applies to this subject, such as a tool's name."""
        return self.matcher is None or self.matcher.fullmatch(self.subject_name(subject)) is not None
