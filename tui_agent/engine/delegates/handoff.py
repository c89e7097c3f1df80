"""The agent of a turn that the user gives to a named agent: it delegates the task and adds nothing."""

from tui_agent.engine.components import EngineParts
from tui_agent.errors import ConfigError
from tui_agent.folds.session.view import SessionStateView
from tui_agent.ports.agent import Action, AskModel, CallTools, Finish
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ToolCallPart

SPAWN_TOOL = "spawn_subtask"
"""The tool that starts a delegate."""


def require_role(parts: EngineParts, name: str) -> None:
    """Raise `ConfigError` if the user cannot delegate to an agent of this name."""
    known = ", ".join(parts.delegation.offered_roles) or "none"
    if name not in parts.delegation.offered_roles:
        raise ConfigError(f"There is no agent {name!r} to delegate to.", hint=f"Named agents: {known}.")
    if parts.tools.get(SPAWN_TOOL) is None:
        raise ConfigError(
            "Cannot delegate: the plugin `subagent` is not loaded.", hint="See /plugins for the reason."
        )


class HandoffAgent:
    """An agent that calls `spawn_subtask` once and ends the turn; the delegate's report is the answer."""

    def __init__(self, agent: str, task: str) -> None:
        self._call = ToolCallPart(
            call_id=CallId("handed"), name=SPAWN_TOOL, arguments={"prompt": task, "agent": agent}
        )
        self._is_handed_over = False

    @property
    def name(self) -> str:
        """The agent's name."""
        return "hands-over"

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Call the tool once, then finish."""
        if self._is_handed_over:
            return Finish()
        self._is_handed_over = True
        return CallTools((self._call,))
