"""The base classes of sheets with keys, and of sheets with a selected row. A sheet covers the middle of the screen.

Invariant: a sheet shows the keys that work now, in the footer or in its last row.
"""

from abc import abstractmethod
from collections.abc import Sequence

from textual import events, on
from textual.strip import Strip

from tui_agent.folds.screen_folds import ViewName
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.footer import fit_hints, hint_parts, hints_width
from tui_agent.tui.widgets.lists import Intent
from tui_agent.tui.widgets.question_keys import ResultT
from tui_agent.tui.widgets.rows import Pen, intent_of
from tui_agent.tui.widgets.sheet_frame import SheetFrame

NO_ROW = -1
"""The row index if no row is selected."""


class Sheet(SheetFrame[ResultT]):
    """A sheet covers the middle of the screen and receives all keys.

    Subclasses return the rows of `head`, `body` and `foot` for a width.
    """

    opened_by = ""
    """The action whose key opens and closes this sheet; empty if there is none."""
    follows: frozenset[ViewName] = frozenset()
    """The session's views that the sheet shows. If one of these views changes, `follow` is called."""

    def follow(self) -> None:
        """Redraw the sheet, because one of the views in `follows` has changed."""
        self.redraw()

    @abstractmethod
    def key_hints(self) -> Sequence[KeyHint]:
        """Return the keys that work now, for the footer or the last row of the sheet."""

    def foot(self, width: int) -> list[Strip]:
        return self.keys_rows(width)

    def keys_rows(self, width: int) -> list[Strip]:
        """Return the row of keys at the end of a full sheet, which covers the footer; no rows for other sheets."""
        return [*self.spacer(width), self.keys_line(width)] if self.is_full else []

    def keys_line(self, width: int, right: str = "") -> Strip:
        """Draw a row such as `Enter choose Esc close`, with the text `right` on the right if there is room."""
        shown = fit_hints(self.current_hints(), width, least=1)
        fits = hints_width(shown) + len(right) + 1 <= width
        return self.line(width, hint_parts(shown, self.pen), [self.part(right, "t3")] if fits else [])

    def select_default(self) -> None:
        """Select the row that is selected when the sheet opens, if there is one."""

    def end_writing(self) -> None:
        """Use keys as answers again. If the user has sent the message, select the default row."""
        if self.covered_prompt is not None and self.covered_prompt.was_sent and not self.message:
            self.select_default()
        super().end_writing()

    def on_edit(self) -> None:
        """Redraw the sheet, because the text of the open field changed."""
        self.redraw()

    def type_key(self, key: str, character: str | None) -> bool:
        """Pass a key to the open field; return False if the field does not use the key."""
        field = self.open_field
        if field is None:
            return False
        before, is_used = field.text, field.type_key(key, character)
        if field.text != before:
            self.on_edit()
        elif is_used:
            self.redraw()  # the cursor moved
        return is_used

    def on_paste(self, event: events.Paste) -> None:
        field = self.open_field
        if self.covered_prompt is not None and (self.is_writing or field is None):
            event.stop()
            self.covered_prompt.paste(event.text)
        elif field is not None:
            event.stop()
            field.insert(event.text)
            self.on_edit()

    def close(self) -> None:
        self.dismiss(None)

    def run_intent(self, intent: str) -> None:
        """Run the intent (action name and argument) of the clicked part."""

    def on_click(self, event: events.Click) -> None:
        intent = intent_of(event.style)
        if intent and not self.in_grace_period:
            event.stop()
            self.run_intent(intent)

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        event.stop()
        if not self.in_grace_period:
            self.run_intent(f"{event.name} {event.argument}".strip())


class ChoiceSheet(Sheet[ResultT]):
    """A sheet with rows; the user selects a row by a key or a click. Subclasses define `count` and `use`."""

    chosen = 0
    """The index of the selected row; `NO_ROW` if none is selected."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of selectable rows."""

    @abstractmethod
    def use(self) -> object:
        """Use the selected row. In a question, for example, give the row's answer and close the sheet."""

    def choice_pen(self, number: int, ground: Role = "selection") -> Pen:
        """Return the `Pen` for the selectable row with this index (from 0)."""
        return self.choice_row(number == self.chosen, f"choose {number}", ground)

    def move(self, direction: int) -> None:
        """Select the row below (`direction` 1) or above (-1), wrapping around at the ends."""
        # Without a selected row, go to the first row or, upwards, to the last one.
        start = -1 if self.chosen == NO_ROW and direction > 0 else max(0, self.chosen)
        self._choose((start + direction) % max(1, self.count))

    def _choose(self, number: int) -> None:
        self.chosen, self.is_writing, self.is_picked = number, False, True
        self.redraw()

    @property
    def has_selection(self) -> bool:
        return self.chosen != NO_ROW

    def deselect(self) -> None:
        self.chosen = NO_ROW

    def pick(self, number: int) -> None:
        """Select the row with this number. If the user had already selected the row, run the row's action."""
        if self.chosen == number and self.is_picked:
            self.give_unless_typing(self.use)
        else:
            self._choose(number)

    def move_to_end(self, direction: int) -> bool:
        """Select the first row (`direction` -1) or the last row (1).

        A subclass can override this method, and return False if the key has another effect, e.g. in a text field.
        """
        self._choose(max(0, self.count - 1) if direction > 0 else 0)
        return True

    def run_intent(self, intent: str) -> None:
        number = intent.removeprefix("choose ")
        if number.isdigit() and int(number) < self.count:
            self._choose(int(number))
            self.use()
