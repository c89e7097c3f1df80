"""The keys of a question. Each key gives an answer or belongs to typed text.

Invariant: no key gives an answer during the grace period, but the stop key still stops the turn.
"""

import math
import time
from abc import abstractmethod
from collections.abc import Callable
from itertools import takewhile
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.screen import ModalScreen
from textual.timer import Timer

from tui_agent.tui.keys_and_commands import LEAVE_ACTIONS, KeyHint
from tui_agent.tui.widgets.covered_prompt import (
    RECENT_S,
    WRITING_PAUSE_S,
    CoveredPrompt,
    edits_message,
    erases_text,
    sends_message,
)
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.keymap import KeyScreen, claims_key

ResultT = TypeVar("ResultT")
GRACE_PERIOD_S = 0.3
"""Grace period in seconds. During this time, a question that appears by itself does not accept answers."""
ANSWER_DELAY_S = 0.5
"""Seconds until a letter gives its answer, if no other key follows."""


class QuestionKeys(KeyScreen, ModalScreen[ResultT], Generic[ResultT]):
    """A screen with a question that the user can answer with a key."""

    has_grace_period: ClassVar[bool] = False
    """True if the sheet ignores keys for the first `grace_period_s` seconds."""
    grace_period_s: ClassVar[float] = GRACE_PERIOD_S
    give_action: ClassVar[str] = ""
    """The action whose key gives the selected answer."""
    old_message_gets_keys: ClassVar[bool] = True
    """True if the first keys go to an unsent message even if the user is not writing it at the moment."""
    answer_actions: ClassVar[frozenset[str]] = frozenset()
    """Actions with letters or digits for selecting, giving or editing an answer."""

    def __init__(self) -> None:
        super().__init__()
        self._opened_at = math.inf  # Until the sheet is visible, every key falls into the grace period.
        self._grace_s = self.grace_period_s
        self.covered_prompt: CoveredPrompt | None = None
        """The prompt, if it gets the text that is typed into the sheet. None for most sheets that the user opened."""
        self.is_writing = False
        """True while keys go to the message in the prompt."""
        self._shown_message = ""
        self.answer_delay_s = ANSWER_DELAY_S
        self.is_picked = False
        """True if the user selected the current row, with an arrow key or with its letter."""
        self._letters: list[events.Key] = []
        """The recently typed letters, which are answers or text. If they are text, they are passed to the message."""
        self._answer_timer: Timer | None = None

    @abstractmethod
    def redraw(self, *, keep: bool = True) -> None:
        """Draw all rows again; with `keep`, stay at the scroll position."""

    def on_mount(self) -> None:
        def start_grace_period() -> None:
            if self._opened_at == math.inf:
                self._opened_at = time.monotonic()

        self.call_after_refresh(start_grace_period)
        self._shown_message = self.message
        prompt = self.covered_prompt
        if self.message and prompt is not None and (prompt.is_typing or self.old_message_gets_keys):
            self.begin_writing()

    @property
    def open_field(self) -> Field | None:
        """The field for typed keys; None if the sheet has no open field."""
        return None

    def expect_text(self) -> None:
        """Begin the grace period again, so that text typed or pasted during it goes to the prompt."""
        if self.has_grace_period and self.open_field is None:
            self._extend_grace_period()
            if self.covered_prompt is not None:
                self.covered_prompt.is_typing = True

    def _extend_grace_period(self) -> None:
        """Begin the grace period again, for at least `WRITING_PAUSE_S` seconds."""
        self._opened_at, self._grace_s = time.monotonic(), max(self._grace_s, WRITING_PAUSE_S)

    @property
    def in_grace_period(self) -> bool:
        """True while the sheet ignores keys."""
        return self.has_grace_period and time.monotonic() - self._opened_at < self._grace_s

    def on_key(self, event: events.Key) -> None:
        # Textual also calls the handlers of base classes, unless `claims_key` has prevented that.
        prompt = self.covered_prompt
        if prompt is not None and (
            edits_message(event, self.key_map) if self.is_writing else self._erases_message(event)
        ):
            if claims_key(self, event):
                prompt.type_key(event, sends=sends_message(event, self.key_map))
                self.begin_writing()
            return
        # Use the key's own time: a key pressed before the question appeared can be handled much later.
        if self.has_grace_period and event.time - self._opened_at < self._grace_s:
            if not claims_key(self, event):
                return
            if prompt is not None and self.key_map.means(event.key, "stop"):
                prompt.stop()
                return
            if self._opened_at < event.time:
                self._opened_at = event.time  # The user is still typing, so the grace period starts again.
            if prompt is not None and prompt.hold_key(event):
                self.begin_writing()
            return
        if prompt is not None:
            prompt.is_typing = False
        if self._answer_timer is not None:
            self._answer_timer.stop()
        leaves = any(
            action.name in LEAVE_ACTIONS for action, _ in self.key_map.find(event.key, self.key_scopes())
        )
        if self.is_writing and leaves and claims_key(self, event):
            self.end_writing()
        elif not (event.is_printable and self.answer_actions) or self.is_field_selected:
            self._letters.clear()
        else:
            self._take_letter(event)

    @property
    def is_field_selected(self) -> bool:
        """True if letters go to the open field."""
        return self.open_field is not None

    def _erases_message(self, event: events.Key) -> bool:
        """Return True if the key erases text of the unsent message, although keys are answers now."""
        is_free = self.open_field is None and not self._actions_of(event)
        return bool(self.message) and is_free and erases_text(event, self.key_map)

    def _take_letter(self, event: events.Key) -> None:
        """Handle a typed letter: an answer, or part of a text for the message."""
        if self._letters and event.time - self._letters[-1].time > RECENT_S:
            self._letters.clear()
        self._letters.append(event)
        if self._is_text() and claims_key(self, event):
            letters, self._letters = self._letters, []
            for letter in letters:
                self.take_text(letter)

    def _is_text(self) -> bool:
        """Return True if the newest letter is part of a text.

        A letter without an action is text. Letters typed faster than `answer_delay_s` are text too: two different
        letters if the first one is an answer, or three equal answers.
        """
        *earlier, newest = self._letters
        if not self._actions_of(newest):
            return True
        if not earlier or newest.time - earlier[-1].time > self.answer_delay_s:
            return False
        if not self._is_answer(earlier[-1]):
            return False  # it had an effect of its own: it scrolled, or showed the policies
        presses = 1 + len(list(takewhile(lambda letter: letter.key == newest.key, reversed(earlier))))
        return presses != 2  # the second press of a letter confirms its answer

    def _actions_of(self, letter: events.Key) -> set[str]:
        return {
            action.name
            for action, _ in self.key_map.find(letter.key, self.key_scopes())
            if self.can_run(action)
        }

    def _is_answer(self, letter: events.Key) -> bool:
        return bool(self._actions_of(letter) & self.answer_actions)

    def take_text(self, letter: events.Key) -> None:
        """Type a letter into the message in the prompt."""
        if self.covered_prompt is not None:
            self.covered_prompt.type_key(letter)
            self.begin_writing()

    def give_unless_typing(self, give: Callable[[], object]) -> None:
        """Call `give` after `answer_delay_s`. If another key is pressed before, do not call `give`."""
        if not self.answer_delay_s:
            give()
            return

        def give_answer() -> None:  # returns nothing, because Textual would await what `dismiss` returns
            if self.is_current:
                give()

        self._answer_timer = self.set_timer(self.answer_delay_s, give_answer)

    @property
    def is_alone(self) -> bool:
        """True if the recently typed letters belong to at most one answer. Letters of two answers are probably text."""
        return len({letter.key for letter in self._letters if self._is_answer(letter)}) < 2

    def begin_writing(self) -> None:
        """Pass all keys to the message in the prompt from now on, and deselect the row."""
        if not self.is_writing:
            self.is_writing, self.is_picked = True, False
            self.deselect()
            self.redraw()

    def end_writing(self) -> None:
        """Use keys as answers again; no row is selected."""
        self.is_writing = False
        self.redraw()

    def deselect(self) -> None:
        """Select no row."""

    def follow_message(self) -> None:
        """Handle a change of the message in the prompt.

        After the user has sent or erased the message, keys are answers again.
        """
        prompt = self.covered_prompt
        if prompt is None:
            return
        # A message that is typed and sent very fast may be gone before this method ever saw it.
        is_sent = self.is_writing and prompt.was_sent and not self.message
        if self.message == self._shown_message and not is_sent:
            return
        self._shown_message = self.message
        if self.message:
            self.begin_writing()
        elif self.is_writing:
            if prompt.was_sent:
                self._extend_grace_period()
            self.end_writing()
        self.redraw()

    def send_message(self) -> None:
        """Send the message in the prompt, because no row is selected."""
        if self.covered_prompt is not None and self.message:
            self.covered_prompt.send()

    @property
    def message(self) -> str:
        """The unsent message in the prompt; empty if the prompt has no unsent message."""
        return self.covered_prompt.text if self.covered_prompt is not None else ""

    def current_hints(self) -> list[KeyHint]:
        """Return the keys to show in the footer.

        - while the user writes a message: the keys to send the message and to return to the answers
        - while a row is selected: the sheet's keys
        - if no row is selected: the sheet's keys, but in place of the key to give an answer, a key to send the message
          or, if there is no message, to select an answer
        """
        hints, prompt, hint = list(self.key_hints()), self.covered_prompt, self.key_map.hint
        if prompt is None or self.has_selection:
            return hints
        actions = [action for action in self.key_map.actions if action.scope == self.scope]
        moves = next(action.name for action in actions if action.method == "move")
        if not self.is_writing:
            give = hint(self.give_action, "send message") if self.message else hint(moves, "answers")
            others = [shown for shown in hints if shown.action != moves]
            return [give if shown.action == self.give_action else shown for shown in others]
        return [
            *([hint(prompt.send_action, "send message")] if self.message else []),
            hint(moves, "answers"),
            *(hint(action.name, "back") for action in actions if action.name in LEAVE_ACTIONS),
        ]

    @property
    def has_selection(self) -> bool:
        """True if Enter gives an answer."""
        return True
