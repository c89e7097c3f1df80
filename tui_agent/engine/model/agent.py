"""The default agent: asks the model, and does what the model says."""

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.agent import Action, Ask, AskModel, CallTools, Reject, SayMessage
from tui_agent.protocol.parts import ToolCallPart


class ModelAgent:
    """One question to the model an iteration; its calls are run, its words without calls end the turn.

    `tools` are the names of those that it is offered; None: all.
    """

    def __init__(self, tools: tuple[str, ...] | None = None) -> None:
        self._tools = tools

    @property
    def name(self) -> str:
        """The name it has in the hub."""
        return "default"

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Ask with the whole packed history."""
        reply = await ask(Ask(tools=self._tools))
        calls = tuple(part for part in reply.parts if isinstance(part, ToolCallPart))
        if calls:
            return CallTools(calls)
        if reply.finish == "refusal":
            return Reject("The model refused this task.")
        return SayMessage()
