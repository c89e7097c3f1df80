"""Composition of the model factory, which creates the models of profiles, vendors, demos, recordings and plugins."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tui_agent.config.settings.settings import ModelProfile
from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.errors import ConfigError, PluginError, TuiAgentError
from tui_agent.models.factory import NO_MODEL, ModelFactory
from tui_agent.models.replay_model import ANSWERS_ENDING, RecordedAnswers, read_answers, read_recording
from tui_agent.plugin_host.bundled_files import bundled_folder
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.ports.model import ModelClient
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.settings import ModelInfo
from tui_agent.store.lineage import open_blobs
from tui_agent.store.session_store import SessionStore
from tui_agent.wiring.plugins import plugin_host
from tui_agent.wiring.startup_context import StartupContext


def build_model_factory(base: StartupContext, loaded: LoadedPlugins | None = None) -> ModelFactory:
    """Return the factory that creates the models of profiles, vendors, demos, recordings and plugins.

    If `loaded` is None, the plugins are loaded first.
    """
    loaded = loaded or plugin_host(base).load()
    demos = bundled_folder("demos")
    models = ModelFactory(
        base.config.models,
        base.keys,
        base.clock,
        read_profiles=lambda: base.load_config().models,
        replay_source=partial(_load_recording, base.store),
        demo_scripts=demos if demos is not None else Path("demos"),
        pace_demos=base.options.is_attended,
    )
    for offered in loaded.models:
        models.add(offered.name, offered.make)
    return models


def _load_recording(store: SessionStore, name: str) -> RecordedAnswers:
    """Return the recorded answers in the session `name`, or in an answer file if `name` is the path of one."""
    if name.endswith(ANSWERS_ENDING):
        return read_answers(Path(name))
    session_id = name
    return read_recording(store.read(session_id), open_blobs(store.folder(session_id)))


class ClientCache:
    """The model clients of a session, one per model and version of its profile."""

    def __init__(self, models: ModelFactory) -> None:
        self._models = models
        self._clients: dict[ModelInfo, tuple[ModelClient, ModelProfile | None]] = {}
        self._outdated: list[ModelClient] = []
        """Clients for an older version of a profile. A request may still use them, so they are closed at the end."""

    def get(self, info: ModelInfo) -> ModelClient:
        """Return the client for a model; raise `ConfigError` if no model is set or the model cannot be used."""
        if info.provider == NO_MODEL:
            if info.fault:
                raise ConfigError(info.fault, hint="Or choose another model with /model.")
            hint = (
                "Choose one with --model NAME or, in the full-screen app, with /model. "
                "`tui-agent demo` needs no account."
            )
            raise ConfigError("No model is set.", hint=hint)
        profile = self._models.profile(info.profile)
        client, known = self._clients.get(info, (None, None))
        if client is not None and known is profile:
            return client
        new = self._models.client(info)
        self._outdated += [] if client is None else [client]
        self._clients[info] = new, profile
        return new

    async def aclose(self, report: Callable[[Payload], object]) -> None:
        """Close all clients, and `report` their errors."""
        clients = [*self._outdated, *(client for client, _ in self._clients.values())]
        self._outdated.clear()
        self._clients.clear()
        for client in clients:
            try:
                with guard_plugin("Closing a model client", PluginError):
                    await client.aclose()
            except TuiAgentError as error:
                report(ErrorRaised(where="model", message=error.message, hint=error.hint))
