"""Composition of a session's settings: initial settings for a new session, changed settings for a resumed session."""

from tui_agent.config.settings.settings import Config
from tui_agent.engine.agent_programs.program_agent import PROGRAMS
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.setting_commands import record_setting
from tui_agent.errors import ConfigError
from tui_agent.models.factory import NO_MODEL, ModelFactory
from tui_agent.protocol.settings import Effort, ModelInfo, SessionSettings
from tui_agent.wiring.startup_context import StartupContext

CLIENTS_WITH_MODEL_CHOICE = ("app", "web", "editor")
"""Kinds of clients where the user can change the model of an open session."""


def build_settings(base: StartupContext, models: ModelFactory) -> SessionSettings:
    """Return the settings of a new session.

    Raise `ConfigError` for an unusable model if the client does not let the user choose another one.
    """
    config = base.config
    model = models.no_model()
    if config.agent in PROGRAMS:
        # The configured model is for other agents. Without -m, an agent that is a program uses its own model.
        name = base.options.model or ""
        shown = name or "its own model"
        effort = config.reasoning_effort
        model = ModelInfo(profile=name, provider=config.agent, model=shown, effort=effort, efforts=())
    elif config.model or config.base_url:
        model = _resolve(base, models, config.model, config.base_url, config.reasoning_effort)
    return SessionSettings(
        model=model,
        policy=config.policy,
        agent=config.agent,
        context_mode=config.context_mode,
        repo_map=config.repo_map,
        budgets=config.budgets,
    )


def lacks_model(config: Config) -> bool:
    """Return True if no model is configured but the agent needs one."""
    return not (config.model or config.base_url or config.agent in PROGRAMS)


def _resolve(
    base: StartupContext, models: ModelFactory, name: str, base_url: str, effort: Effort | None
) -> ModelInfo:
    try:
        return models.resolve(name, base_url, effort)
    except ConfigError as error:
        if base.options.client not in CLIENTS_WITH_MODEL_CHOICE:
            raise
        return models.no_model(str(error))


def apply_fork_changes(base: StartupContext, models: ModelFactory, recorder: Recorder) -> None:
    """Apply the fork's own model and context mode.

    A model on the command line takes precedence. Raise `ConfigError` for an unusable model, unless the client lets the
    user choose another one.
    """
    change, known = recorder.state.fork_changes, recorder.state.settings
    if change is None or known is None:
        return
    is_model_given = base.options.model or base.options.base_url
    if (change.model or change.reasoning_effort) and not is_model_given:
        effort = change.reasoning_effort or known.model.effort
        base_url = "" if change.model else known.model.base_url
        model = _resolve(base, models, change.model or known.model.profile, base_url, effort)
        record_setting(recorder, "model", known, known.model_copy(update={"model": model}))
    if change.context_mode is not None:
        new = known.model_copy(update={"context_mode": change.context_mode})
        record_setting(recorder, "context_mode", known, new)


def apply_options(base: StartupContext, recorder: Recorder, settings: SessionSettings) -> None:
    """Apply the options of this start to the settings of a resumed session."""
    # The policy `bypass` of an earlier run does not stay in effect.
    known = recorder.state.settings
    if known is None:
        return
    options = base.options
    requested: list[tuple[str, object]] = [
        ("model", options.model or options.base_url or options.effort or None),
        ("policy", options.policy),
        ("agent", options.agent),
        ("context_mode", options.context_mode),
    ]
    changed = {key for key, value in requested if value is not None}
    if known.policy == "bypass":
        changed.add("policy")
    if known.model.provider == NO_MODEL:
        changed.add("model")
    configured = base.config.budgets.model_dump(exclude_none=True)
    settings = settings.model_copy(update={"budgets": known.budgets.model_copy(update=configured)})
    changed.add("budgets")
    for key in sorted(changed):
        if getattr(settings, key) != getattr(known, key):
            record_setting(recorder, key, known, settings)
