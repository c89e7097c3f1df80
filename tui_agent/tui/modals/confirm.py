"""A question that is answered by one key. Invariant: Enter and Esc never do what cannot be undone."""

from collections.abc import Callable, Sequence

from textual.strip import Strip

from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.line_pane import Looks
from tui_agent.tui.widgets.rows import doing, part, wrap
from tui_agent.tui.widgets.sheet import Sheet


class Confirm(Sheet[bool]):
    """Gives whether the key `yes` was pressed. `said` are paragraphs; `level` colours the bar."""

    deaf = True

    def __init__(
        self,
        looks: Callable[[], Looks],
        title: str,
        said: Sequence[str],
        *,
        yes: tuple[str, str],
        no: str,
        level: str = "warning",
    ) -> None:
        super().__init__(looks)
        self.named, self.said = title, tuple(said)
        self._yes, self._no = yes, no
        self.add_class(f"-{level}")

    def head(self, width: int) -> list[Strip]:
        gap = [] if self.app.size.height < 16 else [self.line(width, [])]
        return [self.line(width, [part(self.named, self.style(bold=True))]), *gap]

    def body(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        roles: list[Role] = ["t1", *["t2"] * len(self.said)]  # type: ignore[list-item]
        for said, role in zip(self.said, roles, strict=False):
            rows += [self.line(width, [(piece, self.style(role))]) for piece in wrap(clean_line(said), width)]
        return rows

    def foot(self, width: int) -> list[Strip]:
        gap = [] if self.app.size.height < 16 else [self.line(width, [])]
        key, word = self._yes
        shown = "Enter" if key == "enter" else key.upper()
        parts = [
            (shown, doing(self.style("accent", bold=True), "yes")),
            (f" {word}   ", doing(self.style("t2"), "yes")),
            ("Esc", doing(self.style("accent", bold=True), "no")),
            (f" {self._no}", doing(self.style("t2"), "no")),
        ]
        return [*gap, self.line(width, parts)]

    def take_key(self, key: str, character: str | None) -> bool:
        if key == self._yes[0] or (len(self._yes[0]) == 1 and (character or "").lower() == self._yes[0]):
            self.dismiss(True)
            return True
        if key == "n" and self._yes[0] == "y":
            self.dismiss(False)
            return True
        return False

    def close(self) -> None:
        self.dismiss(False)

    def clicked(self, wish: str) -> None:
        if wish in ("yes", "no"):
            self.dismiss(wish == "yes")
