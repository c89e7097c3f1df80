"""`[keys]` in config.toml: what can be written there, and what becomes of what cannot be used."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key

from tests.stubs.rows import rows
from tui_agent.tui.keys_and_commands import ACTIONS, BY_NAME, LEAVE_ACTIONS
from tui_agent.tui.terminal.keyboard import Keyboard
from tui_agent.tui.widgets.key_settings import (
    EVERYWHERE,
    apply_key_settings,
    needs_protocol,
    parse_key,
)
from tui_agent.tui.widgets.keymap import ACTIVE_TOGETHER


def keys_of(name: str, settings: dict[str, str | list[str]]) -> tuple[str, ...]:
    return next(action.keys for action in apply_key_settings(settings).actions if action.name == name)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("ctrl+t", "ctrl+t"),
        ("Ctrl+T", "ctrl+t"),
        ("shift+ctrl+left", "ctrl+shift+left"),
        ("Esc", "escape"),
        ("PgDn", "pagedown"),
        ("F9", "f9"),
        ("/", "slash"),
        ("+", "plus"),
        ("ctrl++", "ctrl+plus"),
        ("[", "left_square_bracket"),
        ("G", "shift+g"),
        ("ö", "ö"),
        ("cntrl+t", None),
        ("escpae", None),
        ("ctrl+", None),
        ("f99", None),
        ("", None),
    ],
)
def test_a_key_is_written_by_its_name_or_as_it_is_printed(written: str, key: str | None) -> None:
    assert parse_key(written) == key


@rows("action", [action for action in ACTIONS if action.keys])
def test_every_default_key_can_be_written_as_it_is_printed(action: object) -> None:
    for key in action.keys:  # type: ignore[attr-defined]
        assert " ".join(parse_key(part) or "" for part in key.split()) == key


def test_several_keys_are_a_list_or_stand_between_commas() -> None:
    assert keys_of("palette", {"palette": "ctrl+t, f9"}) == ("ctrl+t", "f9")
    assert keys_of("palette", {"palette": ["ctrl+t", "f9"]}) == ("ctrl+t", "f9")
    assert keys_of("palette", {"palette": "ctrl+,"})[0] == "ctrl+comma"
    assert keys_of("palette", {"palette": ""}) == ()


def test_two_actions_can_swap_their_keys() -> None:
    settings: dict[str, str | list[str]] = {"sessions_sort": "r", "sessions_replay": "s"}
    assert apply_key_settings(settings).faults == []
    assert keys_of("sessions_sort", settings) == ("r",)
    assert keys_of("sessions_replay", settings) == ("s",)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"pallete": "f9"}, "There is no action pallete. Did you mean palette?"),
        ({"todo": "cntrl+t"}, "todo: there is no key cntrl+t. Did you mean ctrl?"),
        ({"todo": "escpae"}, "todo: there is no key escpae. Did you mean escape or space?"),
        ({"todo": "ctrl+t, nonsense"}, "todo: there is no key nonsense."),
        ({"todo": "f9, f9"}, "todo: the same key is listed twice."),
        ({"todo": "f9 f9"}, "todo: only the action `revert` can be bound to two key presses."),
        ({"revert": "f9 f9"}, "revert: F9 F9 does not work. A key that is pressed twice must be the key of `stop`."),
        ({"sessions_sort": "r"}, "R is set for both sessions_replay and sessions_sort. Choose another key for one."),
        ({"tree_fork": "pagedown"}, "PgDn is set for both tree_fork and page_scroll. Choose another key for one."),
        ({"queue": "f1"}, "F1 is set for both queue and help. Choose another key for one."),
        ({"view_copy": "ctrl+c"}, "Ctrl+C is set for both copy_or_stop and view_copy. Choose another key for one."),
        ({"view_close": ""}, "view_close: this action closes a screen, so it must keep at least one key."),
        ({"replay_event": "x"}, 'replay_event: this action needs 2 keys, one for each choice, as in ["left", "right"].'),
        ({"send": "x"}, "send: X types text here. Use a function key, or a key with Ctrl or Alt."),
        ({"list_open": "space"}, "list_open: Space types text here. Use a function key, or a key with Ctrl or Alt."),
        ({"commands": "f9"}, "commands: / is part of what you type and cannot be changed."),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_named_and_its_action_keeps_its_keys(settings: dict[str, str], fault: str) -> None:
    keys = apply_key_settings(settings)
    assert keys.faults == [fault]
    assert keys.actions == ACTIONS


def test_a_wrong_entry_takes_no_other_entry_with_it() -> None:
    keys = apply_key_settings({"todo": "nonsense", "palette": "f9", "trace": "f9"})
    assert len(keys.faults) == 2
    changed = {
        action.name for action, default in zip(keys.actions, ACTIONS, strict=True) if action != default
    }
    assert changed == set()
    assert keys_of("palette", {"todo": "nonsense", "palette": "f9"}) == ("f9",)


def test_where_one_key_is_given_twice_none_of_both_actions_gets_it() -> None:
    keys = apply_key_settings({"palette": "f9", "trace": "f9"})
    assert keys.faults == ["F9 is set for both trace and palette. Choose another key for one."]
    assert keys.actions == ACTIONS


@pytest.mark.parametrize(
    "key", ["ctrl+shift+t", "ctrl+comma", "super+t", "ctrl+i", "alt+ctrl+i", "alt+shift+enter"]
)
def test_a_key_that_not_every_terminal_sends_is_named_and_the_default_works_too(key: str) -> None:
    assert needs_protocol(key)
    keys = apply_key_settings({"palette": key})
    [message] = keys.rare_keys
    assert not keys.faults and "works only in terminals with the kitty keyboard protocol" in message
    assert message.startswith("palette: ") and message.endswith("; in other terminals use Ctrl+P.")
    assert keys_of("palette", {"palette": key}) == (key, "ctrl+p")


def test_a_default_that_another_action_took_does_not_come_back() -> None:
    settings: dict[str, str | list[str]] = {"palette": "ctrl+shift+t", "todo": "ctrl+p"}
    assert keys_of("palette", settings) == ("ctrl+shift+t",)
    assert keys_of("todo", settings) == ("ctrl+p",)
    [message] = apply_key_settings(settings).rare_keys
    assert message.endswith("; in other terminals this action has no key, so add a second one.")


@pytest.mark.parametrize("key", ["ctrl+t", "alt+x", "alt+ctrl+x", "f9", "ctrl+f5", "x", "shift+x", "slash", "enter", "shift+tab", "alt+enter"])  # fmt: skip
def test_keys_that_every_terminal_sends_need_nothing(key: str) -> None:
    assert not needs_protocol(key)


def test_stop_takes_revert_along() -> None:
    assert keys_of("revert", {"stop": "f9"}) == ("f9 f9",)
    assert keys_of("revert", {"stop": "f9", "revert": "f10"}) == ("f10",)


NAMES = st.sampled_from([*BY_NAME, "nobody"])
KEYS = st.sampled_from(
    [
        "x",
        "f9",
        "f1",
        "escape",
        "enter",
        "ctrl+t",
        "ctrl+shift+t",
        "up",
        "down",
        "tab",
        "1",
        "/",
        "q q",
        "nonsense",
        "",
    ]
)


@given(st.dictionaries(NAMES, st.lists(KEYS, max_size=3), max_size=6))
def test_whatever_is_written_no_key_means_two_things_and_every_way_out_has_one(
    settings: dict[str, list[str]],
) -> None:
    actions = apply_key_settings(settings).actions
    assert [action._replace(keys=()) for action in actions] == [
        action._replace(keys=()) for action in ACTIONS
    ]
    for action in actions:
        assert action.keys or action.name not in LEAVE_ACTIONS
        assert len(action.keys) % action.choices == 0
    for scope in {action.scope for action in actions}:
        scopes = {scope, *ACTIVE_TOGETHER.get(scope, ())}
        present = [one for one in actions if one.scope in scopes or one.name in EVERYWHERE]
        for one, other in combinations(present, 2):
            if scope in (one.scope, other.scope) and set(one.keys) & set(other.keys):
                assert set(BY_NAME[one.name].keys) & set(BY_NAME[other.name].keys)


@pytest.mark.parametrize("code", range(0x21, 0x7F))
def test_a_key_with_alt_that_arrives_as_another_key_needs_the_protocol(code: int) -> None:
    keyboard = Keyboard()
    messages = [*keyboard.feed(f"\x1b{chr(code)}"), *keyboard.feed("")]
    arrives = [message.key for message in messages if isinstance(message, Key)]
    wanted = parse_key(f"alt+shift+{chr(code)}" if chr(code).isupper() else f"alt+{chr(code)}")
    assert wanted is not None
    assert needs_protocol(wanted) == (arrives != [wanted])


@pytest.mark.parametrize("key", ["ctrl+1", "ctrl+shift+0"])
def test_a_modifier_with_a_digit_needs_the_protocol(key: str) -> None:
    assert needs_protocol(key)


@pytest.mark.parametrize(
    ("action", "keys"),
    [
        ("diff_revert", "c"),
        ("diff_file", ["k", "j"]),
        ("history_viewer", "c"),
        ("turn_diff", "up"),
        ("turn_diff", "tab"),
        ("turn_diff", "g"),
    ],
)
def test_a_key_of_the_diff_the_history_or_a_turns_row_clashes_with_those_beside_it(
    action: str, keys: str | list[str]
) -> None:
    [fault] = apply_key_settings({action: keys}).faults
    assert action in fault
