"""Commands that change a setting. Each command records one `settings.changed`."""

from collections.abc import Collection
from typing import Literal, TypeAlias

from pydantic import BaseModel

from tui_agent.engine.components import EngineParts
from tui_agent.engine.recorder import Recorder
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
    """Change a setting. Raise `ConfigError` if the value is not valid."""
    settings = parts.recorder.state.settings
    if settings is None:
        raise ConfigError("The session has not started yet.")
    key: SettingKey
    value: BaseModel | str
    match command:
        case commands.SetModel(model=name, base_url=base_url):
            key, value = "model", parts.resolve_model(name, base_url, settings.model.effort)
        case commands.SetEffort(effort=effort):
            key, value = "model", parts.resolve_model(settings.model.profile, settings.model.base_url, effort)
        case commands.SetPolicy(policy=policy):
            if policy not in POLICIES:
                raise ConfigError(
                    f"The policy {policy} is for delegated agents only.",
                    hint=f"Choose one of: {', '.join(POLICIES)}.",
                )
            key, value = "policy", policy
        case commands.SetAgent(agent=agent):
            if agent not in parts.agents:
                raise ConfigError(
                    f"There is no agent {agent!r}.", hint=f"Choose one of: {', '.join(sorted(parts.agents))}."
                )
            key, value = "agent", agent
        case commands.SetContextMode(mode=mode):
            key, value = "context_mode", mode
        case commands.SetRepoMap(mode=map_mode):
            key, value = "repo_map", map_mode
        case commands.SetRepoMapOptions(options=options):
            key, value = "map_options", options
        case commands.SetBudgets(budgets=budgets):
            key, value = "budgets", budgets
    record_setting(parts.recorder, key, settings, settings.model_copy(update={key: value}), cause=command.id)


def revoke_rule(parts: EngineParts, command: commands.RevokeRule) -> None:
    """Revoke a rule that the user allowed for this session. Raise `ConfigError` if there is no such rule."""
    if command.rule not in parts.recorder.state.granted_rules:
        raise ConfigError(
            f"No rule {command.rule!r} was allowed in this session.", hint="/policy lists the allowed rules."
        )
    parts.recorder.append(PermissionRevoked(rule=command.rule), cause=command.id)


def revoke_other_rules(recorder: Recorder, valid_rules: Collection[str]) -> None:
    """Revoke all rules that the user allowed for this session, except those in `valid_rules`."""
    for rule in recorder.state.granted_rules:
        if rule not in valid_rules:
            recorder.append(PermissionRevoked(rule=rule))


def record_setting(
    recorder: Recorder,
    key: str,
    old: SessionSettings,
    new: SessionSettings,
    *,
    changed_by: Literal["user", "engine"] = "user",
    cause: CommandId | None = None,
) -> None:
    """Record that the setting `key` changed, with the old and the new value as plain JSON."""
    value, previous = new.model_dump(mode="json")[key], old.model_dump(mode="json")[key]
    fields = {"key": key, "value": value, "previous": previous, "changed_by": changed_by}
    recorder.append(SettingsChanged.model_validate(fields), cause=cause)
