"""Drops keys that are probably answers to an approval that is not open yet.

Invariant: the letters of a message are not dropped, unless the user pauses after the first one.
"""

import time
from collections.abc import Collection

from textual import events

from tui_agent.protocol.ids import CallId
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.modals.approval_state import WORDS
from tui_agent.tui.widgets.covered_prompt import RECENT_S
from tui_agent.tui.widgets.question_keys import ANSWER_DELAY_S

_ANSWERS = frozenset(words.action for words in WORDS.values())


class EarlyAnswers:
    """Finds keys that are pressed between the approvals for several calls of one answer of the model."""

    def __init__(self, host: SessionHost) -> None:
        self._app, self._host = host.app, host
        self._later_calls: Collection[CallId] = ()
        """The calls of the same answer that had not started when the user answered the last approval."""
        self._answered_at = 0.0
        self._letters: list[events.Key] = []
        """The recently dropped letters. If a text follows, they are typed into the prompt."""

    def expect(self, answered: CallId) -> None:
        """Expect approvals for the other calls of the answer, because the user answered the one for this call."""
        calls = self._host.state.open_calls
        self._later_calls = frozenset(
            call.call_id for call in calls if call.call_id != answered and not call.started
        )
        self._answered_at = time.monotonic()
        self._letters.clear()

    @property
    def _is_approval_due(self) -> bool:
        calls = self._host.state.open_calls
        return any(call.call_id in self._later_calls and not call.started for call in calls)

    def take_key(self, event: events.Key) -> bool:
        """Return True if the key must not reach the prompt, because it is probably an early answer."""
        editor = self._host.editor
        is_writing = bool(editor.text) and self._app.typed_at > self._answered_at
        if is_writing or not editor.has_focus or not self._is_approval_due:
            return False
        if not event.is_printable:
            self._letters.clear()
            return "approval_give" in self._actions_of(event)
        if self._letters and event.time - self._letters[-1].time > RECENT_S:
            self._letters.clear()
        if not self._is_text(event):
            self._letters = [event]
            return True
        self._later_calls = ()  # From now on, the user is writing a message.
        for letter in self._letters:
            editor.post_message(events.Key(letter.key, letter.character))
        return False

    def _is_text(self, letter: events.Key) -> bool:
        """Return True if a letter belongs to a text: it gives no answer, or follows another answer's letter quickly."""
        if not self._actions_of(letter) & _ANSWERS:
            return True
        return any(
            letter.key != earlier.key and letter.time - earlier.time <= ANSWER_DELAY_S
            for earlier in self._letters
        )

    def _actions_of(self, event: events.Key) -> set[str]:
        return {action.name for action, _ in self._app.key_map.find(event.key, ("approval",))}
