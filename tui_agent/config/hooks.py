"""Hooks as a configuration file names them: `[[hook]]` tables.

Invariant: a project's hooks stand behind the user's and never take their place.
"""

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tui_agent.ports.hook import TIME_LIMIT_S, TOOL_EVENTS
from tui_agent.protocol.events.hook import HookEvent

EVERY = ("", "*")
"""What fits every tool."""
LONGEST_S = 600.0


class HookSettings(BaseModel):
    """One `[[hook]]`: a command that is asked or told."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    event: HookEvent = Field(description="When: before_tool, after_tool, before_prompt, … (docs/hooks.md).")
    command: str = Field(
        description="Run by bash in the workspace, with JSON on its standard input.", min_length=1
    )
    matcher: str = Field(
        "",
        description="A pattern for the whole name of the tool (run_command, write_file|edit); empty: every tool.",
    )
    timeout: float = Field(TIME_LIMIT_S, gt=0, le=LONGEST_S, description="Seconds after which it is ended.")

    @field_validator("matcher")
    @classmethod
    def _readable(cls, matcher: str) -> str:
        try:
            re.compile("" if matcher in EVERY else matcher)
        except re.error as error:
            raise ValueError(f"it is no pattern: {error}") from error
        return matcher

    @model_validator(mode="after")
    def _about_tools(self) -> "HookSettings":
        if self.matcher and self.event not in TOOL_EVENTS:
            raise ValueError(f"a matcher is for before_tool and after_tool, not for {self.event}")
        return self

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """What the whole name of a tool must fit; None: every tool."""
        return None if self.matcher in EVERY else re.compile(self.matcher)


def joined(user: dict[str, Any], project: dict[str, Any]) -> list[Any]:
    """The hooks of both files, the user's first; what is no list is left to be refused."""
    found: list[Any] = []
    for tree in (user, project):
        given = tree.get("hook", [])
        found += given if isinstance(given, list) else [given]
    return found
