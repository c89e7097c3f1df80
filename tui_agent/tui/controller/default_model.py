"""The model to start with from now on: offered once another one is chosen, written only when the user says yes.

Invariant: the user's file is touched by `write` alone, and `write` is called for an explicit yes alone.
"""

import asyncio

from tui_agent.config import layers
from tui_agent.config.user_file import keep_model, model_lines
from tui_agent.config.vendors import VENDORS
from tui_agent.errors import ConfigError
from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui.context import AppContext


class DefaultModel:
    """Watches what becomes of a choice, and keeps it when it was asked to."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._before: ModelInfo | None = None
        self._waiting = False
        self._keep = False

    def chosen(self, *, keep: bool = False) -> None:
        """The user has chosen a model; `keep`: and to start with it from now on, if it can be used."""
        settings = self._context.state.settings
        self._before = settings.model if settings is not None else None
        self._waiting, self._keep = True, keep

    def look(self, state: SessionStateView) -> None:
        """The session has changed: a chosen model that is in use now is kept, or how to keep it is said."""
        model = state.settings.model if state.settings is not None else None
        if (
            not self._waiting
            or model is None
            or not model.model
            or (model == self._before and not self._keep)
        ):
            return
        self._waiting = False
        if self._keep:
            self._context.worker(self.write(), "keep")
        elif not self.is_default(model):
            self._context.app.say(f"{model.profile} answers now. /keep-model makes it the default.", "done")

    def is_default(self, model: ModelInfo) -> bool:
        """Whether the configuration names it already."""
        config = self._context.config
        return config is not None and (config.model, config.base_url) == self.words(model)

    def words(self, model: ModelInfo) -> tuple[str, str]:
        """What the configuration would say: the name, and the address where the name does not imply it."""
        name = model.profile or model.model
        vendor = VENDORS.get(name.partition("/")[0])
        own = name in self._context.profiles or (vendor is not None and vendor.base_url == model.base_url)
        return name, "" if own else model.base_url

    def lines(self) -> list[str]:
        """The lines that would be written for the present model; empty where there is none."""
        settings = self._context.state.settings
        return model_lines(*self.words(settings.model)) if settings and settings.model.model else []

    async def write(self) -> None:
        """Write the present model into the user's file."""
        context, settings = self._context, self._context.state.settings
        if context.config is None or settings is None or not settings.model.model:
            return
        path = context.config.paths.user_config
        name, address = self.words(settings.model)
        try:
            await asyncio.to_thread(lambda: keep_model(path, name, address))
            context.config = layers.load(context.app.options, context.app.environ)
        except ConfigError as fault:
            context.app.say(str(fault), "error")
            return
        context.app.say(f"From now on tui-agent starts with {name}: {path} says so.", "done")
