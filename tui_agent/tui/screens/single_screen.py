"""The frame of an app with a single screen, such as a replay, and no live session.

Invariant: the app starts no engine.
"""

import gc
from collections.abc import Iterator

from textual import events
from textual.screen import Screen
from textual.widget import Widget

from tui_agent.config.settings import layers
from tui_agent.errors import TuiAgentError
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.panes.notice import Level
from tui_agent.tui.screen_layout import shape
from tui_agent.tui.screens.list_page import FullScreen
from tui_agent.tui.widgets.key_settings import apply_key_settings
from tui_agent.tui.widgets.keymap import KeyMap


class SingleScreenApp(Frame, inherit_bindings=False):
    """App that shows a single screen; subclasses set `content` to this screen."""

    content: FullScreen

    def get_default_screen(self) -> Screen[None]:
        return self.content

    def compose(self) -> Iterator[Widget]:
        yield from ()

    def reshape(self, width: int = 0, height: int = 0) -> None:
        """Compute the layout for the terminal's size, and store it in `shape`."""
        self.shape = shape(width or self.size.width, height or self.size.height)

    def on_mount(self) -> None:
        """Use the configured keys, and show errors in their configuration."""
        gc.enable()  # It is turned off for a faster start.
        self.reshape()
        try:
            settings = apply_key_settings(layers.load_config(self.options, self.environ).keys)
        except TuiAgentError as fault:
            self.content.say(str(fault), "error")
            return
        self.key_map = KeyMap(settings.actions)
        if settings.messages:
            self.content.say(f"[keys] in config.toml: {' '.join(settings.messages)}", "warning")

    def say(self, text: str, level: Level = "info", *, stays: bool = False) -> None:
        """Show a notice on the screen itself, because this app has no prompt."""
        self.content.say(text, level)

    def on_key(self, event: events.Key) -> None:
        """Close the app on the same keys that quit the main app."""
        if any(self.key_map.means(event.key, name) for name in ("copy_or_stop", "quit")):
            self.action_leave()

    def action_leave(self) -> None:
        self.terminal.restore()
        self.exit(0)
