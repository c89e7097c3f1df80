"""L7: what happens once after the first paint: the configuration, the first page, the watch on the themes."""

import asyncio
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.config import layers
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.settings import EFFORTS, POLICIES
from tui_agent.tui.actions import remapped, unknown_keys
from tui_agent.tui.first_look import theme_files, theme_folders
from tui_agent.tui.found import first_choices, ready_choices, servers
from tui_agent.tui.handlers.folder import folder_facts
from tui_agent.tui.panes.policy import policy_words

if TYPE_CHECKING:
    from tui_agent.tui.live import Live


def configure(live: "Live") -> None:
    """Read the typed configuration, and use what of it concerns the screen."""
    app = live.app
    try:
        live.config = layers.load(app.options, app.environ)
    except TuiAgentError as fault:
        app.say(str(fault), "error")
        return
    config = live.config
    keys = {name: key if isinstance(key, str) else ", ".join(key) for name, key in config.keys.items()}
    if keys:
        app.remap(remapped(keys), keys)
        if wrong := unknown_keys(keys):
            app.say(f"[keys] in config.toml: {' '.join(wrong)}", "warning")
    app.prompt.editor.use_vim(on=config.vim)
    if not app.options.policy:
        app.header.policy_hint = config.policy
        app.prompt.set_state(config.policy, "", running=False)
    app.prompt.choices = {
        "/theme": [(name, "") for name in sorted(path.stem for path in theme_files(app.environ))],
        "/policy": [(name, policy_words(name)) for name in POLICIES],
        "/reasoning": [(effort, "") for effort in EFFORTS],
        "/model": [(name, profile.model) for name, profile in config.models.items()],
    }
    history = app.prompt.editor.history_of_messages
    history.path = config.data_dir / "prompts.jsonl"
    history.extend(history.load())


async def watch_themes(live: "Live") -> None:
    """Draw anew when the file of the theme in use is saved."""
    app = live.app
    watching = await asyncio.to_thread(import_module, "tui_agent.tui.theme_watch")

    def changed(names: set[str]) -> None:
        if app.first.theme.name in names:
            app.wear_theme(app.first.theme.name)

    await watching.watch(theme_folders(app.environ), changed, asyncio.Event())


async def begin_page(live: "Live") -> None:
    """Fill the page that stands before the first message."""
    app, start = live.app, live.chat.start
    policy = live.state.settings.policy if live.state.settings else "ask"
    home = str(Path.home())
    folder = str(app.options.cwd)
    shown = "~" + folder[len(home) :] if folder.startswith(home) else folder
    needs = not live.has_model
    facts = await asyncio.to_thread(lambda: folder_facts(app.options.cwd))
    choices = ready_choices()
    if needs:
        rows, local = await asyncio.gather(live.reading.models_here(), servers())
        choices = first_choices(rows, local, app.environ)
    start.set_page(needs_model=needs, choices=choices, folder=shown, facts=facts, policy=policy)
    live.chat.choose_page()
    app.reshape()
    if needs and start.display and not app.prompt.editor.text and len(app.screen_stack) == 1:
        app.call_after_refresh(start.focus)
