"""The texts of the system prompt, and middlewares that only add a section to it.

Invariant: each text is a Markdown file; the user's file of the same name replaces it.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

from tui_agent.errors import ConfigError
from tui_agent.folds.session.view import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment
from tui_agent.ports.delegate import Role
from tui_agent.units import format_day

BUNDLED = Path(__file__).parent / "prompts"
MAX_BYTES = 100_000
SECTION_TOOLS: Final = {
    "planning": frozenset(("write_todos",)),
    "subagents": frozenset(("spawn_subtask",)),
}
"""Maps a section to the tools that it describes."""


class PromptTexts:
    """Prompt texts by name, read from the first folder that contains `NAME.md`."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = (*folders, BUNDLED)

    def get(self, name: str) -> str:
        """Return the text of `NAME.md`, stripped. Raise `ConfigError` if the file cannot be read."""
        for folder in self._folders:
            path = folder / f"{name}.md"
            try:
                if path.is_file():
                    return path.read_text(encoding="utf-8")[:MAX_BYTES].strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"The prompt {path} cannot be read: {error}.") from error
        searched = ", ".join(map(str, self._folders))
        raise ConfigError(f"There is no prompt {name!r}.", hint=f"Searched in: {searched}.")


class PromptSection(BaseMiddleware):
    """A section of the system prompt with constant text, included while `applies` returns True."""

    def __init__(
        self,
        name: str,
        text: str,
        priority: int,
        applies: Callable[[SessionStateView], bool] = lambda state: True,
    ) -> None:
        self.name = name
        self._applies = applies
        self._fragments = (Fragment(id=name, text=text, priority=priority),)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the section's text if the section applies."""
        return self._fragments if self._applies(state) else ()


def _is_planning(state: SessionStateView) -> bool:
    return state.settings is not None and state.settings.policy == "plan"


def _is_confined(state: SessionStateView) -> bool:
    """Return True if the prompt must explain that the sandbox limits commands."""
    policy = state.settings.policy if state.settings is not None else None
    return bool(state.sandbox) and policy in ("ask", "accept-edits")


class WorkspaceSection(BaseMiddleware):
    """A section of the system prompt with facts about the workspace and the system."""

    name = "workspace"

    def __init__(self, system: str, shell: str) -> None:
        self._system = system
        self._shell = shell

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the section with the workspace, the system and the date."""
        # The date is the day when the session started: a changing date would make the provider's cache useless.
        lines = [
            f"Workspace: {state.workspace} (paths are relative to it)",
            f"System: {self._system}, shell {self._shell}",
        ]
        if state.started_at is not None:
            lines.append(f"Date: {format_day(state.started_at)}")
        return (Fragment(id=self.name, text="\n".join(lines), priority=150),)


def prompt_sections(
    texts: PromptTexts,
    system: str,
    shell: str,
    tools: Collection[str],
    roles: Sequence[Role] = (),
    *,
    attended: bool = True,
) -> list[BaseMiddleware]:
    """Return the built-in sections of the system prompt in order.

    - `tools`: names of the available tools. Sections that describe only other tools are left out.
    - `roles`: named agents that the model can delegate to.
    - `attended`: True if a user can answer questions.
    """
    plan_text = texts.get("plan_mode" if attended else "plan_headless")
    sections = [
        PromptSection("identity", texts.get("identity"), 100),
        WorkspaceSection(system, shell),
        PromptSection("planning", texts.get("planning"), 200),
        PromptSection("subagents", delegation_prompt(texts.get("subagents"), roles), 220),
        PromptSection("sandbox", texts.get("sandbox"), 300, _is_confined),
        PromptSection("plan_mode", plan_text, 350, _is_planning),
        PromptSection("headless", texts.get("headless"), 400, lambda state: not _is_planning(state)),
        PromptSection("guidance", texts.get("guidance"), 900, lambda state: not _is_planning(state)),
    ]
    if attended:
        sections = [section for section in sections if section.name != "headless"]
    return [
        section
        for section in sections
        if section.name not in SECTION_TOOLS or SECTION_TOOLS[section.name] & set(tools)
    ]


def delegation_prompt(text: str, roles: Sequence[Role]) -> str:
    """Append the list of named agents to `text`, which explains when to delegate."""
    lines = [f"- {role.name}: {role.description or 'no description'}" for role in roles]
    return "\n".join([text, "Named agents:", *lines]) if lines else text
