"""The user's keys by action and scope (part of the app), and mixins to run a key's action.

Invariant: no screen mentions a key in its code. A screen asks the `KeyMap` for the action of a key.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, cast

from textual.events import Key
from textual.screen import Screen

from tui_agent.tui.keys_and_commands import ACTIONS, Action, KeyHint, Scope, footer, key_name

ACTIVE_TOGETHER: Final[Mapping[Scope, tuple[Scope, ...]]] = {
    "prompt": ("transcript", "app"),
    "menu": ("transcript", "app"),
    "transcript": ("app",),
    **dict.fromkeys(("start", "chat"), ("transcript", "app")),
    **dict.fromkeys(("find", "turn"), ("chat", "transcript", "app")),
    **dict.fromkeys(("tree", "checkpoints", "map", "jobs", "evals"), ("page", "rows")),
    "sessions": ("page", "rows"),
    **dict.fromkeys(("sessions_find", "map_find", "trace"), ("rows",)),
    **dict.fromkeys(("approval", "reason", "rule", "question", "trust", "viewer"), ("sheet",)),
    **dict.fromkeys(("fork", "provider", "files", "confirm", "keys"), ("sheet",)),
    **dict.fromkeys(("policy", "list"), ("rows",)),
    **dict.fromkeys(("context", "diff", "history", "pane"), ("viewer", "sheet")),
}
"""Maps a scope (part of the app) to the other scopes that are active at the same time."""


def normalize_key(key: str) -> str:
    """Return one name for each key: `N`, `upper_n` and `shift+n` are the same key."""
    key = key.replace("\r", "enter")
    letter = key.removeprefix("upper_")
    if len(letter) == 1 and letter.isalpha() and (letter != key or letter.isupper()):
        return f"shift+{letter.lower()}"
    return key


def without_shift(key: str) -> str:
    """Return a letter's key without Shift, for a footer; return any other key unchanged."""
    letter = key.removeprefix("shift+")
    return letter if len(letter) == 1 and letter.isalpha() else key


class KeyMap:
    """The app's actions with the user's keys, searchable by key and scope."""

    def __init__(self, actions: Sequence[Action] = ACTIONS) -> None:
        self.actions = tuple(actions)
        self._by_name = {action.name: action for action in self.actions}
        self._by_scope: dict[Scope, dict[str, list[tuple[Action, int]]]] = {}

    def find(self, key: str, scopes: Sequence[Scope]) -> list[tuple[Action, int]]:
        """Return (action, choice) for each action that has the key in these scopes.

        `choice`: index (from 0) of the key's choice, if the action has several choices, such as up and down.
        """
        exact = normalize_key(key)
        # The key with Shift first: an action with the key `shift+n` wins over one with the key `n`.
        names = dict.fromkeys((exact, without_shift(exact)))
        return [
            action for name in names for scope in scopes for action in self._of_scope(scope).get(name, ())
        ]

    def means(self, key: str, name: str) -> bool:
        """Return True if the key is bound to the action `name`."""
        return normalize_key(key) in self._by_name[name].keys

    def is_double(self, name: str) -> bool:
        """Return True if the action `name` is triggered by pressing a key twice."""
        return any(" " in key for key in self._by_name[name].keys)

    def key_of(self, name: str, choice: int = 0) -> str:
        """Return the main key of an action, as printed on a keyboard; empty if there is none.

        `choice`: index (from 0) of the choice, if the action has several choices, such as up and down.
        """
        action = self._by_name[name]
        return action.typed or (key_name(action.keys[choice]) if choice < len(action.keys) else "")

    def label(self, name: str) -> str:
        """Return the main keys of an action as printed on a keyboard: `Up/Down`."""
        return self._by_name[name].label

    def hint(self, name: str, word: str = "") -> KeyHint:
        """Return the key hint of an action, with `word` or, by default, the action's usual word in the footer."""
        action = self._by_name[name]
        return KeyHint(action.label, word or action.footer, name)

    def hints(self, *scopes: Scope, running: bool = False) -> list[KeyHint]:
        """Return the keys of these scopes to show in the footer."""
        return footer(self.actions, scopes, running=running)

    def _of_scope(self, scope: Scope) -> dict[str, list[tuple[Action, int]]]:
        if scope not in self._by_scope:
            keys: dict[str, list[tuple[Action, int]]] = {}
            for action in self.actions:
                if action.scope == scope:
                    for number, key in enumerate(action.keys):
                        keys.setdefault(key, []).append((action, number % action.choices))
            self._by_scope[scope] = keys
        return self._by_scope[scope]


