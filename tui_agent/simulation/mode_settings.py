"""Settings of the modes of a simulation, profiles of simulated users, and prompt templates, all in YAML files.

Invariant: the error for a broken file names its path, the field and the reason; a template can use only the given values.
"""

from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import yaml
from pydantic import Field

from tui_agent.config.settings.validation_errors import validate
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError, UsageError
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.settings import PolicyName

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

Mode: TypeAlias = Literal["agent-only", "user-agent", "orchestrated"]
OrchestratorName: TypeAlias = Literal["simple", "default"]
MODES: tuple[Mode, ...] = ("agent-only", "user-agent", "orchestrated")
PROFILES_FILE = "user_profiles.yaml"
FORMAT_HINT = "The format is described in docs/simulation.md."
T = TypeVar("T")


class AgentSettings(FrozenModel):
    """Settings of the agent: its policy, and the template of its first message in the mode `agent-only`."""

    policy: PolicyName = "ask"
    prompt_template: str = "{{ task }}"


class UserSettings(FrozenModel):
    """Settings of the simulated user, with templates in Jinja2; an empty `model` means the agent's model."""

    model: str = ""
    system_template: str
    task_template: str
    format_error_template: str
    approval_template: str
    question_template: str


class Limits(FrozenModel):
    """Limits of a simulation.

    `max_turns`: maximum number of the simulated user's actions.
    `max_answer_attempts`: maximum number of attempts for each answer of the simulated user.
    """

    max_turns: int = Field(100, ge=1)
    max_answer_attempts: int = Field(3, ge=1)


class OrchestratorSettings(FrozenModel):
    """Settings of the orchestrator, which decides when the simulated user learns of each part of the task.

    - `perception_tokens`: the simulated user reads at most this many tokens of prose in each of the agent's answers.
    - `pace`: number of actions that the simulated user takes before learning of the next part of the task.
    - `perceive_template`, `memory_template`, `progress_template`: used only by the orchestrator `default`.
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


class AgentOnlySettings(FrozenModel):
    """Settings of the mode `agent-only`: the agent gets the whole task, and nobody answers its questions."""

    agent: AgentSettings = AgentSettings()


class UserAgentSettings(AgentOnlySettings):
    """Settings of the mode `user-agent`, in which a simulated user works with the agent."""

    user: UserSettings
    limits: Limits = Limits()


class OrchestratedSettings(UserAgentSettings):
    """Settings of the mode `orchestrated`, in which the user learns the task node by node."""

    orchestrator: OrchestratorSettings


_KINDS: dict[Mode, type[AgentOnlySettings]] = {
    "agent-only": AgentOnlySettings,
    "user-agent": UserAgentSettings,
    "orchestrated": OrchestratedSettings,
}


def load_mode(mode: Mode, path: Path | None = None) -> AgentOnlySettings:
    """Return the settings of a mode from the file `path`, or the bundled settings if `path` is None.

    Raise `ConfigError` if the settings are not valid.
    """
    return read_yaml(path or bundled_file(f"{mode.replace('-', '_')}.yaml"), _KINDS[mode])


def load_orchestrated(path: Path | None = None) -> OrchestratedSettings:
    """Return the settings of the mode `orchestrated`. Raise `ConfigError` if the settings are not valid."""
    settings = load_mode("orchestrated", path)
    assert isinstance(settings, OrchestratedSettings)
    return settings


def load_profiles(extra: Path | None, config_dir: Path) -> dict[str, str]:
    """Return the profiles of simulated users: a map from name to description.

    Profiles in `extra` override those in `config_dir`, which override the bundled profiles.
    """
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
    """Return the description of a profile. Raise `UsageError` if no profile has this name."""
    if name not in profiles:
        raise UsageError(f"There is no profile {name!r}.", hint=f"Profiles: {', '.join(sorted(profiles))}.")
    return profiles[name]


def bundled_file(name: str) -> Path:
    """Return the path of a bundled file."""
    return Path(str(files("tui_agent.simulation").joinpath("modes", name)))


def read_yaml(path: Path, kind: type[T]) -> T:
    """Return the content of a YAML file as an object of the type `kind`. Raise `ConfigError` if that fails."""
    text = read_small(path)
    if text is None:
        raise ConfigError(f"{path} was not found.", hint=FORMAT_HINT)
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}.", hint="Correct that line.") from error
    return validate(tree, kind, path, FORMAT_HINT)


def render(template: str, name: str, **values: object) -> str:
    """Fill in a template with `values`. Raise `ConfigError` if the template is faulty.

    `name`: name of the template in error messages.
    """
    try:
        return _environment().from_string(template).render(**values).strip()
    except import_module("jinja2").TemplateError as error:
        raise ConfigError(f"The template {name} is not valid: {error}.", hint=FORMAT_HINT) from error


@cache
def _environment() -> "SandboxedEnvironment":
    # Imported only here, because only a simulation needs templates.
    undefined = import_module("jinja2").StrictUndefined
    environment: SandboxedEnvironment = import_module("jinja2.sandbox").ImmutableSandboxedEnvironment(
        undefined=undefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    return environment
