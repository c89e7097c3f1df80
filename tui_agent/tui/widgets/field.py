"""One line of editable text, for answers inside rows, for filters and for forms.

Invariant: `type_key` returns True if the field used the key.
"""

from itertools import accumulate

from tui_agent.tui.untrusted_text import clean_line, split_cells, width
from tui_agent.tui.widgets.rows import Part, Pen


class Field:
    """An editable line of text with a cursor.

    `secret`: True to show dots instead of characters.
    """

    def __init__(self, text: str = "", *, secret: bool = False) -> None:
        self.text = text
        self.cursor = len(text)
        self.secret = secret

    def type_key(self, key: str, character: str | None) -> bool:
        """Edit the text or move the cursor; return False if the field does not use the key."""
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        match key:
            case "backspace":
                before = before[:-1]
            case "delete":
                after = after[1:]
            case "left":
                before, after = before[:-1], before[-1:] + after
            case "right":
                before, after = before + after[:1], after[1:]
            case "home" | "ctrl+a":
                before, after = "", self.text
            case "end" | "ctrl+e":
                before, after = self.text, ""
            case "ctrl+u":
                before = ""
            case "ctrl+k":
                after = ""
            case "ctrl+w":
                head = before.rstrip()
                before = head[: head.rfind(" ") + 1]
            case _:
                if character is None or not character.isprintable():
                    return False
                self.insert(character)
                return True
        self.text, self.cursor = before + after, len(before)
        return True

    def insert(self, text: str) -> None:
        """Insert typed or pasted text at the cursor, with line breaks removed."""
        text = clean_line(text.strip("\n") if len(text) > 1 else text)
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def parts(self, room: int, pen: Pen, hint: str = "", *, is_open: bool = True) -> list[Part]:
        """Draw the text in `room` cells, scrolled so that the cursor is visible.

        - `hint`: the text for an empty field
        - `is_open`: False to draw no cursor
        """
        style, cursor = pen.style(), pen.cursor
        shown = "•" * len(self.text) if self.secret else self.text
        if not shown and hint:
            if not is_open:
                return [(split_cells(hint, room)[0], pen.style("t3"))]
            return [(hint[:1], cursor), (split_cells(hint[1:], max(0, room - 1))[0], pen.style("t3"))]
        # Begin as early as possible, but so that the cursor is still inside the room.
        start = self.cursor
        while start and width(shown[start - 1 : self.cursor]) < room:
            start -= 1
        if not is_open:
            return [(split_cells(shown[start:], room)[0], style)]
        before = shown[start : self.cursor]
        under = shown[self.cursor : self.cursor + 1] or " "
        after = split_cells(shown[self.cursor + 1 :], max(0, room - width(before) - width(under)))[0]
        return [(before, style), (under, cursor), (after, style)]

    def rows(self, room: int, pen: Pen, max_rows: int) -> list[list[Part]]:
        """Draw the text wrapped to rows of `room` cells, with up to `max_rows` rows around the cursor."""
        style, cursor = pen.style(), pen.cursor
        text = self.text + " "  # The cursor can be after the last character.
        pieces: list[str] = []
        while text:
            piece = split_cells(text, room)[0] or text[:1]
            pieces.append(piece)
            text = text[len(piece) :]
        ends = list(accumulate(map(len, pieces)))
        cursor_row = next(number for number, end in enumerate(ends) if self.cursor < end)
        first = max(0, min(cursor_row - max_rows // 2, len(pieces) - max_rows))
        rows: list[list[Part]] = []
        for number, piece in list(enumerate(pieces))[first : first + max_rows]:
            if number != cursor_row:
                rows.append([(piece, style)])
                continue
            column = self.cursor - (ends[number] - len(piece))
            rows.append([(piece[:column], style), (piece[column], cursor), (piece[column + 1 :], style)])
        return rows
