"""A plugin's pane on the whole screen: its title and its rows.

Invariant: the page shows the newest rows from the plugin, and never waits for the plugin.
"""

from textual.app import ComposeResult

from tui_agent.tui.app_context import AppContext
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.plugin_feed import PaneFeed
from tui_agent.tui.panes.plugin_sections import pane_rows, pane_title
from tui_agent.tui.screens.list_page import LinesScreen, fill_header
from tui_agent.tui.transcript.blocks import draw_blocks


class PluginPaneScreen(LinesScreen):
    """The page of the plugin's pane `name`, with the content from `feed`.

    `context`: None for a page without a header.
    """

    scope = "pane"

    def __init__(self, feed: PaneFeed, name: str, context: AppContext | None = None) -> None:
        super().__init__(pane_title(name))
        self._feed, self.pane_name = feed, name
        self._session = context
        self.header = Header()

    def compose(self) -> ComposeResult:
        yield self.header
        yield from super().compose()

    def on_mount(self) -> None:
        self._feed.changed.append(self.show)
        self._feed.open_page(self.pane_name)
        self.show()

    def on_unmount(self) -> None:
        self._feed.changed.remove(self.show)
        self._feed.open_page("")

    def on_resize(self) -> None:
        self.header.display = self._session is not None and self.app.size.height >= 10
        self.show()

    def show(self) -> None:
        """Show the pane's newest rows, and the name of the plugin."""
        state = self._feed.panes.get(self.pane_name)
        plugin = state.loaded.plugin if state is not None else "was removed"
        self.head.show_title(pane_title(self.pane_name), f"plugin {plugin}")
        if self._session is not None:
            fill_header(self.header, self._session)
        width = self.scrolled.size.width
        if state is not None and width:
            rows = pane_rows(state, draw_blocks, self.looks, width - 1, "s0")
            self.scrolled.set_rows(rows, self.head.style())

    # -- actions ---------------------------------------------------------------------------------------------------

    def toggle_side(self) -> None:
        """Open or close the pane in the side panes."""
        self._feed.toggle(self.pane_name)
        opened = self.pane_name in self._feed.unfolded
        self.say(
            "The side panes now show this pane in full."
            if opened
            else "The side panes now show only this pane's title."
        )
