"""The agent `reader`: only reading tools are offered to the model, whatever the policy would allow."""

import tui_agent.plugin_api as api

READING_TOOLS = ("read_file", "list_directory", "glob", "grep", "read_todos", "write_todos", "ask_user")


class Reader:
    """Makes one model request per iteration and runs only the calls that read."""

    name = "reader"

    async def step(self, state: api.SessionStateView, ask: api.AskModel) -> api.Action:
        """Request a reply with the reading tools; a reply without calls ends the turn."""
        reply = await ask(api.ModelQuery(tools=READING_TOOLS))
        calls = [part for part in reply.parts if isinstance(part, api.ToolCallPart)]
        if calls:
            return api.CallTools(tuple(call for call in calls if call.name in READING_TOOLS))
        if reply.finish == "refusal":
            return api.Reject("The model refused this task.")
        return api.SayMessage()
