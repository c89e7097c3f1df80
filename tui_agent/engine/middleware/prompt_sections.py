"""The texts of the system prompt, and middlewares that only add a section to it.

Invariant: each text is a Markdown file; the user's file of the same name replaces it.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread

from tui_agent.context.skills import SkillStore
from tui_agent.errors import ConfigError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment, TurnContext
from tui_agent.ports.delegate import Role
from tui_agent.protocol.events.instructions import SkillRecord, SkillsLoaded
from tui_agent.units import format_day

BUNDLED = Path(__file__).parent / "prompts"
MAX_BYTES = 100_000
SECTION_TOOLS: Final = {
    "planning": frozenset(("write_todos",)),
    "subagents": frozenset(("spawn_subtask",)),
}
"""Maps a section to the tools that it describes."""
SKILLS_PRIORITY = 940
SKILLS_HEADING = (
    "# Skills\n\nBefore you start a task that a skill covers, read it with `read_skill` and follow it."
)
READ_SKILL = "read_skill"
MAX_DESCRIPTION_CHARS = 300
"""Maximum length of a skill's description in the system prompt, in characters."""


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

    def __init__(self, system: str) -> None:
        self._system = system

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the section with the workspace, the system and the date."""
        # The date is the day when the session started: a changing date would make the provider's cache useless.
        lines = [
            f"Workspace: {state.workspace} (paths are relative to it)",
            f"System: {self._system}, shell bash",
        ]
        if state.started_at is not None:
            lines.append(f"Date: {format_day(state.started_at)}")
        return (Fragment(id=self.name, text="\n".join(lines), priority=150),)


def prompt_sections(
    texts: PromptTexts,
    system: str,
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
        WorkspaceSection(system),
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


class SkillsSection(BaseMiddleware):
    """Middleware that lists the skills and checks for changes at the start of each turn."""

    name = "skills"

    def __init__(self, store: SkillStore, *, readable: bool = True) -> None:
        """Create the middleware. If `readable` is False (the model has no tool to read skills), list no skills."""
        self._store = store
        self._readable = readable

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Record the skills if they changed since the last turn."""
        event = skills_event(await to_thread.run_sync(self._store.refresh), turn.state)
        if event is not None:
            turn.emit(event)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return a section of the prompt with one line for each usable skill."""
        lines = [
            f"- {skill.name}: {_shorten(skill.description)}" for skill in state.skills if not skill.fault
        ]
        if not lines or not self._readable:
            return ()
        text = "\n".join((SKILLS_HEADING, "", *lines))
        return (Fragment(id="skills", text=text, section="instructions", priority=SKILLS_PRIORITY),)


def skills_event(present: tuple[SkillRecord, ...], state: SessionStateView) -> SkillsLoaded | None:
    """Return the event that records the skills `present`, or None if they have not changed."""
    return SkillsLoaded(skills=present) if present != state.skills else None


def _shorten(description: str) -> str:
    if len(description) <= MAX_DESCRIPTION_CHARS:
        return description
    return f"{description[:MAX_DESCRIPTION_CHARS].rstrip()}…"
