"""The demo in the app: an instruction during the turn, and the replay after it."""

import asyncio
from typing import Final

from tui_agent.protocol.commands import Steer
from tui_agent.tui.app_context import AppContext

STEER_ITERATION: Final = 2
"""Number of the iteration in which the demo sends its instruction. The first iteration of a turn has the number 1."""
READ_S: Final = 6.0
"""Time to read the last answer before the replay opens, in seconds."""


class DemoGuide:
    """Guides the user through a demo: sends the agent one instruction, and opens the replay after the turn."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        options = context.app.options
        self._steer = options.steer if options.client == "demo" else ""
        self._has_ended = options.client != "demo"

    def update(self) -> None:
        """Send the instruction in the second iteration of a turn; open the replay after the turn."""
        context, state = self._context, self._context.state
        if self._steer and context.is_running and state.turn_iterations >= STEER_ITERATION:
            context.submit(Steer(text=self._steer))
            self._steer = ""
            context.app.say("The demo sent the agent a message while it worked. You can do this too.")
        if not self._has_ended and not context.is_running and state.last_turn_end is not None:
            self._has_ended = True
            if state.last_turn_end == "finished":
                context.worker(self._open_replay(), "demo replay")

    async def _open_replay(self) -> None:
        context, ended_at = self._context, self._context.views.seq
        context.app.say("The replay of this session follows. Start typing to stay here.")
        await asyncio.sleep(READ_S)
        # Typing, an open sheet or a new event shows that the user has taken over.
        is_untouched = not context.editor.text and len(context.app.screen_stack) == 1
        if is_untouched and context.views.seq == ended_at:
            start = context.views.branches.view().undo_to
            context.act("replay", "" if start is None else str(start + 1))
