"""Remembers the user's choices for later starts: theme, model, side panes, and the policy of each project.

Invariant: only choices made in the app are remembered, but never the policies `plan` and `bypass`. The policy
that the user chooses when approving a plan holds only for that session.
"""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tui_agent.config.paths import find_paths
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.providers import PROVIDERS
from tui_agent.config.small_files import write_private
from tui_agent.config.user_choices import FILE_NAME, NEVER_REMEMBERED, load_choices
from tui_agent.errors import ConfigError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.commands import (
    Command,
    ContinueTurn,
    Delegate,
    Queue,
    RunCommand,
    SendQueued,
    SetModel,
    SetPolicy,
    Steer,
    SubmitPrompt,
    WriteGuide,
)
from tui_agent.protocol.settings import POLICIES, ModelInfo, UserPolicy
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.untrusted_text import clean_line

WORK: Final = SubmitPrompt, Steer, Queue, SendQueued, ContinueTurn, Delegate, RunCommand, WriteGuide
"""Commands that give the agent work, such as a message."""


class ChoiceKeeper:
    """Saves the user's choices, such as the model and the policy."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self.addresses: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._chosen_model = ""
        """The model that the user chose last."""
        self._remark = ""
        self._remembered: tuple[str, str] | None = None
        """Name and address of the model that was saved last. None while the newest choice is not saved yet."""
        self._chosen_policy = ""
        """The user's chosen policy until the session uses it; otherwise empty."""
        self.tried_policy = ""
        """The policy that the user selected with a key. The agent has not worked under this policy yet. Empty for none."""
        self._has_reported = False
        """True after a warning that the choices cannot be saved."""
        self._has_warned_unconfined = False
        """True after a warning that `accept-edits` asks about commands, because there is no sandbox."""

    def choose_model(self, name: str, base_url: str = "", remark: str = "") -> None:
        """Switch the session to the model `name`. Once the session uses the model, save the name for later starts and
        show a notice.

        `remark`: text for the notice.
        """
        self._chosen_model, self._remembered = name, None
        self._remark = f" ({remark})" if remark else ""
        self._context.submit(SetModel(model=name, base_url=base_url))
        self.update(self._context.state)

    def choose_policy(self, name: str) -> None:
        """Switch the session to the policy `name`. Once the session uses the policy, save the name for later starts."""
        if name in POLICIES:
            self._chosen_policy, self.tried_policy = name, ""
            self._switch_policy(name)
            self.update(self._context.state)

    def try_policy(self, name: UserPolicy) -> None:
        """Switch to the policy `name`.

        Save `ask` for later starts at once, and the looser `accept-edits` once the user sends the agent a message under it.
        """
        if name == "ask":
            self.choose_policy(name)
            return
        is_remembered = name not in NEVER_REMEMBERED and self._context.is_connected
        self._chosen_policy, self.tried_policy = "", name if is_remembered else ""
        self._switch_policy(name)

    def note_work(self, command: Command) -> None:
        """Save the policy set by `try_policy` if `command` gives the agent work, e.g. a message."""
        if self.tried_policy and isinstance(command, WORK):
            self._chosen_policy, self.tried_policy = self.tried_policy, ""
            self.update(self._context.state)

    def begin_session(self) -> None:
        """Forget the policies that are not saved yet, because another session was opened.

        A policy set by `try_policy` is kept if the new session uses it too.
        """
        settings = self._context.state.settings
        self._chosen_policy = ""
        if settings is None or settings.policy != self.tried_policy:
            self.tried_policy = ""

    def _switch_policy(self, name: UserPolicy) -> None:
        self._context.submit(SetPolicy(policy=name))
        state = self._context.state
        reason = state.no_sandbox_reason
        if name == "accept-edits" and reason and not state.sandbox and not self._has_warned_unconfined:
            self._has_warned_unconfined = True
            text = "No sandbox, so accept-edits still asks about commands."
            self._context.app.say(f"{text} {clean_line(reason)}", "warning")

    def update(self, state: SessionStateView) -> None:
        """Save the model and the policy that the user chose, once the session uses them."""
        if state.settings is None:
            return
        context = self._context
        # Only after an event of this run: the log that was opened may already name the same policy.
        if self._chosen_policy == state.settings.policy and context.views.seq > context.seen_seq:
            self._chosen_policy = ""
            if state.settings.policy not in NEVER_REMEMBERED:
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
        """Return the model's URL if the user entered it; otherwise an empty string."""
        vendor = PROVIDERS.get(model.profile.partition("/")[0])
        is_own = vendor is not None and vendor.base_url == model.base_url
        return "" if is_own or model.profile in self._context.profiles else model.base_url

    def _remember_model(self, model: ModelInfo) -> None:
        name, config = model.profile, self._context.config
        self.remember(model=name, base_url=self.given_address(model))
        note = config.note_on_choice("model", name) if config is not None else ""
        self._context.app.say(f"Using {name}{self._remark}.{note}", "done")

    def remember(self, *, policy: str = "", **values: str | bool) -> None:
        """Save `values` and the project's `policy` in the background."""
        config = self._context.config
        if config is None or self._context.app.options.client != "app":
            return
        if policy or values:
            self._context.worker(self._write(config.data_dir, policy, values), "choices")

    async def _write(self, data_dir: Path, policy: str, values: dict[str, str | bool]) -> None:
        folder, environ = Path(self._context.work_folder), self._context.app.environ
        name, base_url = str(values.get("model", "")), str(values.get("base_url", ""))

        def write() -> bool:
            # Two choices can be saved in two threads at once; each must keep the other one.
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
                return dict(changed.policies) != dict(choices.policies)

        try:
            has_new_policy = await asyncio.to_thread(write)
        except ConfigError as fault:
            if not self._has_reported:
                self._has_reported = True
                self._context.app.say(
                    f"Your choice applies until you quit, but could not be saved: {fault}", "warning"
                )
            return
        notice, config = self._context.app.notice, self._context.config
        if has_new_policy and not (notice.display and notice.level in ("warning", "error")):
            note = config.note_on_choice("policy", policy) if config is not None else ""
            text = (
                f"Using {policy}.{note}" if note else f"New sessions in this project start with {policy} too."
            )
            self._context.app.say(text, "info")
        try:  # for /settings, which shows each value and where it comes from
            self._context.config = await asyncio.to_thread(load_config, self._context.app.options, environ)
        except ConfigError as fault:
            self._context.app.say(str(fault), "warning")
