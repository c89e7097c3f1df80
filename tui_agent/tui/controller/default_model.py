"""The default model of new sessions: offered after a model change, saved only when the user asks for it.

Invariant: only `write` changes the user's file, and it is called only after an explicit request.
"""

import asyncio

from tui_agent.config import layers
from tui_agent.config.providers import PROVIDERS
from tui_agent.config.user_file import format_model_lines, save_model
from tui_agent.errors import ConfigError
from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui.context import AppContext


class DefaultModel:
    """Tracks a model choice until the model is in use, then saves it as the default if the user asked for that."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._before: ModelInfo | None = None
        self._waiting = False
        self._keep = False

    def note_choice(self, *, keep: bool = False) -> None:
        """Note that the user chose a model. If `keep` is set, save the model as the default once it is in use."""
        settings = self._context.state.settings
        self._before = settings.model if settings is not None else None
        self._waiting, self._keep = True, keep

    def update(self, state: SessionStateView) -> None:
        """React to a new session state: once the chosen model is in use, save it or say how to save it."""
        model = state.settings.model if state.settings is not None else None
        if not self._waiting or model is None or not model.model:
            return
        if model == self._before and not self._keep:
            return
        self._waiting = False
        if self._keep:
            self._context.worker(self.write(), "keep")
        elif not self.is_default(model):
            self._context.app.say(f"Using {model.profile}. /keep-model makes it the default.", "done")

    def is_default(self, model: ModelInfo) -> bool:
        """Return True if this model is already the default."""
        config = self._context.config
        return config is not None and (config.model, config.base_url) == self._config_values(model)

    def _config_values(self, model: ModelInfo) -> tuple[str, str]:
        name = model.profile or model.model
        vendor = PROVIDERS.get(name.partition("/")[0])
        is_vendor_address = vendor is not None and vendor.base_url == model.base_url
        return name, "" if name in self._context.profiles or is_vendor_address else model.base_url

    def config_lines(self) -> list[str]:
        """Return the lines of the configuration file that set the current model; an empty list without a model."""
        settings = self._context.state.settings
        if settings is None or not settings.model.model:
            return []
        return format_model_lines(*self._config_values(settings.model))

    async def write(self) -> None:
        """Save the current model as the default in the user's configuration file."""
        context, settings = self._context, self._context.state.settings
        if context.config is None or settings is None or not settings.model.model:
            return
        path = context.config.paths.user_config
        name, address = self._config_values(settings.model)
        try:
            await asyncio.to_thread(lambda: save_model(path, name, address))
            context.config = layers.load_config(context.app.options, context.app.environ)
        except ConfigError as fault:
            context.app.say(str(fault), "error")
            return
        context.app.say(f"Default model: {name}. Saved in {path}.", "done")
