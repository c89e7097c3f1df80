"""L4: the default agent: asks the model, and does what the model says."""

from tui_agent.folds.session_state import SessionStateView
from tui_agent.ports.agent import Action, Ask, AskModel, CallTools, Reject, SayMessage
from tui_agent.protocol.parts import ToolCallPart


class ModelAgent:
    """One question to the model an iteration; its calls are run, its words without calls end the turn."""

    @property
    def name(self) -> str:
        """The name it has in the hub."""
        return "default"

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Ask with the whole packed history and all tools."""
        reply = await ask(Ask())
        calls = tuple(part for part in reply.parts if isinstance(part, ToolCallPart))
        if calls:
            return CallTools(calls)
        if reply.finish == "refusal":
            return Reject("The model refused this task.")
        return SayMessage()
