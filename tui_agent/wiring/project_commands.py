"""Slash commands of a trusted project.

Invariant: a command uses the text that the user trusted, whatever its file contains now.
"""

from dataclasses import replace
from typing import Final

from anyio import to_thread

from tui_agent.config.extensions.command_files import CommandFile
from tui_agent.config.project.project_files import ProjectFiles, read_project_files
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.view import SessionStateView
from tui_agent.ports.command import CommandAnswer
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.events.command import OfferedCommand

CHANGED: Final = (
    "The project's files changed since you trusted them. This command used the text that you trusted. "
    "/trust shows the changes."
)


@dataclass(frozen=True, slots=True)
class ProjectCommand:
    """A command of the project. It tells the user if the project's files have changed since they were trusted."""

    command: CommandFile
    project: ProjectFiles

    @property
    def offer(self) -> OfferedCommand:
        return self.command.offer

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Return the command's answer, with a notice if the project's files have changed."""
        answer = await self.command.answer(arguments, state)
        present = await to_thread.run_sync(read_project_files, self.project.folder)
        is_current = present.key == self.project.key
        return answer if is_current else replace(answer, display=(TextBlock(text=CHANGED),))
