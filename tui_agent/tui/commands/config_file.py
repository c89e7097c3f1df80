"""Writes one setting to the user's config.toml, and applies it at once if possible."""

from tui_agent.config.settings.config_toml_edits import Value, save_value
from tui_agent.config.settings.layers import load_config, parse_config
from tui_agent.errors import TuiAgentError
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.untrusted_text import shorten_home
from tui_agent.tui.widgets.key_settings import apply_key_settings

AT_ONCE = ("theme", "vim", "keys", "status", "notifications")
"""Settings that take effect when they are changed."""


def save_setting(context: AppContext, key: tuple[str, ...], value: Value | None) -> bool:
    """Save a setting in the user's config.toml and apply it.

    `key`: the setting's tables and name, e.g. `("keys", "undo")`. `value`: None to remove the setting from the file.
    Return False if the value was not saved.
    """
    config, app, name = context.config, context.app, ".".join(key)
    if config is None:
        return False
    path = config.paths.user_config
    try:
        save_value(path, key, value, parse_config)
        context.config = config = load_config(app.options, app.environ)
    except TuiAgentError as fault:
        app.say(str(fault), "error")
        return False
    app.use_keys(apply_key_settings(config.keys).actions)
    app.terminal.notifications = config.notifications
    if key == ("vim",):
        app.editor.use_vim(on=config.vim)
    if key == ("theme",) and config.theme:
        app.use_theme(config.theme)
    done = "removed from" if value is None else "saved in"
    text = f"{name} {done} {shorten_home(path)}."
    origin = config.origin(name)
    if value is not None and origin != str(path):
        text += f" This has no effect now, because {origin} overrides it."
    elif key[0] not in AT_ONCE:
        text += " Takes effect at the next start."
    app.say(text, "done")
    return True
