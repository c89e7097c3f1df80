"""Middlewares that only contribute a section of the system prompt.

The prompt is the core identity, each middleware's section and the task guidance, in this order.
"""

from collections.abc import Collection, Sequence
from typing import Final

from tui_agent.engine.middleware.prompts import PromptTexts
from tui_agent.engine.middleware.subagents import SubagentsSection
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment
from tui_agent.ports.delegate import Role

SPEAKS_OF: Final = {
    "planning": frozenset(("write_todos",)),
    "filesystem": frozenset(("write_file", "edit_file")),
    "subagents": frozenset(("spawn_subtask",)),
}
"""The tools that a section tells how to use: without any of them it is left out."""


class PromptSection(BaseMiddleware):
    """One text, always."""

    def __init__(self, name: str, text: str, priority: int) -> None:
        self.name = name
        self._fragments = (Fragment(id=name, text=text, priority=priority),)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """The same text for every state."""
        return self._fragments


class PlanModeSection(BaseMiddleware):
    """How to work while the policy is `plan`."""

    name = "plan_mode"

    def __init__(self, texts: PromptTexts) -> None:
        self._fragments = (Fragment(id=self.name, text=texts.get("plan_mode"), priority=350),)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """The text under the plan policy, else nothing."""
        planning = state.settings is not None and state.settings.policy == "plan"
        return self._fragments if planning else ()


class WorkspaceSection(BaseMiddleware):
    """Where the agent is: the workspace and the system, so that it need not ask."""

    name = "workspace"

    def __init__(self, system: str, shell: str) -> None:
        self._system = system
        self._shell = shell

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """One line of facts. No date: it would break the provider's prompt cache every day."""
        text = f"Workspace: {state.workspace}\nSystem: {self._system}, shell {self._shell}"
        return (Fragment(id=self.name, text=text, priority=150),)


def prompt_sections(
    texts: PromptTexts, system: str, shell: str, tools: Collection[str], roles: Sequence[Role] = ()
) -> list[BaseMiddleware]:
    """The built-in sections in their order: tasks, files, delegation, as far as their `tools` are there. `roles` can be
    delegated to by name."""
    sections = [
        PromptSection("identity", texts.get("identity"), 100),
        WorkspaceSection(system, shell),
        PromptSection("planning", texts.get("planning"), 200),
        PromptSection("filesystem", texts.get("filesystem"), 210),
        SubagentsSection(texts.get("subagents"), roles),
        PlanModeSection(texts),
        PromptSection("guidance", texts.get("guidance"), 900),
    ]
    return [one for one in sections if one.name not in SPEAKS_OF or SPEAKS_OF[one.name] & set(tools)]
