"""A subset of vim for the prompt: insert and normal mode, motions, delete, change, yank, put.

Invariant: in insert mode the editor handles every key except Esc.
"""

import re
from typing import Literal

from textual.widgets import TextArea

_MOVES = {
    "h": "cursor_left",
    "left": "cursor_left",
    "j": "cursor_down",
    "down": "cursor_down",
    "k": "cursor_up",
    "up": "cursor_up",
    "l": "cursor_right",
    "right": "cursor_right",
    "space": "cursor_right",
    "e": "cursor_word_right",
    "b": "cursor_word_left",
    "0": "cursor_line_start",
    "circumflex_accent": "cursor_line_start",
    "dollar_sign": "cursor_line_end",
    "home": "cursor_line_start",
    "end": "cursor_line_end",
    "backspace": "cursor_left",
}


class Vim:
    """The state of the vim keys in one editor: the mode (insert or normal) and the pending operator."""

    def __init__(self) -> None:
        self.mode: Literal["insert", "normal"] = "insert"
        self._pending = ""
        """The operator, such as `d`, that waits for a motion; empty if there is none."""
        self._register = ""
        """The text that was deleted or yanked last."""
        self._whole_lines = False
        """True if the register holds a whole line, which is then put below the current line."""

    def escape(self) -> bool:
        """Leave insert mode, or cancel a pending operator such as `d`; return False if there is nothing to cancel."""
        if self.mode == "insert":
            self.mode = "normal"
            self._pending = ""
            return True
        had_operator, self._pending = bool(self._pending), ""
        return had_operator

    def key(self, area: TextArea, key: str) -> bool:
        """Handle a key in normal mode; return False in insert mode and for keys that vim does not use."""
        if self.mode == "insert":
            return False
        if key.startswith("upper_"):  # Some terminals report a letter with Shift in this form.
            key = key.removeprefix("upper_").upper()
        pending, self._pending = self._pending, ""
        if pending:
            self._operate(area, pending, key)
            return True
        if _move(area, key):
            return True
        return self._insert(area, key) or self._change(area, key)

    def _insert(self, area: TextArea, key: str) -> bool:
        row, column = area.cursor_location
        line = area.document.get_line(row)
        columns = {
            "i": column,
            "a": min(column + 1, len(line)),
            "I": len(line) - len(line.lstrip()),
            "A": len(line),
        }
        if key in columns:
            area.move_cursor((row, columns[key]))
        elif key == "o":
            area.insert("\n", (row, len(line)))
            area.move_cursor((row + 1, 0))
        elif key == "O":
            area.insert("\n", (row, 0))
            area.move_cursor((row, 0))
        else:
            return False
        self.mode = "insert"
        return True

    def _change(self, area: TextArea, key: str) -> bool:
        row, column = area.cursor_location
        line = area.document.get_line(row)
        match key:
            case "d" | "c" | "y" | "g":
                self._pending = key
            case "x" | "delete":
                self._delete_to_register(area, (row, column), (row, min(column + 1, len(line))))
            case "D" | "C":
                self._delete_to_register(area, (row, column), (row, len(line)))
                self.mode = "insert" if key == "C" else self.mode
            case "p":
                self._paste_register(area)
            case "u":
                area.undo()
            case "ctrl+r":
                area.redo()
            case "G":
                area.move_cursor(area.document.end)
            case _:
                return len(key) == 1  # A letter without a meaning is used up, because it must not be typed.
        return True

    def _operate(self, area: TextArea, operator: str, key: str) -> None:
        if operator == "g":
            if key == "g":
                area.move_cursor((0, 0))
            return
        row, column = area.cursor_location
        if key == operator:
            self._line(area, operator, row)
            return
        if _move(area, key):
            start, end = sorted(((row, column), area.cursor_location))
            if operator == "y":
                self._register, self._whole_lines = area.get_text_range(start, end), False
                area.move_cursor(start)
                return
            self._delete_to_register(area, start, end)
            if operator == "c":
                self.mode = "insert"

    def _line(self, area: TextArea, operator: str, row: int) -> None:
        line = area.document.get_line(row)
        self._register, self._whole_lines = line, True
        if operator == "c":
            area.delete((row, 0), (row, len(line)))
            self.mode = "insert"
        elif operator == "d":
            # The last line has no line break after it, so delete the one before it.
            last = row + 1 >= area.document.line_count
            start = (row - 1, len(area.document.get_line(row - 1))) if last and row else (row, 0)
            area.delete(start, (row, len(line)) if last else (row + 1, 0))

    def _delete_to_register(self, area: TextArea, start: tuple[int, int], end: tuple[int, int]) -> None:
        self._register, self._whole_lines = area.get_text_range(start, end), False
        area.delete(start, end)

    def _paste_register(self, area: TextArea) -> None:
        if not self._register:
            return
        row, column = area.cursor_location
        line = area.document.get_line(row)
        if self._whole_lines:
            area.insert("\n" + self._register, (row, len(line)))
            area.move_cursor((row + 1, 0))
        else:
            area.insert(self._register, (row, min(column + 1, len(line))))


def _move(area: TextArea, key: str) -> bool:
    if key == "w":
        row, column = area.cursor_location
        line = area.document.get_line(row)
        word = re.compile(r"\w+\s*|[^\w\s]+\s*|\s+").match(line, column)
        if word is None and row + 1 < area.document.line_count:
            area.move_cursor((row + 1, 0))
        else:
            area.move_cursor((row, word.end() if word else len(line)))
        return True
    if key not in _MOVES:
        return False
    getattr(area, f"action_{_MOVES[key]}")()
    return True
