"""Settings of the modes of a simulation, and profiles of users, in YAML files.

The bundled files are in `modes/`: `agent_only.yaml`, `user_agent.yaml`, `orchestrated.yaml` and `user_profiles.yaml`.
"""

from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field

from tui_agent.errors import ConfigError, UsageError
from tui_agent.protocol.settings import PolicyName
from tui_agent.simulation.yaml_files import Entry, read_yaml

Mode: TypeAlias = Literal["agent-only", "user-agent", "orchestrated"]
OrchestratorName: TypeAlias = Literal["simple", "default"]
MODES: tuple[Mode, ...] = ("agent-only", "user-agent", "orchestrated")
PROFILES_FILE = "user_profiles.yaml"


class AgentSettings(Entry):
    """The agent: what it may do without asking, and its first message in the mode agent-only."""

    policy: PolicyName = "ask"
    prompt_template: str = "{{ task }}"


class UserSettings(Entry):
    """The simulated user. Each template is Jinja2; `model` is empty for the agent's model."""

    model: str = ""
    system_template: str
    task_template: str
    format_error_template: str
    approval_template: str
    question_template: str


class Limits(Entry):
    """Limits of a simulation: the user's actions, and answers in a wrong format one after the other."""

    max_turns: int = Field(100, ge=1)
    max_format_errors: int = Field(3, ge=1)


class OrchestratorSettings(Entry):
    """The orchestrator: it decides which parts of the task come to the user's mind, and when.

    `perception_tokens`: how much prose of an answer the user takes in. `pace`: the user's actions for each node of the
    task tree. The templates from `perceive_template` on are for the orchestrator `default`.
    """

    model: str = ""
    kind: OrchestratorName = "simple"
    perception_tokens: int = Field(64, ge=1)
    pace: int = Field(1, ge=1)
    tree_template: str
    mind_template: str
    early_exit_template: str
    perceive_template: str = ""
    memory_template: str = ""
    progress_template: str = ""


class AgentOnlySettings(Entry):
    """The mode agent-only: the agent gets the whole task, and nobody answers it."""

    agent: AgentSettings = AgentSettings()


class UserAgentSettings(AgentOnlySettings):
    """The mode user-agent: a simulated user works with the agent."""

    user: UserSettings
    limits: Limits = Limits()


class OrchestratedSettings(UserAgentSettings):
    """The mode orchestrated: the user meets the task node by node."""

    orchestrator: OrchestratorSettings


_KINDS: dict[Mode, type[AgentOnlySettings]] = {
    "agent-only": AgentOnlySettings,
    "user-agent": UserAgentSettings,
    "orchestrated": OrchestratedSettings,
}


def load_mode(mode: Mode, path: Path | None = None) -> AgentOnlySettings:
    """Return the settings of a mode from `path`, or the bundled ones. Raises `ConfigError`."""
    return read_yaml(path or bundled_file(f"{mode.replace('-', '_')}.yaml"), _KINDS[mode])


def load_orchestrated(path: Path | None = None) -> OrchestratedSettings:
    """Return the settings of the mode orchestrated. Raises `ConfigError`."""
    settings = load_mode("orchestrated", path)
    assert isinstance(settings, OrchestratedSettings)
    return settings


def load_profiles(extra: Path | None, config_dir: Path) -> dict[str, str]:
    """Return the descriptions of users by name: bundled, of `user_profiles.yaml` in the configuration, of `extra`."""
    profiles = dict(read_yaml(bundled_file(PROFILES_FILE), dict[str, str]))
    own = config_dir / PROFILES_FILE
    for path in (own if own.exists() else None, extra):
        if path is not None:
            profiles |= read_yaml(path, dict[str, str])
    empty = next((name for name, text in profiles.items() if not text.strip()), None)
    if empty is not None:
        raise ConfigError(f"The profile {empty!r} has no text.", hint="Describe the user in it.")
    return profiles


def choose_profile(profiles: dict[str, str], name: str) -> str:
    """Return the description of a profile. Raises `UsageError` if there is none of this name."""
    if name not in profiles:
        raise UsageError(f"There is no profile {name!r}.", hint=f"Profiles: {', '.join(sorted(profiles))}.")
    return profiles[name]


def bundled_file(name: str) -> Path:
    """Return the path of a bundled file."""
    return Path(str(files("tui_agent.simulation").joinpath("modes", name)))
