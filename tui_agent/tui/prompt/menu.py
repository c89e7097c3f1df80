"""The completion menu: up to 8 rows directly above the prompt, aligned with the prompt's text.

Invariant: the menu only shows candidates and tracks the selected one.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from tui_agent.tui.prompt.completion import Candidate
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line, split_cells, width
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, Pen, cut_parts
from tui_agent.tui.widgets.rows import cells as cells_of

MAX_ROWS = 8
Hits: TypeAlias = tuple[int, ...]
"""The matched positions in a label."""


class Menu(LinePane):
    """The completion menu: a row for each candidate."""

    surface = "s3"

    class Picked(Message):
        """Posted when the user clicks a row of the menu."""

    def on_mount(self) -> None:
        self.candidates: Sequence[Candidate] = ()
        self.chosen = 0
        self._top = 0

    def offer(self, candidates: Sequence[Candidate], *, choose: bool = True) -> None:
        """Show these candidates, and select the first one if `choose` is True."""
        if candidates != self.candidates:
            self.candidates = candidates
            self.chosen, self._top = 0 if choose else -1, 0
        self.show()

    def move(self, count: int) -> None:
        """Move the selection by this number of rows, wrapping around at the ends."""
        if self.candidates:
            # Without a selection (-1), move down to the first row, or up to the last.
            self.chosen = (max(self.chosen, 0 if count < 0 else -1) + count) % len(self.candidates)
            self._top = min(max(self._top, self.chosen - self.rows + 1), self.chosen)
            self.show()

    def reselect(self, candidate: Candidate | None) -> None:
        """Select this candidate again if the menu still contains it."""
        inserts = [row.insert for row in self.candidates]
        if candidate is not None and candidate.insert in inserts:
            self.move(inserts.index(candidate.insert) - self.chosen)

    @property
    def runs(self) -> bool:
        """True if Enter sends the text of the first row; False if Enter only inserts the text."""
        return any(candidate.runs for candidate in self.candidates[:1])

    @property
    def rows(self) -> int:
        """The number of rows of the menu."""
        return min(MAX_ROWS, len(self.candidates))

    @property
    def candidate(self) -> Candidate | None:
        """The selected candidate; None if none is selected."""
        return self.candidates[self.chosen] if 0 <= self.chosen < len(self.candidates) else None

    def is_mention_complete(self, editor: TextArea) -> bool:
        """Return True if the text before the cursor ends with the selected file, folder or symbol.

        Enter then sends the text. A file or symbol must also be at the end of the text: elsewhere, Enter only moves
        the cursor past its name.
        """
        insert = "" if self.candidate is None else self.candidate.insert
        if not insert.startswith("@") or not (insert.endswith("/") or editor.cursor_at_end_of_text):
            return False
        before = editor.get_text_range((0, 0), editor.cursor_location)
        return before.endswith(insert.removesuffix(" "))

    def draw(self, width: int, height: int) -> list[Strip]:
        shown = self.candidates[self._top : self._top + height]
        columns = self._columns(shown, width)
        rows = enumerate(shown, start=self._top)
        return [self._row(index, candidate, width, columns) for index, candidate in rows]

    def _columns(self, shown: Sequence[Candidate], cells: int) -> tuple[int, int]:
        """Return the widths of the columns for labels and hints, in cells, for a menu of width `cells`."""
        described = [candidate for candidate in shown if candidate.help or candidate.hint]
        names = max((width(candidate.label) for candidate in described), default=0)
        hints = max((width(candidate.hint) for candidate in described), default=0)
        if not any(candidate.help for candidate in described):
            return cells, 0
        return min(names + 1, cells // 2), min(hints + 2 if hints else 2, cells // 4)

    def _row(self, index: int, candidate: Candidate, cells: int, columns: tuple[int, int]) -> Strip:
        chosen = index == self.chosen
        pen = Pen(self.looks, "selection" if chosen else "s3")
        symbols = self.looks.symbols
        mark = pen.part(symbols.chosen, "accent") if chosen else pen.part(symbols.bar, "border-strong")
        is_described = bool(candidate.help or candidate.hint)
        room = columns[0] if is_described else cells - 3
        label, hits = clean_line(candidate.label), candidate.hits
        if candidate.insert.startswith("@"):  # the ends of long paths differ, not their beginnings
            label, hits = _cut_middle(label, hits, room, symbols.ellipsis)
        marked = _mark_hits(label, candidate._replace(hits=hits), pen, chosen)
        left = [mark, pen.part(" "), *cut_parts(marked, room, symbols.ellipsis)]
        if is_described:
            left.append(pen.part(" " * max(1, columns[0] - min(width(label), columns[0]))))
            hint = cut_parts([pen.part(clean_line(candidate.hint), "t3")], columns[1] - 1, symbols.ellipsis)
            left += [*hint, pen.part(" " * (columns[1] - cells_of(hint)))]
            left.append(pen.part(candidate.help, "t2"))
        return pen.line(cells, left)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        index = self._top + event.y
        if index < len(self.candidates):
            self.chosen = index
            self.post_message(self.Picked())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-1)


def _cut_middle(label: str, hits: Hits, room: int, ellipsis: str) -> tuple[str, Hits]:
    """Shorten a label to `room` cells by leaving out its middle, and return the hits at their new positions."""
    if width(label) <= room:
        return label, hits
    # Two thirds for the end: paths differ more in their ends.
    end_room, end = (room - width(ellipsis)) * 2 // 3, len(label)
    while end and width(label[end - 1 :]) <= end_room:
        end -= 1
    head = split_cells(label, room - width(ellipsis) - width(label[end:]))[0]
    moved = end - len(head) - len(ellipsis)
    shown = (hit if hit < len(head) else hit - moved for hit in hits if hit < len(head) or hit >= end)
    return f"{head}{ellipsis}{label[end:]}", tuple(shown)


def _mark_hits(label: str, candidate: Candidate, pen: Pen, chosen: bool) -> list[Part]:
    plain: Role = "t3" if candidate.dimmed else "t1"
    hit: Role = "t3" if candidate.dimmed else "accent"
    parts: list[Part] = []
    for is_hit, run in groupby(enumerate(label), lambda letter: letter[0] in candidate.hits):
        text = "".join(letter for _, letter in run)
        parts.append(pen.part(text, hit if is_hit else plain, bold=chosen, underline=is_hit))
    return parts
