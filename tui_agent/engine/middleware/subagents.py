"""The roles that a delegate can have (built-in roles and named agents), and the faults in agent files."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from tui_agent.config.extensions.agent_files import FOLDER, AgentFault, load_named_agents
from tui_agent.config.project.other_agents_files import user_folders
from tui_agent.config.settings.settings import Config
from tui_agent.engine.components import ResolveModel
from tui_agent.engine.middleware.prompt_sections import PromptTexts
from tui_agent.errors import ConfigError
from tui_agent.models.tool_call_repair import canonical_name, similar_names
from tui_agent.ports.delegate import INVESTIGATOR, SUBTASK, DelegationRules, Role
from tui_agent.protocol.events.session import ErrorRaised

BUNDLED_AGENTS = Path(__file__).parent / "agents"
"""The folder with the files of the bundled agents."""
INVESTIGATOR_TOOLS = ("read_file", "grep", "repo_map", "search_notes")
"""The tools of the role `investigator`, if they are loaded."""
INVESTIGATOR_ITERATIONS = 20
MAX_NAMED_FAULTS = 3
"""Maximum number of faulty agent files that are listed when a session opens."""


class Subagents:
    """The agents that the model can delegate to. Raise `ConfigError` if a prompt cannot be read.

    `plugin_folders`: folders of plugins that contain agent files.
    """

    def __init__(self, config: Config, plugin_folders: Sequence[Path] = ()) -> None:
        folder = config.paths.config_dir / FOLDER
        agents = load_named_agents(
            BUNDLED_AGENTS, folder, config.project, plugin_folders, user_folders(config.paths, "agents")
        )
        texts = PromptTexts((config.paths.config_dir / "prompts",))
        self.roles = tuple(_with_canonical_tools(role) for role in agents.roles)
        self.faults, self.hidden = agents.faults, agents.hidden
        limits = config.delegation
        built_in = (Role(SUBTASK, texts.get("subtask")), _investigator(config, texts))
        self.rules = DelegationRules(
            roles={role.name: role for role in (*built_in, *self.roles)},
            offered_roles=tuple(role.name for role in self.roles),
            max_parallel=limits.max_parallel_subtasks,
            max_depth=limits.max_depth,
            max_iterations=limits.max_iterations,
            timeout_seconds=limits.timeout_seconds,
        )

    def check_roles(self, tools: Collection[str], resolve: ResolveModel) -> tuple[AgentFault, ...]:
        """Return a fault for each agent that needs an unavailable tool or model.

        Faults in agent files are not included.
        """
        faults: list[AgentFault] = []
        for role in self.roles:
            # A bundled agent simply goes without tools that are not loaded.
            if Path(role.source).parent != BUNDLED_AGENTS:
                missing = [name for name in role.tools or () if name not in tools]
                faults += [AgentFault(role.source, _missing_tools_message(missing, tools))] if missing else []
            faults += _model_faults(role, resolve)
        return tuple(faults)

    def fault_events(self, tools: Collection[str], resolve: ResolveModel) -> list[ErrorRaised]:
        """Return one event with the faults of all agent files, or nothing."""
        lines = [f"{Path(fault.source).name} is not a valid agent: {fault.message}" for fault in self.faults]
        lines += [f"{Path(fault.source).name}: {fault.message}" for fault in self.check_roles(tools, resolve)]
        if not lines:
            return []
        more = f"; and {len(lines) - MAX_NAMED_FAULTS} more" if len(lines) > MAX_NAMED_FAULTS else ""
        return [
            ErrorRaised(
                where="agents",
                message=f"{'; '.join(lines[:MAX_NAMED_FAULTS])}{more}.",
                hint="Run `tui-agent agents list` to see all of them.",
            )
        ]


def _missing_tools_message(missing: Sequence[str], tools: Collection[str]) -> str:
    names = [
        f"{name} (did you mean {', '.join(similar)}?)" if (similar := similar_names(name, tools)) else name
        for name in missing
    ]
    return f"it names {'an unknown tool' if len(names) == 1 else 'unknown tools'}: {', '.join(names)}"


def _model_faults(role: Role, resolve: ResolveModel) -> list[AgentFault]:
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
        tools=INVESTIGATOR_TOOLS,
        model=config.investigator_profile,
        max_iterations=INVESTIGATOR_ITERATIONS,
        read_only=True,
    )


def _with_canonical_tools(role: Role) -> Role:
    if role.tools is None:
        return role
    return replace(role, tools=tuple(dict.fromkeys(canonical_name(name) for name in role.tools)))
