"""The agent `reader`: the model gets only reading tools, even if the policy would allow others."""

import tui_agent.plugin_api as api

READING_TOOLS = ("read_file", "list_directory", "glob", "grep", "write_todos", "ask_user")


class Reader:
    """Agent that makes one model request per iteration, and runs only calls of `READING_TOOLS`."""

    name = "reader"

    async def step(self, state: api.SessionStateView, ask: api.AskModel) -> api.Action:
        """Ask the model and return the tool calls in its reply, or end the turn if it has none."""
        reply = await ask(api.ModelQuery(tools=READING_TOOLS))
        calls = [part for part in reply.parts if isinstance(part, api.ToolCallPart)]
        if calls:
            return api.CallTools(tuple(call for call in calls if call.name in READING_TOOLS))
        if reply.finish == "refusal":
            return api.Reject("The model refused this task.")
        return api.SayMessage()
