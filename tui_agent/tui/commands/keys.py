"""The command /keys: changes and tests the keys of actions."""

from collections.abc import Mapping, Sequence

from tui_agent.tui.actions import BY_NAME, Action
from tui_agent.tui.commands.config_file import save_setting
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.key_capture import KeyCapture, KeyCheck
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.widgets.key_settings import apply_key_settings

TEST, RESET, CHANGE = "\0test", "\0reset", "\0change"


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
