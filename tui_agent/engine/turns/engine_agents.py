"""The engine's own agents. The default agent asks the model; the other agents do not.

Invariant: an agent only returns actions, and its calls are judged exactly as a model's calls.
"""

from collections.abc import Callable
from typing import Final, Literal

from tui_agent.context.init_guide import GUIDE_FILE, Survey, render_guide, survey
from tui_agent.engine.components import EngineParts
from tui_agent.errors import ConfigError, EnvironmentFault
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.agent import Action, Agent, AskModel, CallTools, Finish, ModelQuery, Reject, SayMessage
from tui_agent.ports.environment import Environment
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ToolCallPart, tool_calls
from tui_agent.protocol.stored_text import JsonMap

INIT_SOURCE: Final[Literal["init"]] = "init"
"""The value of `user.message.source` for a message that `InitAgent` answers."""
SPAWN_TOOL = "spawn_subtask"
"""The tool that starts a delegate."""
SHELL_TOOL = "run_command"
"""The tool that runs a command."""


class ModelAgent:
    """An agent that asks the model once per iteration. An answer without tool calls ends the turn.

    `tools`: names of the tools that the model gets (None: all).
    """

    name = "default"

    def __init__(self, tools: tuple[str, ...] | None = None) -> None:
        self._tools = tools

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Send the history to the model."""
        reply = await ask(ModelQuery(tools=self._tools))
        if calls := tool_calls(reply.parts):
            return CallTools(calls)
        if reply.finish == "refusal":
            return Reject("The model refused this task.")
        return SayMessage()


class InitAgent:
    """The agent that writes a first AGENTS.md for the command `/init`."""

    # The ordinary tools are used, so that the approval shows the diff and /undo restores the file.

    name = "init"

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._survey: Survey | None = None
        self._called: set[str] = set()

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Return the next action: read the current AGENTS.md, write the new file, then report."""
        if self._survey is None:
            try:
                self._survey = await survey(self._env)
            except EnvironmentFault as fault:
                return Finish(f"{GUIDE_FILE} was not written: {fault.message}")
        existing = self._survey.existing
        content = render_guide(self._survey)
        if content == existing:
            return Finish(
                f"{GUIDE_FILE} already lists every command found in the repository's files. Nothing to add."
            )
        if existing is not None and "read_file" not in self._called:
            return self._call("read_file", {"path": GUIDE_FILE})
        if "write_file" not in self._called:
            overwrite = existing is not None
            return self._call("write_file", {"path": GUIDE_FILE, "content": content, "overwrite": overwrite})
        return Finish(await self._report(existing, content))

    def _call(self, name: str, arguments: JsonMap) -> CallTools:
        self._called.add(name)
        return CallTools((ToolCallPart(call_id=CallId(f"init_{name}"), name=name, arguments=arguments),))

    async def _report(self, existing: str | None, content: str) -> str:
        try:
            present = (await self._env.read(GUIDE_FILE)).data.decode("utf-8", "replace")
        except EnvironmentFault:
            present = ""
        if present != content:
            return f"{GUIDE_FILE} was not written."
        done = f"Created {GUIDE_FILE}" if existing is None else f"Added the missing commands to {GUIDE_FILE}"
        return f"{done}. Read it, correct it, and add what the repository's files do not say. /undo reverts this change."


class HandoffAgent:
    """The agent of a turn that the user delegated to a named agent."""

    name = "hands-over"

    def __init__(self, agent: str, task: str) -> None:
        self._call = ToolCallPart(
            call_id=CallId("handed"), name=SPAWN_TOOL, arguments={"prompt": task, "agent": agent}
        )
        self._is_handed_over = False

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Return the call of `spawn_subtask` first, and then the end of the turn."""
        if self._is_handed_over:
            return Finish()
        self._is_handed_over = True
        return CallTools((self._call,))


class ShellFirstAgent:
    """An agent that first runs a message's shell commands, then acts like the agent from `make_agent`."""

    name = "shell-first"

    def __init__(self, commands: tuple[str, ...], make_agent: Callable[[], Agent]) -> None:
        self._commands = commands
        self._agent = make_agent()

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Return calls for the commands first, then the actions of the agent from `make_agent`."""
        commands, self._commands = self._commands, ()
        if not commands:
            return await self._agent.step(state, ask)
        return CallTools(
            tuple(
                ToolCallPart(
                    call_id=CallId(f"shell_{index}"), name=SHELL_TOOL, arguments={"command": command}
                )
                for index, command in enumerate(commands)
            )
        )


def require_role(parts: EngineParts, name: str) -> None:
    """Raise `ConfigError` if the user cannot delegate to an agent with this name."""
    known = ", ".join(parts.delegation.offered_roles) or "none"
    if name not in parts.delegation.offered_roles:
        raise ConfigError(f"There is no agent {name!r} to delegate to.", hint=f"Named agents: {known}.")
    if parts.tools.get(SPAWN_TOOL) is None:
        raise ConfigError(
            "Cannot delegate: the plugin `subagent` is not loaded.",
            hint="See /status plugins for the reason.",
        )
