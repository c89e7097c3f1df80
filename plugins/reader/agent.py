"""The agent `reader`: the model is offered reading tools only, whatever the policy would allow."""

from tui_agent.plugin_api import (
    Action,
    Ask,
    AskModel,
    CallTools,
    Reject,
    SayMessage,
    SessionStateView,
    ToolCallPart,
)

READING = ("read_file", "list_directory", "glob", "grep", "read_todos", "write_todos", "ask_user")


class Reader:
    """One question to the model an iteration; of its calls only those that read are run."""

    name = "reader"

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Ask with the reading tools; words without calls end the turn."""
        reply = await ask(Ask(tools=READING))
        calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
        if calls:
            return CallTools(tuple(call for call in calls if call.name in READING))
        if reply.finish == "refusal":
            return Reject("The model refused this task.")
        return SayMessage()
