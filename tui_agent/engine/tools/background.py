"""The processes that run beside a session's tool calls: background jobs, and programs that tools keep running."""

from anyio.abc import TaskGroup

from tui_agent.engine.tools.jobs import JobManager
from tui_agent.engine.tools.programs import ProgramKeeper
from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Background:
    """Runs and ends the background jobs and the programs of a session."""

    jobs: JobManager
    programs: ProgramKeeper

    def begin(self, group: TaskGroup) -> None:
        """Set the task group in which jobs and programs run."""
        self.jobs.begin(group)
        self.programs.begin(group)

    async def end_all(self) -> None:
        """End all jobs and programs at the end of the session."""
        await self.jobs.end_all("session")
        await self.programs.end_all()
