"""The default agent, which follows the model's answers."""

from tui_agent.folds.session.view import SessionStateView
from tui_agent.ports.agent import Action, AskModel, CallTools, ModelQuery, Reject, SayMessage
from tui_agent.protocol.parts import ToolCallPart


class ModelAgent:
    """An agent that asks the model once per iteration. An answer without tool calls ends the turn.

    `tools` are the names of the offered tools; None: all.
    """

    def __init__(self, tools: tuple[str, ...] | None = None) -> None:
        self._tools = tools

    @property
    def name(self) -> str:
        """The agent's name in the settings."""
        return "default"

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Ask the model with the whole history, and return what its answer says."""
        reply = await ask(ModelQuery(tools=self._tools))
        calls = tuple(part for part in reply.parts if isinstance(part, ToolCallPart))
        if calls:
            return CallTools(calls)
        if reply.finish == "refusal":
            return Reject("The model refused this task.")
        return SayMessage()
