"""Middlewares that only contribute a section of the system prompt: identity, each area of work, task guidance."""

from collections.abc import Collection, Sequence
from typing import Final

from tui_agent.engine.middleware.prompts import PromptTexts
from tui_agent.engine.middleware.subagents import delegation_prompt
from tui_agent.folds.session.view import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment
from tui_agent.ports.delegate import Role

SECTION_TOOLS: Final = {
    "planning": frozenset(("write_todos",)),
    "filesystem": frozenset(("write_file", "edit_file")),
    "subagents": frozenset(("spawn_subtask",)),
}
"""The tools that a section is about; without any of them the section is left out."""


class PromptSection(BaseMiddleware):
    """A section with a constant text."""

    def __init__(self, name: str, text: str, priority: int) -> None:
        self.name = name
        self._fragments = (Fragment(id=name, text=text, priority=priority),)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the same text for every state."""
        return self._fragments


class PlanModeSection(BaseMiddleware):
    """Instructions for the policy `plan`."""

    name = "plan_mode"

    def __init__(self, texts: PromptTexts) -> None:
        self._fragments = (Fragment(id=self.name, text=texts.get("plan_mode"), priority=350),)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the text if the policy is `plan`, else nothing."""
        planning = state.settings is not None and state.settings.policy == "plan"
        return self._fragments if planning else ()


class WorkspaceSection(BaseMiddleware):
    """The workspace and the system, so that the model need not find them out."""

    name = "workspace"

    def __init__(self, system: str, shell: str) -> None:
        self._system = system
        self._shell = shell

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the facts. No date: it would invalidate the provider's prompt cache every day."""
        text = f"Workspace: {state.workspace}\nSystem: {self._system}, shell {self._shell}"
        return (Fragment(id=self.name, text=text, priority=150),)


def prompt_sections(
    texts: PromptTexts, system: str, shell: str, tools: Collection[str], roles: Sequence[Role] = ()
) -> list[BaseMiddleware]:
    """Return the built-in sections in order, without those whose tools are missing from `tools`.

    `roles` are the named agents that the model can delegate to.
    """
    sections = [
        PromptSection("identity", texts.get("identity"), 100),
        WorkspaceSection(system, shell),
        PromptSection("planning", texts.get("planning"), 200),
        PromptSection("filesystem", texts.get("filesystem"), 210),
        PromptSection("subagents", delegation_prompt(texts.get("subagents"), roles), 220),
        PlanModeSection(texts),
        PromptSection("guidance", texts.get("guidance"), 900),
    ]
    return [
        section
        for section in sections
        if section.name not in SECTION_TOOLS or SECTION_TOOLS[section.name] & set(tools)
    ]
