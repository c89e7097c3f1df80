"""The agent of `/init`: writes a first AGENTS.md without a model.

It uses the ordinary tools, so that the policy judges the write, an approval shows the diff, and /undo restores the file.

Invariant: it asks no model; its last message says what is in the file at that time.
"""

from typing import Final, Literal

from tui_agent.context.init_guide import GUIDE_FILE, Survey, render_guide, survey
from tui_agent.errors import EnvironmentFault
from tui_agent.folds.session.view import SessionStateView
from tui_agent.ports.agent import Action, AskModel, CallTools, Finish
from tui_agent.ports.environment import Environment
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ToolCallPart

INIT_SOURCE: Final[Literal["init"]] = "init"
"""The value of `user.message.source` in messages that this agent answers."""


class InitAgent:
    """An agent that writes AGENTS.md once."""

    name = "init"

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._survey: Survey | None = None
        self._called: set[str] = set()

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Survey the repository, read the present file, write the new one, report."""
        if self._survey is None:
            try:
                self._survey = await survey(self._env)
            except EnvironmentFault as fault:
                return Finish(f"{GUIDE_FILE} was not written: {fault.message}")
        existing = self._survey.existing
        content = render_guide(self._survey)
        if content == existing:
            return Finish(
                f"{GUIDE_FILE} already names every command found in the repository's files. Nothing to add."
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
        return (
            f"{done}. Read it, correct it, and add what the repository's files do not say. /undo reverts it."
        )
