"""Recording of the changes of the agents' states (running, waiting, …)."""

import anyio

from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.settings import PAUSE_PENDING, AgentState


class StateKeeper:
    """Records agents' states, and makes agents wait while the user has paused the turn."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._current: dict[AgentId, tuple[AgentState, str]] = {}
        self._not_paused = anyio.Event()
        self._not_paused.set()

    def set(self, state: AgentState, reason: str = "", *, agent: AgentId = MAIN_AGENT) -> None:
        """Record the agent's state if it changed."""
        if state is AgentState.RUNNING and self.is_paused and not reason:
            reason = PAUSE_PENDING
        if self._current.get(agent) == (state, reason):
            return
        self._recorder.append(AgentStateChanged(state=state, reason=reason), agent=agent)
        self._current[agent] = (state, reason)

    def remove_agent(self, agent: AgentId) -> None:
        """Forget the state of the delegate `agent`, which has ended."""
        self._current.pop(agent, None)

    @property
    def is_paused(self) -> bool:
        """True if the user has paused the turn."""
        return not self._not_paused.is_set()

    def pause(self) -> None:
        """Pause the agents. Each agent pauses when it next calls `wait_while_paused`."""
        if not self.is_paused:
            self._not_paused = anyio.Event()
            self._update_running("")

    def resume(self) -> None:
        """End a pause, or cancel a pause that has not started yet."""
        self._not_paused.set()
        self._update_running(PAUSE_PENDING)

    def cancel_pause(self) -> None:
        """Forget the pause at the end of a turn. Unlike `resume`, record no change of the agents' states."""
        self._not_paused.set()

    def _update_running(self, reason: str) -> None:
        for agent, current in list(self._current.items()):
            if current == (AgentState.RUNNING, reason):
                self.set(AgentState.RUNNING, agent=agent)

    async def wait_while_paused(self, agent: AgentId = MAIN_AGENT) -> None:
        """Wait while the turn is paused."""
        if not self.is_paused:
            return
        self.set(AgentState.PAUSED, agent=agent)
        await self._not_paused.wait()
        self.set(AgentState.RUNNING, agent=agent)
