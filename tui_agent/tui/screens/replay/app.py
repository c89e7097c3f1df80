"""The app that only replays a recorded session.

Invariant: the app starts no engine and writes nothing; Esc closes the app.
"""

import gc
from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from tui_agent.config import layers
from tui_agent.config.options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.tui.cli_client import Ask, CommandLine
from tui_agent.tui.layout import shape
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.screens.replay.source import ReplayHost, ReplaySource
from tui_agent.tui.widgets.key_settings import apply_key_settings
from tui_agent.tui.widgets.keymap import KeyMap


class ReplayApp(Frame, inherit_bindings=False):
    """App that replays a session.

    It starts at the event `to_seq` or, if that is None, at the last event; Space plays at `speed`.
    """

    CSS_PATH = "../../styles/app.tcss"

    def __init__(
        self,
        options: SessionOptions,
        source: ReplaySource,
        *,
        to_seq: int | None = None,
        speed: float = 1.0,
        environ: Mapping[str, str] | None = None,
        ask: Ask | None = None,
    ) -> None:
        super().__init__(options, environ)
        host = ReplayHost(
            ask or CommandLine(options, self.environ),
            self.terminal.copy,
            opens="tui-agent --session",
            leave=self.action_leave,
        )
        self.replay = ReplayScreen(source, host, lambda: self.looks, to_seq=to_seq, speed=speed)

    def get_default_screen(self) -> Screen[None]:
        return self.replay

    def compose(self) -> ComposeResult:
        yield from ()

    def reshape(self, width: int = 0, height: int = 0) -> None:
        """Compute the layout for this terminal size; the screen applies it."""
        self.shape = shape(width or self.size.width, height or self.size.height)
        for pane in self.replay.query("LinePane"):
            pane.refresh()

    def on_mount(self) -> None:
        gc.enable()
        self.reshape()
        try:
            settings = apply_key_settings(layers.load_config(self.options, self.environ).keys)
        except TuiAgentError as fault:
            self.replay.say(str(fault), "error")
            return
        self.key_map = KeyMap(settings.actions)
        if settings.faults:
            self.replay.say(f"[keys] in config.toml: {' '.join(settings.faults)}", "warning")

    def on_key(self, event: events.Key) -> None:
        """Close the app on the keys that quit the main app."""
        if any(self.key_map.means(event.key, name) for name in ("copy_or_stop", "quit")):
            self.action_leave()

    def action_leave(self) -> None:
        self.terminal.restore()
        self.exit(0)


def run_replay(options: SessionOptions, source: ReplaySource, *, to_seq: int | None, speed: float) -> int:
    """Show the replay until the user quits; return the exit status."""
    app = ReplayApp(options, source, to_seq=to_seq, speed=speed)
    status = app.run(mouse=app.first.mouse)
    return status if status is not None else 0
