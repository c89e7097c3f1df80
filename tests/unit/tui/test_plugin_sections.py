"""The sections of plugins' panes in the sidebar."""

from pathlib import Path

from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.plugin import PluginLoaded
from tui_agent.tui.panes.plugin_feed import PaneFeed, PaneState
from tui_agent.tui.panes.plugin_sections import PluginSections
from tui_agent.tui.theme.first_frame import named_theme
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import Looks, Palette
from tui_agent.tui.widgets.rows import Pen

LOOKS = Looks(Palette(named_theme("night", {})), UNICODE, motion=False)


def test_a_long_title_of_the_last_section_hides_no_row() -> None:
    feed = PaneFeed(lambda: Path(), dict, lambda work, name: work.close())
    loaded = PluginLoaded(plugin="p", version="1", source="user", contributions=())
    names = ("first", "second", "coverage_of_all_changed_files")
    feed.panes = {name: PaneState(loaded, blocks=(TextBlock(text="x"),)) for name in names}
    feed.unfolded = {"first"}
    sections = PluginSections(
        feed,
        lambda blocks, looks, width, ground: [
            Pen(looks, ground).line(width, [("content", Pen(looks, ground).style())])
        ],
        lambda: None,
        lambda name: f"/pane {name}",
    )
    rows = [strip.text.strip() for strip in sections.rows(LOOKS, 40, 10)]
    assert len(rows) == 4 and rows[1] == "content" and "Coverage" in rows[3]
