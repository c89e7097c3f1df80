"""Names and descriptions of skills in the system prompt.

Invariant: the model sees exactly the skills in the newest `skills.loaded`.
"""

from collections.abc import Sequence

from anyio import to_thread

from tui_agent.context.skills import SkillStore
from tui_agent.folds.session.view import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment, TurnContext
from tui_agent.protocol.events.instructions import SkillRecord, SkillsLoaded

PRIORITY = 940
HEADING = "# Skills\n\nBefore you start a task that a skill covers, read it with `read_skill` and follow it."
READ_SKILL = "read_skill"
MAX_DESCRIPTION_CHARS = 300
"""Maximum length of a skill's description in the system prompt, in characters."""


class SkillsSection(BaseMiddleware):
    """Middleware that lists the skills and checks for changes at the start of each turn."""

    name = "skills"

    def __init__(self, store: SkillStore, *, readable: bool = True) -> None:
        """Create the middleware. If `readable` is False, no skills are listed."""
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
        text = "\n".join((HEADING, "", *lines))
        return (Fragment(id="skills", text=text, section="instructions", priority=PRIORITY),)


def skills_event(present: tuple[SkillRecord, ...], state: SessionStateView) -> SkillsLoaded | None:
    """Return the event that records the skills `present`, or None if they have not changed."""
    return SkillsLoaded(skills=present) if present != state.skills else None


def _shorten(description: str) -> str:
    if len(description) <= MAX_DESCRIPTION_CHARS:
        return description
    return f"{description[:MAX_DESCRIPTION_CHARS].rstrip()}…"
