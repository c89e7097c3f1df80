"""The user's keys, `[keys]` in config.toml: parsed, validated, and applied to the actions of the registry.

Invariant: in every scope (part of the app), a key has one meaning.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import Final, NamedTuple

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from tui_agent.tui.keys_and_commands import (
    ACTIONS,
    BY_NAME,
    LEAVE_ACTIONS,
    Action,
    Scope,
    did_you_mean,
    key_name,
)
from tui_agent.tui.terminal.keyboard import ALT_ENTER
from tui_agent.tui.widgets.keymap import ACTIVE_TOGETHER, normalize_key

MODIFIERS: Final = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_AS_PRINTED: Final = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "del": "delete",
    "ins": "insert",
}
"""Maps a key's name on keyboards to Textual's name, if the names differ."""
_NAMED: Final = frozenset(key.value for key in Keys if not {"+", "<", "-"} & set(key.value)) | frozenset(
    {"tab", "space", "enter", "backspace"}
)
"""Textual's names of keys without a modifier, such as `f9`. Names such as `<any>` are internal events, not keys."""
_SENT: Final = frozenset(
    name
    for keys in ANSI_SEQUENCES_KEYS.values()
    if isinstance(keys, tuple)
    for key in keys
    # Only a numeric keypad sends a modifier with a digit.
    if not re.search(r"\+\d$", name := normalize_key(getattr(key, "value", str(key))))
    # Without H, I, J and M: with Ctrl, they are Backspace, Tab, line feed and Enter.
) | {ALT_ENTER, "space", *(f"alt+ctrl+{letter}" for letter in set(ascii_lowercase) - set("hijm"))}
"""Names of the keys that every terminal sends, besides the keys for characters."""
EVERYWHERE: Final = frozenset({"copy_or_stop", "help", "quit"})
"""Names of the app's actions whose keys work on every screen."""
TYPING: Final[frozenset[Scope]] = frozenset(
    {
        *(
            "app",
            "transcript",
            "chat",
            "turn",
            "find",
            "prompt",
            "menu",
            "start",
            "reason",
            "rule",
            "question",
            "list",
            "fork",
        ),
        *("provider", "field", "map_find", "sessions_find"),
    }
)
"""Scopes (parts of the app) in which the user types text."""
_SEPARATOR: Final = re.compile(r"(?<=[^+\s]),\s*")
"""Separator of the keys in a setting. The comma of the key `ctrl+,` does not match."""


class KeySettings(NamedTuple):
    """The result of applying the user's keys.

    - `actions`: all actions, with the user's keys
    - `faults`: a message for each entry that is not used
    - `rare_keys`: a message for each entry with a key that some terminals cannot send
    """

    actions: tuple[Action, ...]
    faults: list[str]
    rare_keys: list[str]

    @property
    def messages(self) -> list[str]:
        return [*self.faults, *self.rare_keys]


def parse_key(text: str) -> str | None:
    """Return Textual's name of a key; None if the key is unknown.

    `text`: Textual's name, or the name printed on keyboards (`Ctrl+P`, `Esc`, `/`).
    """
    *modifiers, name = text.split("+") if len(text) > 1 and not text.endswith("++") else [text]
    if text.endswith("++"):  # the plus key with a modifier, such as `ctrl++`
        modifiers, name = text[:-2].split("+"), "+"
    modifiers = [modifier.lower() for modifier in modifiers]
    if not MODIFIERS.issuperset(modifiers) or not name:
        return None
    if len(name) == 1:
        name = _character(name)
        if modifiers and len(name) == 1:
            name = name.lower()
    else:
        lower = name.lower()
        name = _AS_PRINTED.get(lower, lower)
        if name not in _NAMED and name not in _signs():
            return None
    return normalize_key("+".join((*sorted(set(modifiers)), name)))


def apply_key_settings(settings: Mapping[str, str | Sequence[str]]) -> KeySettings:
    """Return the actions of the registry with the user's keys.

    `settings`: maps an action's name to its keys, as a list or as a text such as `f9, ctrl+t`.
    """
    faults = [
        f"There is no action {name}.{did_you_mean(name, BY_NAME)}" for name in settings if name not in BY_NAME
    ]
    new_keys: dict[str, tuple[str, ...]] = {}
    for name, keys in settings.items():
        if name in BY_NAME:
            listed = _SEPARATOR.split(keys.strip()) if isinstance(keys, str) else keys
            fault, parsed = _read_entry(BY_NAME[name], [key for key in listed if key])
            if fault:
                faults.append(f"{name}: {fault}")
            else:
                new_keys[name] = parsed
    # Both actions get their default keys back. These can clash with another entry, so look again. Each round removes
    # at least one entry, so the loop ends.
    while clash := next(_clashes(_with_keys(new_keys), new_keys), None):
        faults.append(_describe_clash(*clash))
        for action in clash[:2]:
            new_keys.pop(action.name, None)
    rare_keys = _add_defaults_of_rare_keys(new_keys)
    return KeySettings(_with_keys(new_keys), faults, rare_keys)


def needs_protocol(key: str) -> bool:
    """Return True if terminals send the key only with the kitty keyboard protocol."""
    *modifiers, name = key.split("+")
    if key in _SENT:
        return False
    if modifiers[:1] == ["alt"]:
        # Terminals send Ctrl+Left and Ctrl+Right as Alt+B and Alt+F. Characters other than letters arrive without Alt.
        return (
            name not in ascii_lowercase or modifiers[1:] not in ([], ["shift"]) or key in ("alt+b", "alt+f")
        )
    is_character = len(name) == 1 or name in _signs()
    return not (is_character and (not modifiers or (modifiers == ["shift"] and len(name) == 1)))


