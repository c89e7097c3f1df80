"""The agent of `/init` without a model: it writes a first AGENTS.md by the ordinary tools, so that the policy judges
the write, an approval shows the diff, and an undo takes it back.

Invariant: it asks no model; what it says at the end is what is in the file then.
"""

from typing import Final, Literal

from tui_agent.context.init_guide import NAME, Survey, survey, written
from tui_agent.errors import EnvironmentFault
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.agent import Action, AskModel, CallTools, Finish
from tui_agent.ports.environment import Environment
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import ToolCallPart

SOURCE: Final[Literal["init"]] = "init"
"""What `user.message.source` says of a message that this agent answers."""


class InitAgent:
    """One file, once."""

    name = "init"

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._survey: Survey | None = None
        self._called: set[str] = set()

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Look, read what is there, write, say how it ended."""
        if self._survey is None:
            try:
                self._survey = await survey(self._env)
            except EnvironmentFault as fault:
                return Finish(f"{NAME} was not written: {fault.message}")
        found = self._survey
        wanted = written(found)
        if wanted == found.existing:
            return Finish(
                f"{NAME} names every command that the repository's files show; nothing is to be added."
            )
        if found.existing is not None and "read_file" not in self._called:
            return self._call("read_file", {"path": NAME})
        if "write_file" not in self._called:
            there = found.existing is not None
            return self._call("write_file", {"path": NAME, "content": wanted, "overwrite": there})
        return Finish(await self._end(found, wanted))

    def _call(self, name: str, arguments: JsonMap) -> CallTools:
        self._called.add(name)
        return CallTools((ToolCallPart(call_id=CallId(f"init_{name}"), name=name, arguments=arguments),))

    async def _end(self, found: Survey, wanted: str) -> str:
        try:
            now = (await self._env.read(NAME)).data.decode("utf-8", "replace")
        except EnvironmentFault:
            now = ""
        if now != wanted:
            return f"{NAME} was not written."
        what = "is written" if found.existing is None else "has what it lacked"
        return f"{NAME} {what}. Read it, correct it, and add what the files do not tell; /undo takes it back."
