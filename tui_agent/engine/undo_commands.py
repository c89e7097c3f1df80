"""Undo, redo, revert and the preview of a revert.

Only one of these commands runs at a time; other commands can wait for its end.
"""

from collections.abc import Callable
from typing import TypeAlias

import anyio

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.checkpoints.rewind import Rewind
from tui_agent.engine.tools.jobs import JobManager
from tui_agent.engine.turns.turns import Turns
from tui_agent.protocol import commands
from tui_agent.protocol.settings import AgentState

HeadMoveCommand: TypeAlias = (
    commands.Revert | commands.RevertHunk | commands.Undo | commands.Redo | commands.PlanRevert
)
_ACTIVITIES = {
    "revert": "reverting",
    "undo": "undoing",
    "redo": "redoing",
    "revert_hunk": "reverting",
    "plan_revert": "checking the files",
}
"""Maps a command that undoes, redoes or reverts to the text shown while the command runs."""


class HeadMoves:
    """Runs the commands that move the head of the session's branch, or that preview such a move."""

    def __init__(self, rewind: Rewind, turns: Turns, states: StateKeeper, jobs: JobManager) -> None:
        self._rewind = rewind
        self._turns = turns
        self._states = states
        self._jobs = jobs
        self.end: anyio.Event | None = None
        """Event that is set when the running move ends. None: no move runs."""
        self.is_preview = False
        """True if the running move is a preview, which changes nothing."""

    def reserve(self, command: HeadMoveCommand) -> None:
        """Keep turns and other moves from starting until `run(command)` has ended."""
        self._turns.reserve()
        self.end, self.is_preview = anyio.Event(), isinstance(command, commands.PlanRevert)

    async def run(self, command: HeadMoveCommand) -> None:
        """Run a command for which `reserve` was called.

        Raise `UsageError` or `CheckpointError` if the move is not possible, `StoreError` if recording it fails.
        """
        try:
            self._states.set(AgentState.RUNNING, _ACTIVITIES[command.kind])
            with self._turns.scope:
                if isinstance(command, commands.PlanRevert):
                    await self._rewind.plan(command)
                elif isinstance(command, commands.RevertHunk):
                    await self._rewind.revert_hunk(command)
                else:
                    await self._rewind.run(command)
                    self._jobs.follow_branch()
        finally:
            self._turns.release()
            if self.end is not None:
                self.end.set()
            self.end, self.is_preview = None, False

    async def call_after(self, act: Callable[[], object]) -> None:
        """Call `act` when the running move has ended.

        Record each message with this method. If it were recorded before the move has ended, it would belong to the
        branch that the session leaves.
        """
        if self.end is not None:
            await self.end.wait()
        act()
