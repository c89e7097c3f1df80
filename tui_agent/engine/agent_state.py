"""What the agent is doing, as recorded changes; a state that does not change is not recorded again."""

import anyio

from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.settings import PAUSING, AgentState


class StateKeeper:
    """Records agents' states, and holds them while the user has paused the turn."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._now: dict[AgentId, tuple[AgentState, str]] = {}
        self._go = anyio.Event()
        self._go.set()

    def set(self, state: AgentState, reason: str = "", *, agent: AgentId = MAIN_AGENT) -> None:
        """Record a state if it is a new one. A running one says when the user waits for a pause."""
        if state is AgentState.RUNNING and self.paused and not reason:
            reason = PAUSING
        if self._now.get(agent) == (state, reason):
            return
        self._recorder.append(AgentStateChanged(state=state, reason=reason), agent=agent)
        self._now[agent] = (state, reason)

    def forget(self, agent: AgentId) -> None:
        """A delegate has ended."""
        self._now.pop(agent, None)

    @property
    def paused(self) -> bool:
        """The user holds the turn."""
        return not self._go.is_set()

    def pause(self) -> None:
        """Hold from the next check on."""
        if not self.paused:
            self._go = anyio.Event()
            self._say_again("")

    def resume(self) -> None:
        """Let go, or take back a pause that has not begun yet."""
        self._go.set()
        self._say_again(PAUSING)

    def forget_pause(self) -> None:
        """The turn is over: a pause that was asked for in it holds no other."""
        self._go.set()

    def _say_again(self, reason: str) -> None:
        """Whoever runs for this reason says anew what there is to say."""
        for agent, now in list(self._now.items()):
            if now == (AgentState.RUNNING, reason):
                self.set(AgentState.RUNNING, agent=agent)

    async def checkpoint(self, agent: AgentId = MAIN_AGENT) -> None:
        """Wait here while the user has paused."""
        if not self.paused:
            return
        self.set(AgentState.PAUSED, agent=agent)
        await self._go.wait()
        self.set(AgentState.RUNNING, agent=agent)
