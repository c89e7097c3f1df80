"""The transcript widget, with its keys: cursor and scrolling. The module `mouse` handles the mouse."""

from collections.abc import Sequence

from textual import events

from tui_agent.tui.keys_and_commands import Scope
from tui_agent.tui.transcript.mouse import TranscriptMouse
from tui_agent.tui.widgets.keymap import KeyActions


class TranscriptWidget(KeyActions, TranscriptMouse):
    """The transcript widget; posts EntryAction, LinkClicked, BlobWanted and TextSelected."""

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope `chat`. If a search is open, the scope `find` comes first."""
        return ("find", "chat") if self.finder.current is not None else ("chat",)

    def on_key(self, event: events.Key) -> None:
        if self.run_key(event.key) or self.pass_key(event):
            event.stop()
            event.prevent_default()

    def pass_key(self, event: events.Key) -> bool:
        """Handle a key without an action in the transcript. Return False if the key has no effect.

        Subclasses override this method.
        """
        return False

    def action_cursor(self, direction: int) -> None:
        """Move the cursor to the next (`direction` 1) or previous (-1) entry that has rows.

        A cursor outside the view moves to the first or last visible entry.
        """
        layout = self.viewport.layout
        index = layout.index_of(self.cursor) if self.cursor else None
        if index is None or not self.is_cursor_visible:
            slots = [line.slot for line in self._frame if line.row is not None]
            if slots:
                self.move_cursor(slots[-1] if direction < 0 else slots[0])
            return
        index += direction
        while 0 <= index < len(layout) and not layout.slots[index].count:
            index += direction
        if 0 <= index < len(layout):
            self.viewport.show(index)
            self.move_cursor(index)

    @property
    def is_cursor_visible(self) -> bool:
        """True if a row of the cursor's entry is visible."""
        index = self.viewport.layout.index_of(self.cursor) if self.cursor else None
        return any(line.row is not None and line.slot == index for line in self._frame)

    def action_page(self, pages: int) -> None:
        self.scroll_rows(pages * max(self.viewport.height - 2, 1))

    def go_to_end(self, direction: int) -> None:
        """Move the cursor to the first (`direction` -1) or the last entry (1), and scroll to this entry.

        At the end of the transcript, new rows stay in view.
        """
        self.viewport.scroll_to(0 if direction < 0 else self.viewport.layout.total)
        self.move_cursor(0 if direction < 0 else len(self.viewport.layout) - 1)

    def action_toggle_entry(self) -> None:
        if self.cursor:
            self.toggle_fold(self.cursor)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the cursor only while the transcript has the focus."""
        super().watch_has_focus(has_focus)
        self.activate(self.cursor if has_focus else "")
