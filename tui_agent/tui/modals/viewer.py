"""A sheet of text to read: help, status, JSON, a diff, a program's output. Invariant: read-only; any length."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from textual import events
from textual.strip import Strip

from tui_agent.folds.views import ViewName
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.panes.note import Note
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.sheet import Sheet

DrawBody: TypeAlias = Callable[["Viewer", int], list[Strip]]


class Viewer(Sheet[None]):
    """A read-only sheet. `draw` returns the rows for a width; `plain` is the text to copy."""

    scope: ClassVar[Scope] = "viewer"
    key_methods = {
        "view_scroll": "scroll_rows",
        "view_line": ("scroll_rows", 1),
        "view_page": "scroll_further",
        "view_ends": "scroll_to_end",
        "view_copy": "copy",
        "view_close": "close",
        "help": "close",
    }

    sheet_width: ClassVar[int] = 104

    def __init__(
        self, looks: Callable[[], Looks], title: str, draw: DrawBody, *, plain: str = "", right: str = ""
    ) -> None:
        super().__init__(looks)
        self.title_text = title
        self._draw = draw
        self.plain = plain
        self.right = right
        """The text at the right of the title."""
        self.verdict: tuple[str, Role] = "", "t2"
        """A word after `right`, and its colour."""
        self.extra: Sequence[str] = ()
        """Names of further actions that the row of keys shows."""
        self.follows: frozenset[ViewName] = frozenset()
        """The views whose changes the screen shows; if empty, its text never changes."""
        self.opened_by = ""
        """The action whose key opened this screen and also closes it, or "" if there is none."""

    def follow(self) -> None:
        """Redraw if something changed."""
        self.redraw()

    def head(self, width: int) -> list[Strip]:
        verdict, role = self.verdict
        right = [self.part(self.right, "t2"), self.part(verdict, role, bold=True)]
        return self.title_rows(width, self.title_text, right)

    def body(self, width: int) -> list[Strip]:
        return self._draw(self, width)

    def foot(self, width: int) -> list[Strip]:
        names = ("view_scroll", *self.extra, *(["view_copy"] if self.plain else []), "view_close")
        return [*self.spacer(width), self.keys_row(width, *names)]

    def scroll_further(self) -> None:
        """Scroll down one page."""
        self.scroll_rows(self._body.size.height)

    def scroll_to_end(self, direction: int) -> None:
        """Scroll to the beginning (`direction` -1) or to the end (1)."""
        if direction < 0:
            self._body.scroll_home(animate=False)
        else:
            self._body.scroll_end(animate=False)

    def copy(self) -> bool:
        """Copy the text; return False if there is none."""
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

    def facts(self, width: int) -> Facts:
        """Return an empty `Facts` with the sheet's background."""
        return Facts(self.looks, width, ground="s3", indent=0, margin=0)

    def pair(self, width: int, name: str, value: str, *, names: int = 16, role: Role = "t1") -> list[Strip]:
        """Return the rows of a name and its wrapped value; the name is padded to `names` cells."""
        facts = self.facts(width)
        facts.pair(name, value, role, names=names)
        return facts.rows

    def heading(self, width: int, text: str) -> Strip:
        """Draw a section heading."""
        return self.line(width, [self.part(text, bold=True)])

    def say(self, width: int, text: str, role: Role = "t2") -> list[Strip]:
        """Return the rows of a paragraph."""
        facts = self.facts(width)
        facts.text(text, role)
        return facts.rows

    def gap(self, width: int) -> Strip:
        """Draw an empty row."""
        return self.line(width, [])


def show(context: AppContext, title: str, draw: DrawBody, *, plain: str = "", right: str = "") -> Viewer:
    """Open a sheet with text to read."""
    viewer = Viewer(lambda: context.app.looks, title, draw, plain=plain, right=right)
    context.app.push_screen(viewer)
    return viewer


def show_full_note(context: AppContext, note: Note) -> bool:
    """Open a sheet with the full text of a notice that was cut off; return False if no notice was cut off."""
    if not (note.display and note.cut):
        return False
    text = note.text
    show(context, "Full text", lambda viewer, width: viewer.say(width, text, "t1"), plain=text)
    return True


def newest_only_rows(context: AppContext, viewer: Viewer, width: int) -> list[Strip]:
    """Return a warning that figures cover only the newest part of the session; empty if all of it is loaded."""
    progress = context.sessions.load_progress
    if not progress:
        return []
    return [
        *viewer.say(width, f"Counts only the newest part of the session: {progress}.", "warning"),
        viewer.gap(width),
    ]
