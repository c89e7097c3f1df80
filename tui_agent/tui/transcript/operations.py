"""Operations that the app calls on the transcript: go to an entry, fold, find, copy.

Invariant: nothing here reads keys or the mouse.
"""

from contextlib import nullcontext

from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    NoticeEntry,
    QuestionEntry,
    ToolEntry,
    TranscriptView,
    UserEntry,
)
from tui_agent.tui.time_slice import Slices
from tui_agent.tui.transcript.canvas import TranscriptCanvas
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.selected_text import selected_source
from tui_agent.tui.untrusted_text import clean


class TranscriptOperations(TranscriptCanvas):
    """The transcript widget with the operations that the app calls; subclasses add mouse and keys."""

    _hover = ""

    def replace_layout(self, layout: Layout, view: TranscriptView) -> None:
        """Use a layout that has older entries before the current entries."""
        self.selection = None
        self._unfinished = set()
        self._entries = view.entries
        self._changed = set(range(len(layout) - len(self.viewport.layout), len(view.entries)))
        self.viewport.replace_layout(layout)
        self._apply_view()

    def scroll_to_entry(self, entry_id: str) -> bool:
        """Scroll an entry to the top and put the cursor on it; return False if no entry has this id."""
        index = self.viewport.layout.index_of(entry_id)
        if index is None:
            return False
        self.viewport.show_at_top(index)
        self.move_cursor(index)
        return True

    def show_entry(self, entry_id: str) -> None:
        """Scroll an entry into view, moving as little as possible."""
        layout = self.viewport.layout
        if (index := layout.index_of(entry_id)) is not None:
            # The first call draws the entry, so that the number of its rows is known. Then show the last row, and the
            # first row again, which matters more if the entry is taller than the view.
            self.viewport.show(index)
            self.viewport.show(index, layout.slots[index].count - 1)
            self.viewport.show(index)
            self.repaint()

    def scroll_rows(self, rows: int) -> None:
        """Scroll down by `rows`, or up if `rows` is negative."""
        self.viewport.scroll_rows(rows)
        self.repaint()

    def scroll_to_end(self) -> None:
        """Scroll to the end of the transcript, and follow new rows."""
        self.viewport.scroll_to(self.viewport.layout.total)
        self.repaint()

    def toggle_fold(self, entry_id: str) -> bool:
        """Fold or unfold an entry; return False if it cannot be folded."""
        layout = self.viewport.layout
        index = layout.index_of(entry_id)
        if index is None:
            return False
        with self.viewport.keep_slot_position(index):
            is_toggled = layout.auto_fold.toggle(index)
        self.repaint()
        return is_toggled

    def can_toggle(self, entry_id: str) -> bool:
        """Return True if `toggle_fold` changes the rows of an entry."""
        index = self.viewport.layout.index_of(entry_id)
        return index is not None and self.viewport.layout.auto_fold.can_toggle(index)

    def has_more(self, entry_id: str) -> bool:
        """Return True if rows of an entry are hidden; False if there is no such entry."""
        index = self.viewport.layout.index_of(entry_id)
        return index is not None and self.viewport.layout.auto_fold.has_more(index)

    def newest_block(self) -> str:
        """Return the id of the tool call, notice or question to fold or unfold by key; empty if there is none.

        The newest entry that has hidden rows, or that the user opened, takes precedence over other entries.
        """
        layout, newest = self.viewport.layout, ""
        for index in range(len(layout) - 1, -1, -1):
            slot, entry = layout.slots[index], layout.entry(index)
            if newest and isinstance(entry, UserEntry) and entry.state == "sent":
                break
            if slot.count == 0 and slot.group < 0:
                continue
            if isinstance(entry, ToolEntry | NoticeEntry | QuestionEntry):
                with self.viewport.keep_position() if slot.rows is None else nullcontext():
                    layout.draw_slot(index)
                    can_toggle = layout.auto_fold.can_toggle(index)
                    if (slot.opened is True and can_toggle) or layout.auto_fold.has_more(index):
                        return slot.id
                    newest = newest or (slot.id if can_toggle else "")
        return newest

    async def find(self, text: str) -> int:
        """Highlight a text, go to its first match, and return the number of matches.

        Return 0 if a newer search has begun meanwhile.
        """
        slices, layout = Slices(), self.viewport.layout
        for _ in self.finder.search_entries(text, layout, self._loaded_text):
            if await slices.turn() and (self.finder.text != text or self.viewport.layout is not layout):
                return 0
        self.find_next(1)
        return self.finder.count

    def find_next(self, direction: int) -> bool:
        """Go to the next (`direction` 1) or previous (-1) match and unfold its entry; return False if nothing
        matches.
        """
        layout = self.viewport.layout
        start = self._frame[0].slot if self._frame else 0
        with self.viewport.keep_position():
            hit = self.finder.move(layout, start, direction)
        if hit is not None:
            self.viewport.show(hit.slot, hit.row)
            self.move_cursor(hit.slot)
        self.repaint()
        return hit is not None

    def close_find(self) -> bool:
        """End the search; return False if no search was open."""
        was_open = bool(self.finder.text)
        self.finder.clear()
        self.repaint()
        return was_open

    def selected_text(self) -> str:
        """Return the source text of the selection, e.g. Markdown; empty without a selection."""
        if self.selection is None:
            return ""
        start, end = self.selection
        layout = self.viewport.layout
        parts: list[str] = []
        for index in range(start.slot, min(end.slot + 1, len(layout))):
            rows = layout.rows(index)
            bounds = [self.selection.on_row(index, n, len(row.text())) for n, row in enumerate(rows)]
            entry = layout.entry(index)
            source = None
            if isinstance(entry, AnswerEntry | UserEntry):
                source = clean(self._read(entry.text), tab=0)
            parts.append(selected_source(rows, bounds, source))
        return "\n".join(part for part in parts if part.strip())

    def clear_selection(self) -> None:
        self.selection = None
        self.repaint()

    def activate(self, entry_id: str) -> None:
        """Show the actions, such as `fork`, in this entry and in the entry under the mouse. Hide all others."""
        layout = self.viewport.layout
        indexes = (layout.index_of(name) for name in (entry_id, self._hover) if name)
        active = {index for index in indexes if index is not None}

        with self.viewport.keep_position():
            for index in active.union(line.slot for line in self._frame):
                layout.set_active(index, index in active)
        self.repaint()

    def move_cursor(self, index: int) -> None:
        """Move the cursor to the entry with this index."""
        layout = self.viewport.layout
        if 0 <= index < len(layout):
            self.cursor = layout.slots[index].id
        self.activate(self.cursor if self.has_focus else "")
