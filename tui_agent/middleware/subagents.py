"""L4: delegation: what the system prompt says of it, and the roles that delegates can have."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tui_agent.config.agent_files import FOLDER, named_agents
from tui_agent.config.settings import Config
from tui_agent.folds.session_state import SessionStateView
from tui_agent.middleware.prompts import PromptTexts
from tui_agent.plugin_api import BaseMiddleware, Fragment
from tui_agent.ports.delegate import INVESTIGATOR, SUBTASK, Delegation, Role
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.tools.names import canonical

OWN = Path(__file__).parent / "agents"
"""The agents that come with the product."""
LOOKS = ("read_file", "grep", "repo_map", "search_notes")
"""What an investigator may use, as far as it is there."""
INVESTIGATOR_ITERATIONS = 20
NAMED = 3
"""Of the files that are no agents so many are named where a session opens."""


class SubagentsSection(BaseMiddleware):
    """When to delegate, and to whom by name."""

    name = "subagents"

    def __init__(self, text: str, roles: Sequence[Role]) -> None:
        named = [f"- {one.name}: {one.description or 'no description'}" for one in roles]
        whole = "\n".join([text, "Named agents (the argument `agent`):", *named]) if named else text
        self._fragments = (Fragment(id=self.name, text=whole, priority=220),)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """The same text for every state."""
        return self._fragments


class Subagents:
    """What the configuration says of delegates. Raises `ConfigError` where a prompt cannot be read."""

    def __init__(self, config: Config) -> None:
        found = named_agents(OWN, config.paths.config_dir / FOLDER, config.project)
        texts = PromptTexts((config.paths.config_dir / "prompts",))
        self.roles = tuple(_canonical(one) for one in found.roles)
        self.faults = found.faults
        limits = config.delegation
        own = (Role(SUBTASK, texts.get("subtask")), _investigator(config, texts))
        self.rules = Delegation(
            roles={one.name: one for one in (*own, *self.roles)},
            offered=tuple(one.name for one in self.roles),
            parallel=limits.max_parallel_subtasks,
            depth=limits.max_depth,
            max_iterations=limits.max_iterations,
            timeout_seconds=limits.timeout_seconds,
        )

    @property
    def faulty(self) -> list[ErrorRaised]:
        """The files that are no agent, as one event: why each is none is told by the command that it names."""
        if not self.faults:
            return []
        count = len(self.faults)
        names = [Path(fault.source).name for fault in self.faults[:NAMED]]
        said = ", ".join(names) + (f" and {count - NAMED} more" if count > NAMED else "")
        return [
            ErrorRaised(
                where="agents",
                message=f"{said} is no agent." if count == 1 else f"{count} files are no agents: {said}.",
                hint="`tui-agent agents list` says why, and shows those that can be used.",
            )
        ]


def _investigator(config: Config, texts: PromptTexts) -> Role:
    return Role(
        INVESTIGATOR,
        texts.get("investigator"),
        tools=LOOKS,
        model=config.investigator_profile,
        max_iterations=INVESTIGATOR_ITERATIONS,
        read_only=True,
    )


def _canonical(role: Role) -> Role:
    """Its tools by the names that they have here."""
    if role.tools is None:
        return role
    return replace(role, tools=tuple(dict.fromkeys(canonical(name) for name in role.tools)))
