"""What the app can ask of the transcript: go to, fold, find, copy.

Invariant: nothing here reads keys or the mouse.
"""

from tui_agent.folds.transcript.entries import AnswerEntry, TranscriptView, UserEntry
from tui_agent.tui.text import clean
from tui_agent.tui.time_slice import Slices
from tui_agent.tui.transcript.canvas import TranscriptCanvas
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.messages import CursorMoved
from tui_agent.tui.transcript.selection import selected_source


class TranscriptCommands(TranscriptCanvas):
    """The transcript as the app drives it."""

    _hover = ""

    def take_layout(self, layout: Layout, view: TranscriptView) -> None:
        """Go on with a layout that was grown beside the one that is shown, of the same entries and more before them."""
        self.selection = None
        self._live, self._quick = set(), set()
        self._entries = view.entries
        self._changed = set(range(len(layout) - len(self.viewport.layout), len(view.entries)))
        self.viewport.take_layout(layout)
        self._take_in()

    def scroll_to_entry(self, entry_id: str) -> bool:
        """Put an entry at the top of the view and the cursor on it. False if there is none of this id."""
        index = self.viewport.layout.index_of(entry_id)
        if index is None:
            return False
        self.viewport.show_at_top(index)
        self.move_cursor(index)
        return True

    def scroll_to_end(self) -> None:
        """Go to the end and follow again."""
        self.viewport.scroll_to(self.viewport.layout.total)
        self.repaint()

    def toggle_fold(self, entry_id: str) -> bool:
        """Fold or open an entry. False if it cannot be."""
        layout = self.viewport.layout
        index = layout.index_of(entry_id)
        if index is None:
            return False
        done: list[bool] = []
        self.viewport.change_at(index, lambda: done.append(layout.ages.toggle(index)))
        self.repaint()
        return done[0]

    def find(self, text: str) -> int:
        """Mark a text and go to its first hit at or below the view; the number of entries that hold it."""
        self.finder.search(text, self.viewport.layout, self._known)
        return self._go_to_found()

    async def find_in_slices(self, text: str) -> int:
        """The same, while keys are answered; 0 too where another text is looked for in between."""
        slices, layout = Slices(), self.viewport.layout
        for _ in self.finder.searching(text, layout, self._known):
            if await slices.turn() and (self.finder.text != text or self.viewport.layout is not layout):
                return 0
        return self._go_to_found()

    def _go_to_found(self) -> int:
        count = len(self.finder.entries)
        if count:
            self.find_next(forward=True)
        else:
            self.repaint()
        return count

    def find_next(self, *, forward: bool = True) -> bool:
        """Go to the next or the previous hit, opening what is folded over it."""
        layout = self.viewport.layout
        start = self._frame[0].slot if self._frame else 0
        found: list[tuple[int, int] | None] = []
        self.viewport.change(lambda: found.append(self.finder.following(layout, forward, start)))
        hit = found[0]
        if hit is not None:
            self.viewport.show(*hit)
            self.move_cursor(hit[0])
        self.repaint()
        return hit is not None

    def selected_text(self) -> str:
        """The source text of the selection, empty without one."""
        if self.selection is None:
            return ""
        start, end = self.selection
        layout = self.viewport.layout
        parts: list[str] = []
        for index in range(start.slot, min(end.slot + 1, len(layout))):
            rows = layout.rows(index)
            bounds = [self.selection.on_row(index, n, len(row.text())) for n, row in enumerate(rows)]
            entry = layout.entry(index)
            source = (
                clean(self._read(entry.text), tab=0) if isinstance(entry, AnswerEntry | UserEntry) else None
            )
            part = selected_source(rows, bounds, source)
            if part.strip():
                parts.append(part)
        return "\n".join(parts)

    def clear_selection(self) -> None:
        """Select nothing."""
        self.selection = None
        self.repaint()

    def activate(self, entry_id: str) -> None:
        """Show the actions of the entries under cursor and mouse."""
        layout = self.viewport.layout
        wanted = {layout.index_of(one) for one in (entry_id, self._hover) if one}

        def mark() -> None:
            for index in {line.slot for line in self._frame} | {
                index for index in wanted if index is not None
            }:
                layout.set_active(index, index in wanted)

        self.viewport.change(mark)
        self.repaint()

    def move_cursor(self, index: int) -> None:
        """Put the cursor on a slot."""
        layout = self.viewport.layout
        if 0 <= index < len(layout) and self.cursor != layout.slots[index].id:
            self.cursor = layout.slots[index].id
            self.post_message(CursorMoved(self.cursor))
        self.activate(self.cursor if self.has_focus else "")
