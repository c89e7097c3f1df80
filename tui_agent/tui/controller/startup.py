"""Work done once after the first paint: read the configuration, and watch the theme's file."""

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from tui_agent.config.settings import layers
from tui_agent.config.user_choices import load_choices
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.settings import POLICIES
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.panes.policy import policy_words
from tui_agent.tui.theme.first_frame import theme_folders
from tui_agent.tui.widgets import key_settings


def configure(host: SessionHost) -> None:
    """Read the configuration, and apply its screen settings, such as the theme."""
    # Not in a thread: the files are small (reading them takes about 1 ms, with a thousand models 20 ms), the first paint has
    # already read some of them, and the user must not type a command before its keys and choices are known.
    app = host.app
    try:
        host.config = layers.load_config(app.options, app.environ)
    except TuiAgentError as fault:
        app.say(str(fault), "error")
        return
    config = host.config
    choices_made, damage = load_choices(config.data_dir) if app.options.client == "app" else (None, "")
    host.choices.addresses = choices_made.addresses if choices_made is not None else {}
    faults = [damage] if damage else []
    names = {path.stem for folder in theme_folders(app.environ) for path in folder.glob("*.toml")}
    names |= {path.stem for _, path in app.plugin_themes()}
    if config.theme and app.theme_name != config.theme and not app.options.theme:
        if config.theme in names:
            app.use_theme(config.theme)  # The first frame did not know a project's setting.
        else:
            faults.append(f"No theme '{config.theme}'. Choose from {', '.join(sorted(names))}.")
    keys = key_settings.apply_key_settings(config.keys)
    app.use_keys(keys.actions)
    if keys.messages:
        faults.append(f"[keys] in config.toml: {' '.join(keys.messages)}")
    if faults:
        app.say("\n".join(faults), "warning", stays=bool(damage))
    app.editor.use_vim(on=config.vim)
    app.terminal.notifications = config.notifications
    if not (app.shown_policy or app.options.session or app.options.continue_latest):
        app.show_policy(config.policy)
    choices: dict[str, Sequence[tuple[str, str]]] = {
        action.slash: [(option, "") for option in action.options] for action in app.actions if action.slash
    }
    choices |= {
        "/theme": [(name, "") for name in sorted(names)],
        "/policy": [(name, policy_words(name)) for name in POLICIES],
        "/model": [*((name, profile.model) for name, profile in config.models.items()), *choices["/model"]],
    }
    app.prompt.choices = choices
    host.worker(host.drafts.load_history(config.data_dir / "prompts.jsonl"), "history")


async def watch_themes(host: SessionHost) -> None:
    """Redraw whenever the current theme's file is saved."""
    app = host.app

    def apply_theme_change(names: set[str]) -> None:
        if app.theme_name in names:
            app.use_theme(app.theme_name)

    folders = [*theme_folders(app.environ), *{path.parent for _, path in app.plugin_themes()}]
    await watch_theme_files(folders, apply_theme_change, asyncio.Event())


async def watch_theme_files(
    folders: Sequence[Path], changed: Callable[[set[str]], None], stop: asyncio.Event
) -> None:
    """Call `changed` with the names of saved theme files, until `stop` is set."""
    existing = [folder for folder in folders if folder.is_dir()]
    if not existing:
        return
    # In a thread, because this import takes long, and keys and drawing must not wait for it.
    watchfiles = await asyncio.to_thread(import_module, "watchfiles")
    async for changes in watchfiles.awatch(*existing, stop_event=stop, recursive=False, debounce=200):
        names = {Path(path).stem for _, path in changes if path.endswith(".toml")}
        if names:
            changed(names)
