"""The agent of a turn that the user gave to a named agent: it hands the task over, and says no more."""

from tui_agent.engine.components import EngineParts
from tui_agent.errors import ConfigError
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.agent import Action, AskModel, CallTools, Finish
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ToolCallPart

DELEGATES = "spawn_subtask"
"""The tool by which a task is handed over."""


def require_role(parts: EngineParts, name: str) -> None:
    """Raise `ConfigError` where the user cannot give a task to an agent of this name."""
    known = ", ".join(parts.delegation.offered) or "none"
    if name not in parts.delegation.offered:
        raise ConfigError(f"There is no agent {name!r} to delegate to.", hint=f"There are: {known}.")
    if parts.tools.get(DELEGATES) is None:
        raise ConfigError("Nothing can be delegated: the plugin `subagent` is not loaded.", hint="/plugins")


class HandsOver:
    """One call of `spawn_subtask`, then the end: the delegate's report is the answer."""

    def __init__(self, agent: str, task: str) -> None:
        self._call = ToolCallPart(
            call_id=CallId("handed"), name=DELEGATES, arguments={"prompt": task, "agent": agent}
        )
        self._handed = False

    @property
    def name(self) -> str:
        """The name it has in the hub."""
        return "hands-over"

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Hand over, once."""
        if self._handed:
            return Finish()
        self._handed = True
        return CallTools((self._call,))
