"""The app that only replays a recorded session.

Invariant: the app starts no engine and writes nothing.
"""

from collections.abc import Mapping

from tui_agent.config.session_options import SessionOptions
from tui_agent.tui.cli_client import Ask, CommandLine
from tui_agent.tui.screens.replay.replay_protocols import ReplayHost, ReplaySource
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.screens.single_screen import SingleScreenApp


class ReplayApp(SingleScreenApp, inherit_bindings=False):
    """App that replays a session.

    - `to_seq`: the event at which the replay starts; None for the last event
    - `speed`: the speed of playing
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
            opens="tui-agent --session",
            leave=self.action_leave,
        )
        self.content = self.replay = ReplayScreen(source, host, self.looks, to_seq=to_seq, speed=speed)

    def reshape(self, width: int = 0, height: int = 0) -> None:
        super().reshape(width, height)
        for pane in self.replay.query("LinePane"):
            pane.refresh()


def run_replay(options: SessionOptions, source: ReplaySource, *, to_seq: int | None, speed: float) -> int:
    """Show the replay until the user quits; return the exit status."""
    app = ReplayApp(options, source, to_seq=to_seq, speed=speed)
    status = app.run(mouse=app.first.mouse)
    return status if status is not None else 0
