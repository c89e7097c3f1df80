"""The app that shows the history of a simulation (`tui-agent view`): who said and did what, and who saw it.

Invariant: the app starts no engine and writes nothing.
"""

from collections.abc import Mapping, Sequence

from textual.strip import Strip

from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.simulation_fold import OVERSEERS
from tui_agent.protocol.display_blocks import DisplayBlock, MarkdownBlock, TerminalBlock, TextBlock
from tui_agent.protocol.events.simulation import SimulationMessage, SimulationRole, Viewer
from tui_agent.protocol.stored_text import text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.main_screen import run_in_page
from tui_agent.tui.screens.list_page import LinesScreen
from tui_agent.tui.screens.single_screen import SingleScreenApp
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.blocks import draw_blocks
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import part

VIEWERS: tuple[Viewer | None, ...] = (None, "user", "agent", "orchestrator", "system")
MAX_ROWS = 12
"""Maximum number of rows for a message's thoughts, and for each of its calls."""
_ROLES: dict[SimulationRole, Role] = {"user": "accent", "agent": "success", "environment": "t2"}


class HistoryScreen(LinesScreen):
    """The messages of a simulation: all of them, or those of the chosen viewer."""

    scope = "history"

    def __init__(self, app: "HistoryApp", title: str, messages: Sequence[SimulationMessage]) -> None:
        super().__init__("History")
        self._app, self._title, self._messages = app, title, messages
        self._viewer: Viewer | None = None
        self._starts: list[int] = []
        """Row index at which each shown message begins."""

    def on_mount(self) -> None:
        self.call_after_refresh(self.show)  # The width is known only after the first layout.

    def on_resize(self) -> None:
        small = self.app.size.height < 24
        self.head.styles.height = 2 if small else 3
        self.footer.styles.margin = 0 if small else (1, 0, 0, 0)
        self.call_after_refresh(self.show)

    def show(self) -> None:
        """Draw the messages that the chosen viewer sees."""
        width = self.scrolled.size.width
        if not width:
            return
        viewer = self._viewer
        shown = [message for message in self._messages if viewer is None or viewer in message.visible_to]
        seen_by = f", seen by {viewer}" if viewer is not None else ""
        self.head.show_title(self._title, f"{format_count(len(shown), 'message')}{seen_by}")
        rows: list[Strip] = []
        self._starts = []
        for message in shown:
            self._starts.append(len(rows))
            rows += message_rows(message, viewer, self.looks, width - 1)
        if not rows:
            facts = Facts(self.looks, width - 1, ground="s0", indent=2)
            facts.text("No messages.", "t3")
            rows = facts.rows
        self.scrolled.set_rows(rows, self.head.style())

    def leave(self) -> None:
        """Close the app."""
        self._app.action_leave()

    # -- actions ---------------------------------------------------------------------------------------------------

    def choose_viewer(self, direction: int = 1) -> None:
        """Show the messages of the next viewer, or of the previous viewer if `direction` is -1."""
        self._viewer = VIEWERS[(VIEWERS.index(self._viewer) + direction) % len(VIEWERS)]
        self.show()
        self.scroll_to_end(-1)

    def move_message(self, direction: int) -> None:
        """Scroll to the previous or next message."""
        top = self.scrolled.scroll_offset.y
        if direction > 0:
            target = next((start for start in self._starts if start > top), None)
        else:
            target = next((start for start in reversed(self._starts) if start < top), None)
        if target is not None:
            self.scrolled.scroll_to(y=target, animate=False, force=True)


def message_rows(message: SimulationMessage, viewer: Viewer | None, looks: Looks, width: int) -> list[Strip]:
    """Return the rows of one message as `viewer` sees it."""
    facts = Facts(looks, width, ground="s0", indent=2)
    others = [name for name in message.visible_to if name not in (message.role, *OVERSEERS)]
    facts.line(
        [part(message.role, facts.style(_ROLES.get(message.role, "warning"), bold=True))],
        [part(f"seen by {', '.join(others)}" if others else "private", facts.style("t3"))],
    )
    reasoning, action, response = map(text_preview, (message.reasoning, message.action, message.response))
    # Only its author and the overseers see a message's thoughts and calls.
    if viewer in (None, message.role, *OVERSEERS):
        prompt = "$" if message.role == "user" else looks.symbols.bullet
        if reasoning.strip():
            facts.text(reasoning, "t3", max_rows=MAX_ROWS)
        for line in action.splitlines():
            facts.text(f"{prompt} {line}", "t2", max_rows=MAX_ROWS)
    if response.strip():
        facts.rows += draw_blocks([_block(message.role, response.strip("\n"))], looks, width, "s0")
    facts.gap()
    return facts.rows


def _block(role: SimulationRole, text: str) -> DisplayBlock:
    if role == "agent":
        return MarkdownBlock(text=text)
    return TerminalBlock(text=text) if role == "environment" else TextBlock(text=text)


class HistoryApp(SingleScreenApp, inherit_bindings=False):
    """App that shows one history.

    `title`: the history's file.
    """

    CSS_PATH = "../styles/app.tcss"

    def __init__(
        self,
        options: SessionOptions,
        title: str,
        messages: Sequence[SimulationMessage],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(options, environ)
        self.content = self.history = HistoryScreen(self, title, messages)


def run_history(
    options: SessionOptions, title: str, messages: Sequence[SimulationMessage], *, browser: bool
) -> int:
    """Show the history in a terminal or a browser page until the user quits; return the exit status."""
    app = HistoryApp(options, title, messages)
    return run_in_page(app) if browser else app.run(mouse=app.first.mouse) or 0
