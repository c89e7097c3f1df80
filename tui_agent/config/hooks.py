"""Hooks as configuration files define them: `[[hook]]` tables.

Invariant: a project's hooks come after the user's and never replace them.
"""

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tui_agent.ports.hook import TIME_LIMIT_S, TOOL_EVENTS
from tui_agent.protocol.events.hook import HookEvent

EVERY = ("", "*")
"""Matchers that match every tool."""
LONGEST_S = 600.0


class HookSettings(BaseModel):
    """One `[[hook]]`: a command that runs on an event."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    event: HookEvent = Field(description="When: before_tool, after_tool, before_prompt, … (docs/hooks.md).")
    command: str = Field(
        description="Command line, run by bash in the workspace with JSON on its standard input.",
        min_length=1,
    )
    matcher: str = Field(
        "",
        description="Regular expression for the whole tool name (run_command, write_file|edit); empty: every tool.",
    )
    timeout: float = Field(
        TIME_LIMIT_S, gt=0, le=LONGEST_S, description="Seconds before the command is stopped."
    )

    @field_validator("matcher")
    @classmethod
    def _check_matcher(cls, matcher: str) -> str:
        try:
            re.compile("" if matcher in EVERY else matcher)
        except re.error as error:
            raise ValueError(f"not a valid regular expression: {error}") from error
        return matcher

    @model_validator(mode="after")
    def _check_event(self) -> "HookSettings":
        if self.matcher and self.event not in TOOL_EVENTS:
            raise ValueError(f"matcher works with before_tool and after_tool only, not with {self.event}")
        return self

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The compiled pattern for whole tool names; None: every tool."""
        return None if self.matcher in EVERY else re.compile(self.matcher)


def joined(user: dict[str, Any], project: dict[str, Any]) -> list[Any]:
    """Return the hooks of both files, the user's first. A value that is not a list is kept for validation to
    reject.
    """
    hooks: list[Any] = []
    for tree in (user, project):
        value = tree.get("hook", [])
        hooks += value if isinstance(value, list) else [value]
    return hooks
