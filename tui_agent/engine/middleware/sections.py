"""The prompt texts, and the middlewares that only contribute a section of the system prompt.

Invariant: each text is a Markdown file. Users can override it with a file of the same name, because their folders are
searched before the bundled folder.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from tui_agent.errors import ConfigError
from tui_agent.folds.session.view import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment
from tui_agent.ports.delegate import Role
from tui_agent.protocol.settings import PolicyName

BUNDLED = Path(__file__).parent / "prompts"
MAX_BYTES = 100_000
SECTION_TOOLS: Final = {
    "planning": frozenset(("write_todos",)),
    "filesystem": frozenset(("write_file", "edit_file")),
    "subagents": frozenset(("spawn_subtask",)),
}
"""Maps a section to the tools that it describes. A section is left out if none of its tools is available."""


class PromptTexts:
    """Prompt texts by name, read from the first folder that contains `NAME.md`."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = (*folders, BUNDLED)

    def get(self, name: str) -> str:
        """Return the text of `NAME.md`, stripped. Raises `ConfigError` if it cannot be read."""
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
    """A section with constant text. If `policy` is given, the section is included only under that policy."""

    def __init__(self, name: str, text: str, priority: int, policy: PolicyName | None = None) -> None:
        self.name = name
        self._policy = policy
        self._fragments = (Fragment(id=name, text=text, priority=priority),)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the text, or nothing if the section belongs to a policy other than the session's."""
        present = state.settings.policy if state.settings is not None else None
        return self._fragments if self._policy in (None, present) else ()


class WorkspaceSection(BaseMiddleware):
    """A section with facts about the workspace and the system, so that the model need not look them up."""

    name = "workspace"

    def __init__(self, system: str, shell: str) -> None:
        self._system = system
        self._shell = shell

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the facts. They have no date, because it would invalidate the provider's prompt cache every day."""
        text = f"Workspace: {state.workspace}\nSystem: {self._system}, shell {self._shell}"
        return (Fragment(id=self.name, text=text, priority=150),)


def prompt_sections(
    texts: PromptTexts, system: str, shell: str, tools: Collection[str], roles: Sequence[Role] = ()
) -> list[BaseMiddleware]:
    """Return the built-in sections in order. A section is left out if none of its `SECTION_TOOLS` is in `tools`.

    `roles` are the named agents that the model can delegate to.
    """
    sections = [
        PromptSection("identity", texts.get("identity"), 100),
        WorkspaceSection(system, shell),
        PromptSection("planning", texts.get("planning"), 200),
        PromptSection("filesystem", texts.get("filesystem"), 210),
        PromptSection("subagents", delegation_prompt(texts.get("subagents"), roles), 220),
        PromptSection("plan_mode", texts.get("plan_mode"), 350, policy="plan"),
        PromptSection("guidance", texts.get("guidance"), 900),
    ]
    return [
        section
        for section in sections
        if section.name not in SECTION_TOOLS or SECTION_TOOLS[section.name] & set(tools)
    ]


def delegation_prompt(text: str, roles: Sequence[Role]) -> str:
    """Return `text`, which explains when to delegate, followed by the list of named agents."""
    lines = [f"- {role.name}: {role.description or 'no description'}" for role in roles]
    return "\n".join([text, "Named agents (the argument `agent`):", *lines]) if lines else text
