"""The replay screen, with the keys and clicks that move through the session.

Invariant: a key press applies only a limited number of events, even in a very long log.
"""

from collections.abc import Sequence

from textual import on

from tui_agent.tui.keys_and_commands import Scope
from tui_agent.tui.screens.replay.replay_search import ReplaySearch
from tui_agent.tui.screens.replay.timeline_pane import LinePlace
from tui_agent.tui.widgets.lists import Intent


class ReplayScreen(ReplaySearch):
    """The complete replay screen: panes, actions, search, and the keys and clicks that move through the session."""

    def key_scopes(self) -> Sequence[Scope]:
        return ("replay",) if self.field is None else ("field",)

    def type_key(self, key: str, character: str | None) -> bool:
        is_typed = self.field is not None and self.field.type_key(key, character)
        self.show_head()
        return is_typed

    def go_to_tenth(self, tenth: int) -> None:
        self.move(lambda head: head.move_to_tenth(tenth))

    def scroll_chat(self, rows: int) -> None:
        self.chat.viewport.scroll_to(self.chat.viewport.y + rows)
        self.chat.repaint()

    def scroll_page(self, direction: int) -> None:
        self.chat.action_page(direction)

    @on(LinePlace)
    def _on_dragged(self, event: LinePlace) -> None:
        event.stop()
        self.move_to(event.place)

    @on(Intent)
    def _on_intent(self, event: Intent) -> None:
        """Handle a click on a pane."""
        event.stop()
        name, _, index = f"{event.name} {event.argument}".partition(" ")
        if name == "span" and self.views is not None and index.isdigit():
            seq = self.views.trace.view().spans[int(index)].first_seq
            self.move_to(self.moments.index_of(seq))
        elif name == "help":
            self.open_help()
        elif name == "pane":
            self.show_pane(index)
        elif name in ("trace", "context"):
            self.toggle_panes()
        elif name in ("todo", "diff", "jobs"):
            self.show_sheet("files" if name == "diff" else name)
