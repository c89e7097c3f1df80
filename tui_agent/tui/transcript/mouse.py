"""The mouse in the transcript: wheel, clicks, selection by dragging and by a double click.

Invariant: for actions, links and selected texts, only messages are posted.
"""

from typing import Final

from textual import events
from textual.timer import Timer

from tui_agent.folds.transcript.entries import AnswerEntry, UserEntry
from tui_agent.tui.transcript.blocks import part_move
from tui_agent.tui.transcript.operations import TranscriptOperations
from tui_agent.tui.transcript.selected_text import Point, Selection, char_at, word_at
from tui_agent.tui.transcript.transcript_messages import EntryAction, LinkClicked, TextSelected
from tui_agent.tui.transcript.viewport import ScreenLine

WHEEL_ROWS: Final = 3
DRAG_S: Final = 0.05
"""Time between two scrolled rows while the pointer is dragged outside the view, in seconds."""


class TranscriptMouse(TranscriptOperations):
    """Handlers of mouse events for the transcript widget."""

    _press: Point | None = None
    _dragged = False
    _pointer = (0, 0)
    _scroller: Timer | None = None

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -WHEEL_ROWS)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1 or event.x >= self.scrollable_content_region.width:
            return
        self._press = self._point(event.x, event.y)
        self._dragged = False
        if self.selection is not None:
            self.clear_selection()
        if self._press is not None:
            self.capture_mouse()  # so that a selection can be extended outside the widget

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Extend the selection while the button is pressed; otherwise show the actions of a message."""
        if self._press is None:
            line = self._line(event.y)
            self._hover_on(self.viewport.layout.slots[line.slot].id if line else "")
            return
        self._pointer = (event.x, event.y)
        outside = event.y < 0 or event.y >= self.viewport.height
        if outside and self._scroller is None:
            self._scroller = self.set_interval(DRAG_S, self._drag)
        elif not outside:
            self._stop_scroller()
        self._drag()

    def _drag(self) -> None:
        """Extend the selection to the pointer; scroll if the pointer is above or below the view."""
        x, y = self._pointer
        if self._press is None:
            return
        if y < 0 or y >= self.viewport.height:
            self.scroll_rows(-1 if y < 0 else 1)
        point = self._point(x, min(max(y, 0), len(self._frame) - 1))
        if point is not None and point != self._press:
            self._dragged = True
            self.selection = Selection.from_points(self._press, point)
            self.repaint()

    def _stop_scroller(self) -> None:
        if self._scroller is not None:
            self._scroller.stop()
            self._scroller = None

    def on_mouse_up(self, event: events.MouseUp) -> None:
        pressed, self._press = self._press, None
        if pressed is None:
            return
        self._stop_scroller()
        self.release_mouse()
        if self._dragged:
            self._post_selection()

    def _post_selection(self) -> None:
        if text := self.selected_text():
            self.post_message(TextSelected(text))

    def on_click(self, event: events.Click) -> None:
        """Run the action under the mouse; on a double click, select the word."""
        line = self._line(event.y)
        is_outside = event.x >= self.scrollable_content_region.width
        if self._dragged or is_outside or line is None or line.row is None:
            return
        if event.chain == 2:
            low, high = word_at(line.row, char_at(line.row, event.x))
            start = Point(line.slot, line.number, low)
            self.selection = Selection(start, start._replace(char=high))
            self.repaint()
            self._post_selection()
        else:
            self._click(line, line.row.act_at(event.x))

    def on_leave(self, event: events.Leave) -> None:
        self._hover_on("")

    def _click(self, line: ScreenLine, act: str) -> None:
        entry = self.viewport.layout.entry(line.slot)
        self.move_cursor(line.slot)
        if act.startswith("link:"):
            self.post_message(LinkClicked(act.removeprefix("link:")))
        elif line.row is not None and (move := part_move(line.row)) is not None:
            self.viewport.show_part(line.slot, *move)
            self.repaint()
        elif act and act != "fold":
            self.post_message(EntryAction(entry.id, act))
        elif act or (line.number == 0 and not isinstance(entry, AnswerEntry | UserEntry)):
            self.toggle_fold(entry.id)

    def _wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        event.prevent_default()
        self.scroll_rows(rows)

    def _line(self, y: int) -> ScreenLine | None:
        return self._frame[y] if 0 <= y < len(self._frame) else None

    def _point(self, x: int, y: int) -> Point | None:
        line = self._line(y)
        if line is None:
            return None
        return Point(line.slot, line.number, 0 if line.row is None else char_at(line.row, x))

    def _hover_on(self, entry_id: str) -> None:
        if entry_id != self._hover:
            self._hover = entry_id
            self.activate(self.cursor if self.has_focus else "")
