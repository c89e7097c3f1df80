"""The command /settings: shows all settings, their values and origins, and changes them in the user's config.toml."""

from dataclasses import replace

from tui_agent.config.settings.setting_list import ConfigEntry, list_plugin_settings, list_settings
from tui_agent.protocol.events.plugin import PluginLoaded
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.commands.config_file import save_setting
from tui_agent.tui.commands.help_and_lists import offers
from tui_agent.tui.commands.keys import edit_keys
from tui_agent.tui.commands.setting_pickers import list_agents
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.theme.first_frame import theme_folders
from tui_agent.tui.theme.theme import discover

KEEP, RESET = "\0keep", "\0reset"
"""Values of rows that are not values of the setting. No value contains a NUL character."""


def edit_settings(context: AppContext, argument: str, current: str = "") -> None:
    """Edit the setting named `argument`, or list the settings that contain its words."""
    if context.config is None:
        context.app.say("The configuration cannot be read. Correct config.toml, then try again.", "warning")
        return
    entries = [setting for setting in list_settings(context.config) if setting.name != "plugins"]
    for plugin in context.views.plugins.values():
        if isinstance(plugin, PluginLoaded):
            entries += list_plugin_settings(context.config, plugin)
    settings = {setting.name: setting for setting in entries}
    if argument in settings:
        _edit(context, settings[argument])
        return
    items = [_item(setting, current) for setting in settings.values()]
    picker = open_picker(context, "Settings", items, lambda name: _edit(context, settings[name]))
    picker.field.insert(argument)


def _item(setting: ConfigEntry, current: str) -> Item:
    is_editable = setting.kind != "table" or setting.name == "keys"
    more = "" if is_editable else "To change it: tui-agent config edit"
    return Item(
        setting.name,
        ".".join(setting.key[1:]) or setting.name,
        about=setting.about.rstrip("."),
        right=f"{setting.shown_value}  {setting.origin}".strip(),
        group=setting.key[0] if len(setting.key) > 1 else "general",
        current=setting.name == current,
        more=more,
        found_by=setting.name,
    )


def _edit(context: AppContext, setting: ConfigEntry, typed: str = "") -> None:
    """Let the user choose or type a value.

    `typed`: initial text of the field.
    """
    if setting.name == "keys":
        edit_keys(context, "")
        return
    if setting.kind == "key":
        context.app.say(f"{setting.key[-1]} is a secret: set it as an environment variable.", "info")
        return
    if setting.kind == "table":
        context.app.say(f"{setting.name} holds several values. To change it: tui-agent config edit", "info")
        return
    now = setting.shown_value
    if setting.name == "theme":
        themes, _ = discover(theme_folders(context.app.environ), context.app.plugin_themes())
        setting = setting._replace(choices=tuple(themes))
    elif setting.name == "agent":
        names = (now, "default", *(name for name, _ in offers(context, "agent")))
        setting = setting._replace(choices=tuple(dict.fromkeys(names)))
    items = [Item(choice, choice, current=choice == now) for choice in setting.choices]
    if now not in setting.choices:
        items.insert(0, Item(KEEP, now or "not set", current=True))
    items = [item if not item.current else replace(item, about=setting.about.rstrip(".")) for item in items]
    if setting.origin == "your file":
        items.append(Item(RESET, "reset", about="remove it from your config.toml"))

    def use(text: str) -> None:
        if text != KEEP:
            value = None if text == RESET else setting.parse(text.strip())
            is_saved = False
            if setting.kind == "number" and isinstance(value, str):
                context.app.say(f"{setting.name} must be a number.", "warning")
            else:
                is_saved = save_setting(context, setting.key, value)
            if typed_prefix and not is_saved:
                _edit(context, setting, text)

    typed_prefix = "" if setting.choices else f"Set {setting.name} to"
    picker = open_picker(
        context,
        setting.name,
        items,
        use,
        typed_prefix=typed_prefix,
        back=lambda: edit_settings(context, "", setting.name),
    )
    picker.is_typed_first = bool(typed_prefix)
    picker.field.insert(typed)
    if setting.name == "agent":
        others = [item for item in items if item.value == RESET]
        context.worker(list_agents(context, picker, "hub", now, others), "agents")
