"""A sheet of text to read: help, status, JSON, a diff, what a program said. Invariant: read only; any length."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.folds.views import ViewName
from tui_agent.tui.text import clean
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.line_pane import Intent, Looks
from tui_agent.tui.widgets.rows import Part, part, wrap
from tui_agent.tui.widgets.sheet import Sheet

DrawBody = Callable[["Viewer", int], list[Strip]]


class Viewer(Sheet[None]):
    """`draw` gives the rows for a width; `plain` is what C copies. `actions` are more keys: key, word, intent."""

    most_width: ClassVar[int] = 104

    def __init__(
        self,
        looks: Callable[[], Looks],
        title: str,
        draw: DrawBody,
        *,
        plain: str = "",
        right: str = "",
        actions: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        super().__init__(looks)
        self.named = title
        self._draw = draw
        self.plain = plain
        self.right = right
        self.verdict: tuple[str, Role] = "", "t2"
        """What stands behind `right`, in its colour."""
        self.extra = tuple(actions)
        self.follows: frozenset[ViewName] = frozenset()
        """The views that it shows as they change; with none it stands as it was opened."""
        self.opened_by = ""
        """The action of the registry that opened it, where one did."""

    def follow(self) -> None:
        """What it shows may have changed."""
        self.redraw()

    def head(self, width: int) -> list[Strip]:
        gap = [] if self.app.size.height < 16 else [self.line(width, [])]
        right = [part(self.right, self.style("t2"))] if self.right else []
        said, role = self.verdict
        right += [part(said, self.style(role, bold=True))] if said else []
        return [self.line(width, [part(self.named, self.style(bold=True))], right), *gap]

    def body(self, width: int) -> list[Strip]:
        return self._draw(self, width)

    def foot(self, width: int) -> list[Strip]:
        gap = [] if self.app.size.height < 16 else [self.line(width, [])]
        keys = [("Up/Down", "scroll")] + [(key.upper(), word) for key, word, _ in self.extra]
        if self.plain:
            keys.append(("C", "copy"))
        return [*gap, self.keys_line(width, [*keys, ("Esc", "close")])]

    def take_key(self, key: str, character: str | None) -> bool:
        match key:
            case "up" | "k":
                self.scroll_rows(-1)
            case "down" | "j" | "enter":
                self.scroll_rows(1)
            case "space":
                self.scroll_rows(self._body.size.height)
            case "home" | "g":
                self._body.scroll_home(animate=False)
            case "end" | "G":
                self._body.scroll_end(animate=False)
            case "q" | "f1":
                self.close()
            case "c" if self.plain:
                self.app.copy_text(self.plain)  # type: ignore[attr-defined]
            case _:
                wish = next((intent for one, _, intent in self.extra if one == key), "")
                if not wish:
                    return False
                self.dismiss(None)
                name, _, argument = wish.partition(" ")
                self.app.post_message(Intent(name, argument))
        return True

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)

    # -- rows for callers ------------------------------------------------------------------------------------------

    def pair(self, width: int, name: str, value: str, *, names: int = 16, role: Role = "t1") -> list[Strip]:
        """`name   value`, the value wrapped."""
        from_left: list[Strip] = []
        room = max(8, width - names - 1)
        for at, piece in enumerate(_wrapped(value, room)):
            left: list[Part] = [
                (name.ljust(names) if at == 0 else " " * names, self.style("t2")),
                part(piece, self.style(role)),
            ]
            from_left.append(self.line(width, left))
        return from_left

    def heading(self, width: int, text: str) -> Strip:
        """A group's name."""
        return self.line(width, [part(text, self.style(bold=True))])

    def say(self, width: int, text: str, role: Role = "t2") -> list[Strip]:
        """A paragraph."""
        return [self.line(width, [(piece, self.style(role))]) for piece in _wrapped(text, width - 1)]

    def gap(self, width: int) -> Strip:
        """An empty row."""
        return self.line(width, [])


def _wrapped(text: str, room: int) -> list[str]:
    return [piece for line in clean(text).split("\n") for piece in wrap(line, room)]
