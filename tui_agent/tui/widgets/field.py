"""One line of typed text, as a value: for answers inside rows, filters and forms.

Invariant: no widget; `key` says whether it took the key, `parts` draws it with its cursor.
"""

from itertools import accumulate

from rich.style import Style

from tui_agent.tui.text import clean_line, take, width
from tui_agent.tui.widgets.rows import Part


class Field:
    """Text and cursor. `secret` shows dots."""

    def __init__(self, text: str = "", *, secret: bool = False) -> None:
        self.text = text
        self.at = len(text)
        self.secret = secret

    def key(self, key: str, character: str | None) -> bool:
        """Edit; False where the key is not an edit."""
        match key:
            case "backspace":
                self.text = self.text[: max(0, self.at - 1)] + self.text[self.at :]
                self.at = max(0, self.at - 1)
            case "delete":
                self.text = self.text[: self.at] + self.text[self.at + 1 :]
            case "left":
                self.at = max(0, self.at - 1)
            case "right":
                self.at = min(len(self.text), self.at + 1)
            case "home" | "ctrl+a":
                self.at = 0
            case "end" | "ctrl+e":
                self.at = len(self.text)
            case "ctrl+u":
                self.text, self.at = self.text[self.at :], 0
            case "ctrl+k":
                self.text = self.text[: self.at]
            case "ctrl+w":
                head = self.text[: self.at].rstrip()
                cut = head.rfind(" ") + 1
                self.text, self.at = head[:cut] + self.text[self.at :], cut
            case _:
                if character is None or not character.isprintable():
                    return False
                self.insert(character)
        return True

    def insert(self, text: str) -> None:
        """Put foreign text at the cursor, as one line."""
        text = clean_line(text.strip("\n") if len(text) > 1 else text)
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def parts(
        self, room: int, style: Style, cursor: Style | None, hint: str = "", hint_style: Style | None = None
    ) -> list[Part]:
        """The text in `room` cells, scrolled so that the cursor is in sight; without a cursor style it has none."""
        shown = "•" * len(self.text) if self.secret else self.text
        if not shown and hint:
            quiet = hint_style or style
            if cursor is None:
                return [(take(hint, room)[0], quiet)]
            return [(hint[:1], cursor), (take(hint[1:], max(0, room - 1))[0], quiet)]
        start = 0
        while width(shown[start : self.at]) >= room and start < self.at:
            start += 1
        before = shown[start : self.at]
        if cursor is None:
            return [(take(shown[start:], room)[0], style)]
        under = shown[self.at : self.at + 1] or " "
        after = take(shown[self.at + 1 :], max(0, room - width(before) - width(under)))[0]
        return [(before, style), (under, cursor), (after, style)]

    def rows(self, room: int, style: Style, cursor: Style, most: int) -> list[list[Part]]:
        """All of it in as many rows of `room` cells as it needs, at most `most`: then those around the cursor."""
        text = self.text + " "  # the cursor can stand behind the last letter
        pieces: list[str] = []
        while text:
            piece = take(text, room)[0] or text[:1]
            pieces.append(piece)
            text = text[len(piece) :]
        ends = list(accumulate(map(len, pieces)))
        here = next(at for at, end in enumerate(ends) if self.at < end)
        first = max(0, min(here - most // 2, len(pieces) - most))
        found: list[list[Part]] = []
        for at in range(first, min(len(pieces), first + most)):
            piece, start = pieces[at], ends[at] - len(pieces[at])
            if at != here:
                found.append([(piece, style)])
                continue
            column = self.at - start
            found.append([(piece[:column], style), (piece[column], cursor), (piece[column + 1 :], style)])
        return found
