"""A sheet of text to read: help, status, JSON, a diff, what a program said. Invariant: read only; any length."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.folds.views import ViewName
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.panes.note import Note
from tui_agent.tui.text import clean
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import part, wrap
from tui_agent.tui.widgets.sheet import Sheet

DrawBody = Callable[["Viewer", int], list[Strip]]


class Viewer(Sheet[None]):
    """`draw` gives the rows for a width; `plain` is what can be copied. `extra` names more actions, which can be done
    now."""

    scope: ClassVar[Scope] = "viewer"
    key_methods = {
        "view_scroll": "scroll_rows",
        "view_line": "scroll_line",
        "view_page": "scroll_further",
        "view_ends": "scroll_to_end",
        "view_copy": "copy",
        "view_close": "close",
        "help": "close",
    }

    most_width: ClassVar[int] = 104

    def __init__(
        self,
        looks: Callable[[], Looks],
        title: str,
        draw: DrawBody,
        *,
        plain: str = "",
        right: str = "",
    ) -> None:
        super().__init__(looks)
        self.named = title
        self._draw = draw
        self.plain = plain
        self.right = right
        self.verdict: tuple[str, Role] = "", "t2"
        """What stands behind `right`, in its colour."""
        self.extra: Sequence[str] = ()
        self.follows: frozenset[ViewName] = frozenset()
        """The views that it shows as they change; with none it stands as it was opened."""
        self.opened_by = ""
        """The action of the registry that opened it, where one did."""

    def follow(self) -> None:
        """What it shows may have changed."""
        self.redraw()

    def head(self, width: int) -> list[Strip]:
        right = [part(self.right, self.style("t2"))] if self.right else []
        said, role = self.verdict
        right += [part(said, self.style(role, bold=True))] if said else []
        return self.title_rows(width, self.named, right)

    def body(self, width: int) -> list[Strip]:
        return self._draw(self, width)

    def foot(self, width: int) -> list[Strip]:
        names = ("view_scroll", *self.extra, *(["view_copy"] if self.plain else []), "view_close")
        return [*self.spacer(width), self.keys_row(width, *names)]

    def scroll_line(self) -> None:
        """Move on by a line."""
        self.scroll_rows(1)

    def scroll_further(self) -> None:
        """Move on by a page."""
        self.scroll_rows(self._body.size.height)

    def scroll_to_end(self, direction: int) -> None:
        """Go to the beginning, or to the end."""
        if direction < 0:
            self._body.scroll_home(animate=False)
        else:
            self._body.scroll_end(animate=False)

    def copy(self) -> bool:
        """Copy the text, where it has one."""
        if self.plain:
            self.app.copy_text(self.plain)  # type: ignore[attr-defined]
        return bool(self.plain)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)

    # -- rows for callers ------------------------------------------------------------------------------------------

    def pair(self, width: int, name: str, value: str, *, names: int = 16, role: Role = "t1") -> list[Strip]:
        """`name   value`, the value wrapped."""
        pieces = _wrapped(value, max(8, width - names - 1))
        return self.hanging_rows(width, [(name.ljust(names), self.style("t2"))], pieces, self.style(role))

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


def show(context: AppContext, title: str, draw: DrawBody, *, plain: str = "", right: str = "") -> Viewer:
    """Open a sheet to read."""
    viewer = Viewer(lambda: context.app.looks, title, draw, plain=plain, right=right)
    context.app.push_screen(viewer)
    return viewer


def whole_note(context: AppContext, note: Note) -> bool:
    """A sheet with all of a word that had no room; False where there is none."""
    if not (note.display and note.cut):
        return False
    text = note.text
    show(context, "All of it", lambda viewer, width: viewer.say(width, text, "t1"), plain=text)
    return True


def newest_only(context: AppContext, viewer: Viewer, width: int) -> list[Strip]:
    """What is said above figures that are of the newest part of a session only; nothing where all of it is known."""
    older = context.sessions.older
    return (
        [*viewer.say(width, f"Of the newest part only: {older}.", "warning"), viewer.gap(width)]
        if older
        else []
    )
