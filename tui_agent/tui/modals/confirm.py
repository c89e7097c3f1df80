"""A question that is answered by one key. Invariant: Enter and Esc never do what cannot be undone."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from textual.strip import Strip

from tui_agent.tui.actions import Scope
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.rows import doing
from tui_agent.tui.widgets.sheet import Sheet


class Confirm(Sheet[bool]):
    """Gives True for yes. `yes` is the action that means it, and its words; `said` are paragraphs; `level` colours the
    bar."""

    deaf = True
    scope: ClassVar[Scope] = "confirm"
    key_methods = {
        "confirm_yes": ("answer", "confirm_yes"),
        "confirm_go": ("answer", "confirm_go"),
        "confirm_no": "close",
    }

    def __init__(
        self,
        looks: Callable[[], Looks],
        title: str,
        said: Sequence[str],
        *,
        yes: tuple[Literal["confirm_yes", "confirm_go"], str],
        no: str,
        level: str = "warning",
    ) -> None:
        super().__init__(looks)
        self.named, self.said = title, tuple(said)
        self._yes, self._no = yes, no
        self.add_class(f"-{level}")

    def head(self, width: int) -> list[Strip]:
        return self.title_rows(width, self.named)

    def body(self, width: int) -> list[Strip]:
        first, *others = (clean_line(text) for text in self.said)
        return [
            *self.text_rows(width, first),
            *(row for text in others for row in self.text_rows(width, text, "t2")),
        ]

    def foot(self, width: int) -> list[Strip]:
        action, word = self._yes
        parts = [
            (self.key_map.key_of(action), doing(self.style("accent", bold=True), "yes")),
            (f" {word}   ", doing(self.style("t2"), "yes")),
            (self.key_map.key_of("confirm_no"), doing(self.style("accent", bold=True), "no")),
            (f" {self._no}", doing(self.style("t2"), "no")),
        ]
        return [*self.spacer(width), self.line(width, parts)]

    def answer(self, action: str) -> bool:
        """Answer yes, where this action means it here."""
        if action == self._yes[0]:
            self.dismiss(True)
        return action == self._yes[0]

    def close(self) -> None:
        self.dismiss(False)

    def clicked(self, wish: str) -> None:
        if wish in ("yes", "no"):
            self.dismiss(wish == "yes")
