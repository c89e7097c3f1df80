"""A sheet that shows a pressed key and its terminal code. The user can bind the key to an action.

Invariant: every key except Esc is shown, even a key of the app.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual import events
from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Action, KeyHint, key_name
from tui_agent.tui.terminal.keyboard import sent_bytes
from tui_agent.tui.widgets.keymap import normalize_key
from tui_agent.tui.widgets.sheet import Sheet


class KeyCheck(NamedTuple):
    """Result of checking the keys for an action.

    - `fault`: why the keys cannot be used
    - `note`: a warning
    """

    fault: str = ""
    note: str = ""


class KeyCapture(Sheet[list[str]]):
    """Sheet that shows the pressed keys.

    If `action` is given, the result is the action's new keys.
    """

    scope = "keys"
    takes_every_key = True

    def __init__(self, action: Action | None, check: Callable[[list[str]], KeyCheck]) -> None:
        super().__init__()
        self._action, self._check = action, check
        self.title_text = "Test keys" if action is None else f"New key: {action.help}"
        self.pressed: list[str] = []
        """The keys that were pressed last, with Textual's names. An action with several choices needs one key for each
        choice."""
        self._sent = ""
        self.result = KeyCheck()

    def body(self, width: int) -> list[Strip]:
        facts = (
            [("action", self._action.name), ("key now", self._action.all_keys or "none")]
            if self._action
            else []
        )
        pressed = ", ".join(map(key_name, self.pressed))
        if self._key_deficit:
            wanted = f"Press {format_count(self._key_deficit, 'key')}{', one after the other' * (self._key_deficit > 1)}."
            pressed = f"{pressed}  {wanted}".strip()
        facts.append(("pressed", pressed))
        if self.pressed:
            facts += [("in config", ", ".join(self.pressed)), ("sent", self._sent or "not known")]
        rows = [self.line(width, [self.part(f"{name:<11}", "t3"), self.part(text)]) for name, text in facts]
        rows += self.text_rows(width, self.result.fault, "error") if self.result.fault else []
        rows += self.text_rows(width, self.result.note, "warning") if self.result.note else []
        return rows

    def key_hints(self) -> Sequence[KeyHint]:
        names = ["key_leave"] if not self.can_save else ["key_save", "key_leave"]
        return [self.key_map.hint(name) for name in names]

    @property
    def can_save(self) -> bool:
        """True if the pressed key can be given to the action."""
        return self._action is not None and not self._key_deficit and not self.result.fault

    @property
    def _key_deficit(self) -> int:
        """Number of keys that the user must still press for the action."""
        return (self._action.choices if self._action is not None else 1) - len(self.pressed)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if not self.is_active:
            return
        is_own = self.key_map.means(event.key, "key_leave") or (
            self.key_map.means(event.key, "key_save") and self.can_save
        )
        if is_own and self.run_key(event.key):
            return
        self.pressed = [*(self.pressed if self._key_deficit else ()), normalize_key(event.key)]
        self._sent = sent_bytes(self.app)
        self.result = KeyCheck() if self._action is None or self._key_deficit else self._check(self.pressed)
        self.redraw()

    def save(self) -> None:
        self.dismiss(self.pressed)
