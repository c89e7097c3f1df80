"""The skills' names and descriptions in the system prompt; the body of one comes by the tool `read_skill`.

Invariant: what the model is told is what the newest `skills.loaded` says.
"""

from collections.abc import Sequence

from anyio import to_thread

from tui_agent.context.skills import SkillShelf
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment, TurnContext
from tui_agent.protocol.events.instructions import SkillRecord, SkillsLoaded

PRIORITY = 940
HEAD = (
    "# Skills\n\nInstructions for some kinds of task, written for you by the user or the project. Before you begin a task "
    "that one of them is about, read it with `read_skill`, and keep to it."
)
READ_SKILL = "read_skill"
SHOWN = 300
"""Characters of a description."""


class Skills(BaseMiddleware):
    """Looks at a turn's start whether there are other ones."""

    name = "skills"

    def __init__(self, shelf: SkillShelf, *, readable: bool = True) -> None:
        """Not `readable`: there is no tool for it, and the model is told of none."""
        self._shelf = shelf
        self._readable = readable

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Recorded where they are others than before."""
        event = news(await to_thread.run_sync(self._shelf.refresh), turn.state)
        if event is not None:
            turn.emit(event)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """One line a skill that can be used."""
        lines = [f"- {one.name}: {_short(one.description)}" for one in state.skills if not one.fault]
        if not lines or not self._readable:
            return ()
        text = "\n".join((HEAD, "", *lines))
        return (Fragment(id="skills", text=text, section="instructions", priority=PRIORITY),)


def news(found: tuple[SkillRecord, ...], state: SessionStateView) -> SkillsLoaded | None:
    """What is to be recorded of the skills that there are; None where the state says the same."""
    return SkillsLoaded(skills=found) if found != state.skills else None


def _short(description: str) -> str:
    return description if len(description) <= SHOWN else f"{description[:SHOWN].rstrip()}…"
