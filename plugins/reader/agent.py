"""The agent `reader`: only reading tools are offered to the model, whatever the policy would allow."""

from tui_agent.plugin_api import (
    Action,
    AskModel,
    CallTools,
    ModelQuery,
    Reject,
    SayMessage,
    SessionStateView,
    ToolCallPart,
)

READING_TOOLS = ("read_file", "list_directory", "glob", "grep", "read_todos", "write_todos", "ask_user")


class Reader:
    """Makes one model request per iteration and runs only the calls that read."""

    name = "reader"

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Request a reply with the reading tools; a reply without calls ends the turn."""
        reply = await ask(ModelQuery(tools=READING_TOOLS))
        calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
        if calls:
            return CallTools(tuple(call for call in calls if call.name in READING_TOOLS))
        if reply.finish == "refusal":
            return Reject("The model refused this task.")
        return SayMessage()
