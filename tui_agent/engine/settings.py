"""Commands that change a setting. Each records one `settings.changed`, even if the value stays the same."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, JsonValue

from tui_agent.engine.components import EngineParts
from tui_agent.errors import ConfigError
from tui_agent.protocol import commands
from tui_agent.protocol.events.policy import PermissionRevoked
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.ids import CommandId
from tui_agent.protocol.settings import POLICIES, SessionSettings

SettingKey = Literal["model", "policy", "agent", "context_mode", "repo_map", "map_options", "budgets"]
SettingCommand: TypeAlias = (
    commands.SetModel
    | commands.SetEffort
    | commands.SetPolicy
    | commands.SetAgent
    | commands.SetContextMode
    | commands.SetRepoMap
    | commands.SetRepoMapOptions
    | commands.SetBudgets
)


def apply_setting(parts: EngineParts, command: SettingCommand) -> None:
    """Change a setting. Raises `ConfigError` if the value is not valid; nothing changes then."""
    settings = parts.recorder.state.settings
    if settings is None:
        raise ConfigError("The session has not started yet.")
    match command:
        case commands.SetModel(model=name, base_url=base_url):
            model = parts.resolve_model(name, base_url, settings.model.effort)
            _record(parts, settings, "model", model, command.id)
        case commands.SetEffort(effort=effort):
            model = parts.resolve_model(settings.model.profile, settings.model.base_url, effort)
            _record(parts, settings, "model", model, command.id)
        case commands.SetPolicy(policy=policy):
            if policy not in POLICIES:
                raise ConfigError(
                    f"The policy {policy} is for delegated agents only.",
                    hint=f"Choose one of: {', '.join(POLICIES)}.",
                )
            _record(parts, settings, "policy", policy, command.id)
        case commands.SetAgent(agent=agent):
            if agent not in parts.agents:
                raise ConfigError(
                    f"There is no agent {agent!r}.", hint=f"Choose one of: {', '.join(sorted(parts.agents))}."
                )
            _record(parts, settings, "agent", agent, command.id)
        case commands.SetContextMode(mode=mode):
            _record(parts, settings, "context_mode", mode, command.id)
        case commands.SetRepoMap(mode=map_mode):
            _record(parts, settings, "repo_map", map_mode, command.id)
        case commands.SetRepoMapOptions(options=choice):
            _record(parts, settings, "map_options", choice, command.id)
        case commands.SetBudgets(budgets=budgets):
            _record(parts, settings, "budgets", budgets, command.id)


def revoke_rule(parts: EngineParts, command: commands.RevokeRule) -> None:
    """Revoke a rule that was allowed for this session. Raises `ConfigError` if there is no such rule."""
    if command.rule not in parts.recorder.state.granted_rules:
        raise ConfigError(
            f"No rule {command.rule!r} was allowed in this session.", hint="/policy lists the allowed rules."
        )
    parts.recorder.append(PermissionRevoked(rule=command.rule), cause=command.id)


def _record(
    parts: EngineParts, settings: SessionSettings, key: SettingKey, value: BaseModel | str, cause: CommandId
) -> None:
    parts.recorder.append(
        SettingsChanged(key=key, value=_json_value(value), previous=_json_value(getattr(settings, key))),
        cause=cause,
    )


def _json_value(value: BaseModel | str) -> JsonValue:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value
