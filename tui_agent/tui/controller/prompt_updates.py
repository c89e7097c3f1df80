"""Updates the prompt's completions, queue, placeholder and bottom row.

Invariant: the menu of slash commands is rebuilt only if the engine's commands changed.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tui_agent.folds.context.meter import ContextMeterView
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.session_figures import estimate_next_turn
from tui_agent.protocol.events.plugin import RESOURCES, PluginLoaded
from tui_agent.protocol.events.slash_command import OfferedCommand
from tui_agent.protocol.settings import SessionSettings
from tui_agent.protocol.stored_text import text_preview
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.keys_and_commands import TYPED, Action
from tui_agent.tui.panes.policy import policy_words
from tui_agent.tui.prompt.completion import AT_SIGN
from tui_agent.tui.prompt.prompt import PLACEHOLDER
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.units import format_cost, format_estimate


class PromptUpdater:
    """Updates the menu, the queue, the policy row and the placeholder of the prompt."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._app, self._prompt = host.app, host.app.prompt
        self._arguments, self._policy_row = self._prompt.arguments, self._prompt.policy_row
        self._commands: Mapping[str, Sequence[OfferedCommand]] = {}
        self._completed: set[str] = set()

    def show(self) -> None:
        """Update the prompt, once the session has started."""
        state = self._host.state
        if state.settings is None:
            return
        if state.commands is not self._commands:
            self._offer_commands(state.commands)
        self._offer_arguments(state.settings)
        if state.workspace:
            self._prompt.set_root(Path(state.workspace))
        command = "your command" if state.shell else clean_line(state.running_command)
        waits_for = "the summary" if state.is_compacting else command
        self._show_queue(waits_for)
        self._show_policy_row(state.settings, waits_for)
        self._show_placeholder(state.settings)

    def _offer_commands(self, commands: Mapping[str, Sequence[OfferedCommand]]) -> None:
        """Offer the engine's slash commands and their options in the prompt's menu."""
        self._commands = commands
        self._prompt.offered = offered = offered_actions(commands)
        items = (item for owned in commands.values() for item in owned)
        self._completed = {f"/{item.name}" for item in items if item.completes}
        options = {action.slash: [(option, "") for option in action.options] for action in offered}
        self._prompt.choices = {**self._prompt.choices, **options}

    def _offer_arguments(self, settings: SessionSettings) -> None:
        """Offer completions that depend on the session, e.g. resources, reasoning efforts and plugin panes."""
        if self._host.session is not None:
            self._arguments.ask_session = self._host.session.complete
        mentions = {AT_SIGN} if self._has_resources() else set[str]()
        self._arguments.commands = self._completed | mentions
        offered = {"/pane": self._host.plugin_panes.panes, "/model reasoning": settings.model.efforts}
        choices = {command: [(name, "") for name in names] for command, names in offered.items()}
        self._prompt.choices = {**self._prompt.choices, **choices}

    def _has_resources(self) -> bool:
        loaded = (event for event in self._host.views.plugins.values() if isinstance(event, PluginLoaded))
        return any(offer.startswith(RESOURCES) for event in loaded for offer in event.contributions)

    def _show_queue(self, waits_for: str) -> None:
        """Show the queued messages, and the work they wait for."""
        state = self._host.state
        after = waits_for or ("this turn" if state.is_busy else "")
        queued = [text_preview(message.text) for message in state.queue]
        can_send = state.shell is None and not state.running_command
        self._prompt.set_queue(queued, after=after, can_send=can_send)

    def _show_policy_row(self, settings: SessionSettings, waits_for: str) -> None:
        """Show the policy, the estimated cost of the next turn, and a note if images are not sent."""
        state = self._host.state
        note = partial(describe_next_turn, self._host.views.meter.view(), state)
        unconfined = not state.sandbox and bool(state.no_sandbox_reason)
        words = policy_words(settings.policy, unconfined=unconfined, program=settings.program)
        self._policy_row.set_accepts_images(settings.model.images or not settings.model.model)
        self._prompt.set_state(settings.policy, note, running=state.is_busy, waits_for=waits_for, words=words)

    def _show_placeholder(self, settings: SessionSettings) -> None:
        """Show a hint in the empty prompt."""
        hint = PLACEHOLDER
        if not settings.model.model:
            hint = "Pick a model above, or type /model"
        elif self._host.state.last_turn_end == "model_error" and not self._host.state.is_busy:
            hint = f"Press {self._app.key_of('send')} to try again, or type a message"
        if self._app.editor.placeholder != hint:
            self._app.editor.placeholder = hint


def describe_next_turn(meter: ContextMeterView, state: SessionStateView, draft_chars: int) -> str:
    """Return the estimated tokens and cost of the next turn's first request, as a text.

    Return an empty text before the session's first request.

    `draft_chars`: length of the message in the prompt and of the files that it mentions.
    """
    if not meter.used:
        return ""
    tokens, usd = estimate_next_turn(meter, state, draft_chars)
    cost = format_cost(usd)
    return f"next turn {format_estimate(tokens)} tokens{', ' if cost else ''}{cost}"


def offered_actions(commands: Mapping[str, Sequence[OfferedCommand]]) -> tuple[Action, ...]:
    """Return an action for each slash command of the engine. The app's own commands are left out.

    `commands`: maps an owner, e.g. a plugin, to its commands.
    """
    return tuple(
        Action(
            f"offered:{item.name}",
            item.help or f"a command of {owner}",
            "Commands",
            slash=f"/{item.name}",
            args=item.arguments,
        )
        for owner, items in sorted(commands.items())
        for item in items
        if f"/{item.name}" not in TYPED
    )
