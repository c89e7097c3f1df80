"""The command /keys: changes the keys of actions, and shows what the terminal sends for a key.

Invariant: while a key is captured, every key except Esc is shown, even a key of the app.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from textual import events
from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.commands.config_file import save_setting
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.keys_and_commands import BY_NAME, Action, KeyHint, key_name
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.terminal.keyboard import sent_bytes
from tui_agent.tui.widgets.key_settings import apply_key_settings
from tui_agent.tui.widgets.keymap import normalize_key
from tui_agent.tui.widgets.sheet import Sheet

TEST, RESET, CHANGE = "\0test", "\0reset", "\0change"
"""Values of rows that are not actions. No name of an action contains a NUL character."""


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
        """The characters that the terminal sent for the newest key; empty if unknown."""
        self.result = KeyCheck()

    def body(self, width: int) -> list[Strip]:
        facts = (
            [("action", self._action.name), ("key now", self._action.all_keys or "none")]
            if self._action
            else []
        )
        pressed = ", ".join(map(key_name, self.pressed))
        if self._key_deficit:
            request = f"Press {format_count(self._key_deficit, 'key')}{', one after the other' * (self._key_deficit > 1)}."
            pressed = f"{pressed}  {request}".strip()
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
        # Any other key, even a key of the app, is the one to test or to save.
        is_own = self.key_map.means(event.key, "key_leave") or (
            self.key_map.means(event.key, "key_save") and self.can_save
        )
        if is_own and self.run_key(event.key):
            return
        # After the last key that is needed, the next key begins a new attempt.
        self.pressed = [*(self.pressed if self._key_deficit else ()), normalize_key(event.key)]
        self._sent = sent_bytes(self.app)
        self.result = KeyCheck() if self._action is None or self._key_deficit else self._check(self.pressed)
        self.redraw()

    def save(self) -> None:
        self.dismiss(self.pressed)


def edit_keys(context: AppContext, argument: str, current: str = "") -> None:
    """List the actions with their keys, or change the keys of the action named `argument`."""
    if argument:
        if argument in BY_NAME and not BY_NAME[argument].typed:
            _choose_change(context, argument)
        else:
            context.app.say(f"No action {argument[:40]!r}. /keys lists all actions.", "warning")
        return
    changed = _configured_keys(context)
    test = Item(TEST, "test keys", about="show what this terminal sends for a key", found_by="tester")
    actions = [action for action in context.app.actions if not action.typed]
    items = [test, *(_item(action, action.name in changed, current) for action in actions)]
    open_picker(context, "Keys", items, lambda name: _open_choice(context, name))


def _item(action: Action, is_changed: bool, current: str) -> Item:
    return Item(
        action.name,
        action.name,
        about=action.help,
        right=f"{action.all_keys}{' changed' if is_changed else ''}".strip(),
        group=action.group,
        current=action.name == current,
    )


def _open_choice(context: AppContext, name: str) -> None:
    if name == TEST:
        sheet = KeyCapture(None, lambda keys: KeyCheck())
        context.app.push_screen(sheet, lambda _: edit_keys(context, ""))
    else:
        _choose_change(context, name)


def _choose_change(context: AppContext, name: str) -> None:
    """Ask for an action's new keys; offer a reset if the user has changed them."""
    if name not in _configured_keys(context):
        _capture(context, name)
        return
    default = BY_NAME[name].all_keys
    items = [
        Item(CHANGE, "new key", about="press the new key"),
        Item(RESET, "reset", about=f"use the default: {default}" if default else "use no key (the default)"),
    ]

    def choose(value: str) -> None:
        if value == CHANGE:
            _capture(context, name)
        else:
            save_setting(context, ("keys", name), None)

    open_picker(context, name, items, choose, back=lambda: edit_keys(context, "", name))


def _capture(context: AppContext, name: str) -> None:
    action = next(action for action in context.app.actions if action.name == name)
    sheet = KeyCapture(action, lambda keys: check_keys(_configured_keys(context), name, keys))

    def save_or_go_back(keys: list[str] | None) -> None:
        if keys is None:
            edit_keys(context, "", name)
        else:
            save_setting(context, ("keys", name), keys[0] if len(keys) == 1 else keys)

    context.app.push_screen(sheet, save_or_go_back)


def check_keys(changed: Mapping[str, str | Sequence[str]], name: str, keys: Sequence[str]) -> KeyCheck:
    """Check new keys for the action `name`, and describe their problems.

    If the result has a `fault`, the keys cannot be used; a `note` is only a warning. `changed`: the user's key settings
    so far.
    """
    before = apply_key_settings(changed).messages
    after = apply_key_settings({**changed, name: keys})
    text = " ".join(message for message in after.messages if message not in before)
    action = next(action for action in after.actions if action.name == name)
    is_used = action.keys[: len(keys)] == tuple(keys)
    return KeyCheck(note=text) if is_used else KeyCheck(fault=text)


def _configured_keys(context: AppContext) -> Mapping[str, str | Sequence[str]]:
    return context.config.keys if context.config is not None else {}
