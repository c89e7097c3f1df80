"""Remembers the user's choices for later starts: theme, model, side panes, and the policy of each project.

Invariant: only choices that the user makes in the app are remembered. Command-line options, settings of a recorded
session, the policy of an approved plan, and `bypass` are never remembered. The file is written in a thread, and a
failure to write is reported once.
"""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tui_agent.config.paths import find_paths
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.providers import PROVIDERS
from tui_agent.config.small_files import write_private
from tui_agent.config.user_choices import FILE_NAME, NEVER_REMEMBERED, load_choices
from tui_agent.errors import ConfigError
from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.commands import SetModel, SetPolicy
from tui_agent.protocol.settings import ModelInfo, PolicyName
from tui_agent.tui.context import AppContext


class ChoiceKeeper:
    """Writes the model, the policy and other settings that the user chose to the file of choices."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self.addresses: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._chosen_model = ""
        """The model that the user chose last."""
        self._remark = ""
        self._remembered: tuple[str, str] | None = None
        """Name and address of the chosen model as saved for later starts; None until they are saved."""
        self._chosen_policy = ""
        """The policy that the user chose last, until it is in use."""
        self._has_reported = False

    def choose_model(self, name: str, base_url: str = "", remark: str = "") -> None:
        """Switch the session to the model `name`. Once the model is in use, remember it and show a notice with
        `remark`.
        """
        self._chosen_model, self._remembered = name, None
        self._remark = f" ({remark})" if remark else ""
        self._context.submit(SetModel(model=name, base_url=base_url))
        self.update(self._context.state)

    def choose_policy(self, name: PolicyName) -> None:
        """Switch the session to the policy `name`. Once the policy is in use, remember it."""
        self._chosen_policy = name
        self._context.submit(SetPolicy(policy=name))

    def update(self, state: SessionStateView) -> None:
        """Remember a model and a policy that the user chose, once they are in use."""
        if state.settings is None:
            return
        context = self._context
        if self._chosen_policy == state.settings.policy and context.views.seq > context.seen_seq:
            self._chosen_policy = ""
            # From now on, a new session starts with the chosen policy, not with that of the command line.
            context.app.options = replace(context.app.options, policy=None)
            self.remember(policy=state.settings.policy)
        model = state.settings.model
        in_use = model.profile, model.base_url
        is_chosen = (
            self._chosen_model and self._chosen_model == model.profile
        )  # An external program's model has no name.
        if is_chosen and model.model and in_use != self._remembered:
            self._remembered = in_use
            self._remember_model(model)

    def given_address(self, model: ModelInfo) -> str:
        """Return the URL that the user gave for a model; empty if the model's provider or profile has this URL."""
        vendor = PROVIDERS.get(model.profile.partition("/")[0])
        is_own = vendor is not None and vendor.base_url == model.base_url
        return "" if is_own or model.profile in self._context.profiles else model.base_url

    def _remember_model(self, model: ModelInfo) -> None:
        name, config = model.profile, self._context.config
        self.remember(model=name, base_url=self.given_address(model))
        note = config.note_on_choice("model", name) if config is not None else ""
        self._context.app.say(f"Using {name}{self._remark}.{note}", "done")

    def remember(self, *, policy: str = "", **values: str | bool) -> None:
        """Write `values` to the file of choices in the background. `policy` is saved only for the session's project."""
        config = self._context.config
        if config is None or self._context.app.options.client != "app":
            return
        if policy != NEVER_REMEMBERED and (policy or values):
            self._context.worker(self._write(config.data_dir, policy, values), "choices")

    async def _write(self, data_dir: Path, policy: str, values: dict[str, str | bool]) -> None:
        folder, environ = Path(self._context.work_folder), self._context.app.environ
        name, base_url = str(values.get("model", "")), str(values.get("base_url", ""))

        def write() -> None:
            with self._lock:
                choices, _ = load_choices(data_dir)
                changed = choices._replace(**values)  # type: ignore[arg-type]
                if policy:
                    project = find_paths(folder, environ).project.resolve()
                    changed = changed._replace(policies=choices.with_policy(project, policy))
                if name and base_url:
                    changed = changed._replace(addresses=choices.with_address(name, base_url))
                    self.addresses = changed.addresses
                if changed != choices:
                    write_private(data_dir / FILE_NAME, changed.to_json())

        try:
            await asyncio.to_thread(write)
        except ConfigError as fault:
            if not self._has_reported:
                self._has_reported = True
                self._context.app.say(
                    f"Your choice applies until you quit, but could not be saved: {fault}", "warning"
                )
            return
        try:  # for /settings, which shows each value and where it comes from
            self._context.config = await asyncio.to_thread(load_config, self._context.app.options, environ)
        except ConfigError as fault:
            self._context.app.say(str(fault), "warning")
