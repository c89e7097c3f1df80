"""The unsent message in the prompt, for a question that covers the prompt.

Invariant: a key that belongs to the message never answers the question, and the message is never lost.
"""

from collections.abc import Callable
from typing import Final, Protocol

from textual import events

from tui_agent.tui.keys_and_commands import Scope, command_word, is_shell_line
from tui_agent.tui.widgets.keymap import KeyMap

RECENT_S: Final = 2.0
"""If the last key press is at most this many seconds ago, the user counts as writing."""
WRITING_PAUSE_S: Final = 0.8
"""Minimum grace period of a question, in seconds, after text was typed, pasted or sent."""
_EDITING_KEYS: Final = frozenset({"backspace", "delete", "left", "right"})
_ERASING_KEYS: Final = frozenset({"backspace", "delete"})
_ERASING_ACTIONS: Final = frozenset({"erase", "undo_typing", "put_back"})
_SENDING_ACTIONS: Final = frozenset({"send", "steer", "queue"})
_EDITING_ACTIONS: Final = _SENDING_ACTIONS | {
    "newline",
    "undo_typing",
    "put_back",
    "line_end",
    "line_start",
    "erase",
}
_PROMPT: Final[tuple[Scope, ...]] = ("prompt",)


class MessageEditor(Protocol):
    """The editor of the prompt."""

    running: bool

    @property
    def text(self) -> str: ...
    @property
    def untouched(self) -> bool: ...
    @property
    def has_chips(self) -> bool: ...
    @property
    def submit(self) -> Callable[[str], None]: ...
    def post_message(self, message: events.Event) -> bool: ...
    def put_text(self, text: str) -> None: ...


class CoveredPrompt:
    """The prompt that a question covers.

    - `is_typing`: True while the user seems to be writing a message.
    - `stop`: function called if the user presses the stop key during the question's grace period.
    """

    def __init__(self, editor: MessageEditor, stop: Callable[[], object], *, is_typing: bool) -> None:
        self._editor = editor
        self.stop = stop
        self.is_typing = is_typing
        self._held_keys: list[events.Key] = []
        self.was_sent = False
        """True if the newest key, or a call of `send`, sent the message."""

    @property
    def text(self) -> str:
        """The unsent message. Empty if the prompt contains the unedited message of an undone turn."""
        return "" if self._editor.untouched else self._editor.text.strip()

    @property
    def send_action(self) -> str:
        """Name of the action to send the message now: `steer` while a turn runs, otherwise `send`."""
        return "steer" if self._editor.running else "send"

    def send(self) -> None:
        """Send the message."""
        self.was_sent = True
        self._editor.submit("send")

    @property
    def plain_message(self) -> str:
        """The unsent message in one line. Empty for commands, and for messages with long pastes or pictures."""
        text = self.text
        is_plain = not is_shell_line(text) and not command_word(text) and not self._editor.has_chips
        return " ".join(text.split()) if is_plain else ""

    def clear(self) -> None:
        """Clear the prompt, because the message was sent in another way. The user can get the text back with undo."""
        self._editor.put_text("")

    def paste(self, text: str) -> None:
        """Paste a text into the message."""
        self._editor.post_message(events.Paste(text))

    def type_key(self, event: events.Key, *, sends: bool = False) -> None:
        """Pass the letters kept by `hold_key`, and then this key, to the message.

        `sends`: True if this key sends the message.
        """
        self.was_sent = sends
        for key in (*self._held_keys, event):
            self._editor.post_message(events.Key(key.key, key.character))
        self._held_keys.clear()

    def hold_key(self, event: events.Key) -> bool:
        """Keep a letter that the question did not use, if the user seems to be writing a message.

        If a letter was kept before, pass both letters to the message and return True.
        """
        # A single letter is never passed on, because it can be meant as an answer.
        if not (self.is_typing and event.is_printable):
            return False
        if self._held_keys:
            self.type_key(event)
            return True
        self._held_keys.append(event)
        return False


def edits_message(event: events.Key, key_map: KeyMap) -> bool:
    """Return True if the key writes, edits or sends the message while the user is writing it."""
    return event.is_printable or event.key in _EDITING_KEYS or _has_action(event, key_map, _EDITING_ACTIONS)


def erases_text(event: events.Key, key_map: KeyMap) -> bool:
    """Return True if the key erases text of the message, or restores erased text."""
    return event.key in _ERASING_KEYS or _has_action(event, key_map, _ERASING_ACTIONS)


def sends_message(event: events.Key, key_map: KeyMap) -> bool:
    """Return True if the key sends the message while the user is writing it."""
    return _has_action(event, key_map, _SENDING_ACTIONS)


def _has_action(event: events.Key, key_map: KeyMap, names: frozenset[str]) -> bool:
    return any(action.name in names for action, _ in key_map.find(event.key, _PROMPT))
