"""The user's keys by action and scope (part of the app), and mixins that run the action of a key.

Invariant: no screen compares a key with a literal. The keys that a screen shows are the keys that it handles.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, cast

from textual.events import Key
from textual.screen import Screen

from tui_agent.tui.actions import ACTIONS, Action, KeyHint, Scope, footer, key_name

KeyMethod: TypeAlias = str | tuple[str, Any]
"""The name of a method, or a pair: the name of a method and an argument."""


def normalize_key(key: str) -> str:
    """Return one name for a key that terminals report in several ways: `N`, `upper_n` and `shift+n` are one key."""
    key = key.replace("\r", "enter")
    letter = key.removeprefix("upper_")
    if len(letter) == 1 and letter.isalpha() and (letter != key or letter.isupper()):
        return f"shift+{letter.lower()}"
    return key


def without_shift(key: str) -> str:
    """Return the key of a letter without Shift, as footers show it; return any other key unchanged."""
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

        `choice` is the index (from 0) of the action's alternative that the key runs. A letter with Shift also finds the
        actions of the plain letter, after the actions of the letter with Shift.
        """
        exact = normalize_key(key)
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
        """Return the printed name of the main key of an action or of one of its alternatives. Empty if there is no
        key.
        """
        action = self._by_name[name]
        return action.typed or (key_name(action.keys[choice]) if choice < len(action.keys) else "")

    def label(self, name: str) -> str:
        """Return the main keys of an action as printed on a keyboard: `Up/Down`."""
        return self._by_name[name].label

    def hint(self, name: str, word: str = "") -> KeyHint:
        """Return the key of an action with `word`. If `word` is empty, use the action's own word for the footer."""
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
    """Mixin for widgets that handle keys.

    `key_methods` maps each action to a method; tables of base classes are included. For an action with two choices, the
    method is called with -1 or 1. For an action with more than two choices, it is called with the index of the choice
    (from 0). An argument given in `key_methods` comes before that number. If the method returns False, the action is
    not available now, and the next action with the same key is tried.
    """

    key_methods: ClassVar[Mapping[str, KeyMethod]] = {}
    _key_methods: ClassVar[Mapping[str, KeyMethod]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        bases = (base.__dict__.get("key_methods", {}) for base in reversed(cls.__mro__))
        cls._key_methods = {name: method for methods in bases for name, method in methods.items()}

    @property
    def key_map(self) -> KeyMap:
        return key_map_of(cast(Any, self).app)

    @abstractmethod
    def key_scopes(self) -> Sequence[Scope]:
        """Return the scopes whose keys work now, the most specific one first."""

    def run_key(self, key: str, *scopes: Scope) -> bool:
        """Run the action of a key; return False if the key has no action that is available now.

        Without `scopes`, search the scopes of `key_scopes` and the scope of the app.
        """
        for action, choice in self.key_map.find(key, scopes or (*self.key_scopes(), "app")):
            if action.name in self._key_methods and self.run_action_of(action, choice):
                return True
        return False

    def run_action_of(self, action: Action, choice: int) -> bool:
        """Run an action of the widget; return False if the action is not available now."""
        entry = self._key_methods[action.name]
        method, *arguments = (entry,) if isinstance(entry, str) else entry
        if action.choices > 1:
            arguments.append(2 * choice - 1 if action.choices == 2 else choice)
        return getattr(self, method)(*arguments) is not False


def claims_key(screen: Screen[Any], event: Key) -> bool:
    """Stop a key event, and return True if `screen` should handle the key.

    Keys that copy, interrupt or quit are left to the app. A screen that is already closed handles no key. Otherwise the
    second of two quick keys would close the screen below.
    """
    keys = key_map_of(screen.app)
    if keys.means(event.key, "copy_or_stop") or keys.means(event.key, "quit"):
        return False
    event.stop()
    event.prevent_default()
    return screen.is_active


class KeyScreen(KeyActions):
    """Mixin for screens: runs the action of each key, and passes keys without an action to `type_key`."""

    takes_every_key: ClassVar[bool] = False
    """True if the screen also gets the keys that otherwise run the app's own actions."""

    def on_key(self, event: Key) -> None:
        if claims_key(cast("Screen[Any]", self), event) and not self.run_key(event.key):
            self.type_key(event.key, event.character)

    def key_hints(self) -> Sequence[KeyHint]:
        """Return the keys that work now, for a sheet's footer; empty if the screen sets its footer's keys itself."""
        return ()

    def expect_text(self, give: Callable[[Key], object]) -> None:
        """Prepare the screen for keys of a text that the user is typing. Most screens need no preparation.

        `give` types a key into the prompt.
        """

    def type_key(self, key: str, character: str | None) -> bool:
        """Handle a key without an action, e.g. type it into a field. Return False if the key has no effect."""
        return False