def _read_entry(action: Action, keys: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Parse the keys that the user configured for an action; return (error message or an empty string, keys)."""
    if action.typed:
        return f"{action.typed} is part of what you type and cannot be changed.", ()
    parsed = list[str]()
    for key in keys:
        pressed = [parse_key(part) for part in key.split()]
        if None in pressed or not pressed:
            part = next((part for part in key.split() if parse_key(part) is None), key)
            return f"there is no key {part}.{_suggest_key(part)}", ()
        parsed.append(" ".join(filter(None, pressed)))
    if len(set(parsed)) < len(parsed):
        return "the same key is listed twice.", ()
    if any(" " in key for key in parsed) and action.name != "revert":
        return "only the action `revert` can be bound to two key presses.", ()
    if action.name in LEAVE_ACTIONS and not parsed:
        return "this action closes a screen, so it must keep at least one key.", ()
    if len(parsed) % action.choices:
        example = ", ".join(f'"{key}"' for key in action.keys[: action.choices])
        return f"this action needs {action.choices} keys, one for each choice, as in [{example}].", ()
    text = next((key for key in parsed if _is_text(key)), "")
    if text and action.scope in TYPING and not any(map(_is_text, action.keys)):
        return (
            f"{key_name(text)} types text here. Use a function key, or a key with Ctrl or Alt.",
            (),
        )
    return "", tuple(parsed)


def _with_keys(new_keys: Mapping[str, tuple[str, ...]]) -> tuple[Action, ...]:
    """Return all actions, with the keys in `new_keys`.

    The default key of `revert` is the stop key, pressed twice.
    """
    stop = new_keys.get("stop", BY_NAME["stop"].keys)
    keys = {"revert": (f"{stop[0]} {stop[0]}",), **new_keys}
    return tuple(action._replace(keys=keys.get(action.name, action.keys)) for action in ACTIONS)


def _clashes(
    actions: Sequence[Action], new_keys: Mapping[str, object]
) -> Iterator[tuple[Action, Action, str]]:
    """Yield (first action, second action, key) for each new clash of two actions.

    Actions that share a key by default do not clash.
    """
    if not new_keys:
        return
    keys = {action.name: action.keys for action in actions}
    # The app recognizes only one sequence of two keys: the stop key pressed twice.
    twice = {f"{key} {key}" for key in keys["stop"]}
    if wrong := next((key for key in keys["revert"] if " " in key and key not in twice), ""):
        yield BY_NAME["revert"], BY_NAME["revert"], wrong
    for scope in dict.fromkeys(action.scope for action in actions):
        scopes = {scope, *ACTIVE_TOGETHER.get(scope, ())}
        present = [action for action in actions if action.scope in scopes or action.name in EVERYWHERE]
        if not any(action.name in new_keys for action in present):
            continue
        for first, other in combinations(present, 2):
            if (first.name not in new_keys and other.name not in new_keys) or scope not in (
                first.scope,
                other.scope,
            ):
                continue
            shared = set(first.keys) & set(other.keys)
            if shared and not set(BY_NAME[first.name].keys) & set(BY_NAME[other.name].keys):
                yield first, other, min(shared)


def _describe_clash(first: Action, other: Action, key: str) -> str:
    if first is other:
        return (
            f"revert: {key_name(key)} does not work. A key that is pressed twice must be the key of `stop`."
        )
    return f"{key_name(key)} is set for both {first.name} and {other.name}. Choose another key for one."


def _add_defaults_of_rare_keys(new_keys: dict[str, tuple[str, ...]]) -> list[str]:
    """Find keys in `new_keys` that some terminals cannot send, and return a message for each action with such a key.

    If an action has only such keys, its default keys are added to `new_keys`, provided that no two actions clash.
    """
    messages = []
    for name, keys in list(new_keys.items()):
        rare = [key for key in keys if needs_protocol(key)]
        if not rare:
            continue
        both = new_keys | {name: tuple(dict.fromkeys((*keys, *BY_NAME[name].keys)))}
        if len(rare) == len(keys) and next(_clashes(_with_keys(both), both), None) is None:
            new_keys[name] = both[name]
        common = [key_name(key) for key in new_keys[name] if not needs_protocol(key)]
        elsewhere = (
            f"in other terminals use {' or '.join(common)}"
            if common
            else "in other terminals this action has no key, so add a second one"
        )
        messages.append(
            f"{name}: {' and '.join(map(key_name, rare))} works only in terminals with the kitty keyboard protocol; "
            f"{elsewhere}."
        )
    return messages


def _character(character: str) -> str:
    """Return Textual's name of the key that types a character."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def _signs() -> frozenset[str]:
    return frozenset(_character(chr(code)) for code in range(0x21, 0x7F) if not chr(code).isalnum())


def _is_text(key: str) -> bool:
    """Return True if the key types a character."""
    name = key.removeprefix("shift+")
    return len(name) == 1 or key == "space" or key in _signs()


def _suggest_key(part: str) -> str:
    *modifiers, name = part.lower().split("+")
    wrong = next((name for name in modifiers if name not in MODIFIERS), "")
    return did_you_mean(wrong, MODIFIERS) if wrong else did_you_mean(name, _NAMED | _signs())