def key_map_of(app: object) -> KeyMap:
    return cast("KeyMap", cast(Any, app).key_map)


class KeyActions:
    """Mixin for widgets that handle keys. A key calls its action's method in the registry.

    If the action has two choices, the argument of the method is -1 or 1. If the action has more choices, the argument is
    the index of the choice. If the method returns False, the next action with the same key is tried.
    """

    scope: ClassVar[Scope]
    """The scope of the widget's own keys in the registry of actions."""
    key_methods: ClassVar[Mapping[str, str]] = {}
    """Maps an action's name to the method of this class that replaces the method in the registry."""

    @property
    def key_map(self) -> KeyMap:
        return key_map_of(cast(Any, self).app)

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scopes (parts of the app, e.g. `chat`) whose keys work now, the most specific one first."""
        return self.scope, *ACTIVE_TOGETHER.get(self.scope, ())

    def run_key(self, key: str, *scopes: Scope) -> bool:
        """Run the action of a key; return False if no available action has the key.

        `scopes`: the scopes to search; the default is `key_scopes` and the scope of the app.
        """
        for action, choice in self.key_map.find(key, scopes or (*self.key_scopes(), "app")):
            if self.run_action_of(action, choice):
                return True
        return False

    def can_run(self, action: Action) -> bool:
        """Return True if the widget has the method of an action."""
        entry = self.key_methods.get(action.name, action.method)
        name = entry if isinstance(entry, str) else entry[0]
        return bool(name) and hasattr(self, name)

    def run_action_of(self, action: Action, choice: int) -> bool:
        """Run an action of the widget; return False if the action is not available now."""
        entry = self.key_methods.get(action.name, action.method)
        name, *arguments = (entry,) if isinstance(entry, str) else entry
        method = getattr(self, name, None) if name else None
        if action.choices > 1:
            arguments.append(2 * choice - 1 if action.choices == 2 else choice)
        return method is not None and method(*arguments) is not False


def claims_key(screen: Screen[Any], event: Key) -> bool:
    """Decide whether `screen` handles a key. If it does, stop the key's event and return True.

    - The app handles the keys to copy, interrupt or quit: the event is not stopped, and the result is False.
    - A closed screen handles no key: the event is stopped, and the result is False.
    """
    # The event is stopped even for a closed screen, so that the key does not close the screen below.
    keys = key_map_of(screen.app)
    if keys.means(event.key, "copy_or_stop") or keys.means(event.key, "quit"):
        return False
    event.stop()
    event.prevent_default()
    return screen.is_active


class KeyScreen(KeyActions):
    """Mixin for screens: runs the action of each key, and passes keys without an action to `type_key`."""

    takes_every_key: ClassVar[bool] = False
    """True if this screen also gets the keys of the app's own actions. The app then does not run these actions."""

    def on_key(self, event: Key) -> None:
        if claims_key(cast("Screen[Any]", self), event) and not self.run_key(event.key):
            self.type_key(event.key, event.character)

    def on_screen_resume(self) -> None:
        # While another screen was on top, e.g. after `/policy`, only that screen noticed changes of the message.
        self.follow_message()

    def key_hints(self) -> Sequence[KeyHint]:
        """Return the keys that work now, for a sheet's footer. Empty if the screen sets its own footer."""
        return ()

    def expect_text(self) -> None:
        """Expect typed or pasted text, so that its keys do not run the screen's actions."""

    def follow_message(self) -> None:
        """Handle a change of the message in the prompt."""

    def type_key(self, key: str, character: str | None) -> bool:
        """Handle a key without an action, e.g. type it into a field; return False if the key has no effect."""
        return False
