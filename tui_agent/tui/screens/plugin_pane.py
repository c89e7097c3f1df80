"""The page of one plugin's pane: its title, and its rows over the whole screen.

Invariant: shows the newest rows that the plugin has sent, and never waits for the plugin.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult

from tui_agent.tui.actions import Scope
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.notice import Notice
from tui_agent.tui.panes.plugin_feed import PaneFeed
from tui_agent.tui.panes.plugin_sections import pane_rows, pane_title
from tui_agent.tui.screens.page import LinesScreen, PageHead
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.transcript.block_rows import draw_blocks
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.lists import Lines
from tui_agent.tui.widgets.rows import part


class PluginPaneScreen(LinesScreen):
    """The page of the pane `name` of `feed`. `show_session` fills the header; if it is None, the page has no header.

    The registry lists its keys under the scopes `pane` and `viewer`.
    """

    DEFAULT_CSS = """
    PluginPaneScreen { background: $s0; }
    PluginPaneScreen PageHead { height: 3; }
    PluginPaneScreen Lines { height: 1fr; margin: 0 0 0 2; overflow-x: hidden; scrollbar-size: 1 1; background: $s0; }
    PluginPaneScreen #page-notice { display: none; }
    """
    key_methods = {
        "view_scroll": "scroll_rows",
        "view_line": ("scroll_rows", 1),
        "view_page": "scroll_screenful",
        "view_ends": "scroll_to_end",
        "view_copy": "copy",
        "view_close": "leave",
        "pane_side": "toggle_side",
        "sheet_page": "scroll_page",
        "help": "open_help",
    }
    scope: ClassVar[Scope] = "pane"

    def __init__(
        self,
        looks: Callable[[], Looks],
        feed: PaneFeed,
        name: str,
        show_session: "Callable[[PluginPaneScreen], object] | None" = None,
    ) -> None:
        super().__init__()
        self.looks_of, self._feed, self.pane_name = looks, feed, name
        self._show_session = show_session
        self.header, self.footer = Header(looks), Footer(looks)
        self.head = PageHead(looks)
        self.lines = Lines(looks)
        self.notice = Notice(looks, id="page-notice")

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.head
        yield self.lines
        yield self.notice
        yield self.footer

    def key_scopes(self) -> Sequence[Scope]:
        return self.scope, "viewer", "sheet"

    def on_mount(self) -> None:
        self._feed.changed.append(self.show)
        self._feed.open_page(self.pane_name)
        self.footer.set_keys([*self.key_map.hints("viewer"), *self.key_map.hints(self.scope)])
        self.show()

    def on_unmount(self) -> None:
        self._feed.changed.remove(self.show)
        self._feed.open_page("")

    def on_resize(self) -> None:
        self.header.display = self._show_session is not None and self.app.size.height >= 10
        self.show()

    def show(self) -> None:
        """Show the pane's newest rows, and the name of the plugin."""
        state = self._feed.panes.get(self.pane_name)
        plugin = state.loaded.plugin if state is not None else "was removed"
        pen = self.head.pen
        self.head.title = [pen.part(pane_title(self.pane_name), bold=True)]
        self.head.right = [part(f"plugin {plugin}", pen.style("t3"))]
        self.head.columns = lambda width: pen.line(width, [])
        self.head.show()
        if self._show_session is not None:
            self._show_session(self)
        width = self.lines.size.width
        if state is not None and width:
            rows = pane_rows(state, draw_blocks, self.looks_of(), width - 1, "s0")
            self.lines.set_rows(rows, pen.style())

    def open_help(self) -> None:
        """Show the keys of the page."""
        actions = [action for action in self.key_map.actions if action.scope in ("viewer", self.scope)]
        self.show_keys_of(pane_title(self.pane_name), actions)

    # -- actions ---------------------------------------------------------------------------------------------------

    def toggle_side(self) -> None:
        """Open or close the pane in the side panes."""
        self._feed.toggle(self.pane_name)
        opened = self.pane_name in self._feed.unfolded
        self.say("Opened in the side panes." if opened else "Closed in the side panes.")

    def copy(self) -> None:
        """Copy the text of the pane."""
        self.app.copy_text("\n".join(strip.text.rstrip() for strip in self.lines.strips))  # type: ignore[attr-defined]
