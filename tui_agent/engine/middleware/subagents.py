"""Delegation: what the system prompt says of it, and the roles that delegates can have."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from tui_agent.config.agent_files import FOLDER, AgentFault, named_agents
from tui_agent.config.settings import Config
from tui_agent.engine.components import ResolveModel
from tui_agent.engine.middleware.prompts import PromptTexts
from tui_agent.engine.tools.tool_names import canonical, near
from tui_agent.errors import ConfigError
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment
from tui_agent.ports.delegate import INVESTIGATOR, SUBTASK, Delegation, Role
from tui_agent.protocol.events.session import ErrorRaised

OWN = Path(__file__).parent / "agents"
"""The agents that come with the product."""
LOOKS = ("read_file", "grep", "repo_map", "search_notes")
"""What an investigator may use, as far as it is there."""
INVESTIGATOR_ITERATIONS = 20
NAMED = 3
"""Of what is wrong with the agents' files so much is told where a session opens."""


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
        self.faults, self.hidden = found.faults, found.hidden
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

    def remarks(self, tools: Collection[str], resolve: ResolveModel) -> tuple[AgentFault, ...]:
        """What is wrong with agents that are some: tools that are not among `tools`, models that cannot be used."""
        found: list[AgentFault] = []
        for role in self.roles:
            if Path(role.source).parent != OWN:  # the product's own use what is there
                missing = [name for name in role.tools or () if name not in tools]
                found += [AgentFault(role.source, _not_there(missing, tools))] if missing else []
            found += _unusable(role, resolve)
        return tuple(found)

    def faulty(self, tools: Collection[str], resolve: ResolveModel) -> list[ErrorRaised]:
        """What is told of the agents' files where a session opens, as one event."""
        said = [f"{Path(fault.source).name} is no agent: {fault.message}" for fault in self.faults]
        said += [f"{Path(one.source).name}: {one.message}" for one in self.remarks(tools, resolve)]
        if not said:
            return []
        more = f"; and {len(said) - NAMED} more" if len(said) > NAMED else ""
        return [
            ErrorRaised(
                where="agents",
                message=f"{'; '.join(said[:NAMED])}{more}.",
                hint="`tui-agent agents list` tells all, and shows those that can be used.",
            )
        ]


def _not_there(missing: Sequence[str], tools: Collection[str]) -> str:
    said = [
        f"{name} (like {', '.join(guessed)})" if (guessed := near(name, tools)) else name for name in missing
    ]
    return f"it names {'a tool that is' if len(said) == 1 else 'tools that are'} not there: {', '.join(said)}"


def _unusable(role: Role, resolve: ResolveModel) -> list[AgentFault]:
    if not role.model:
        return []
    try:
        resolve(role.model, "", None)
    except ConfigError as error:
        return [
            AgentFault(role.source, f"its model {role.model} cannot be used: {error.message.rstrip('.')}")
        ]
    return []


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
