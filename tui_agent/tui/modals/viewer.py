"""A sheet of text to read: help, status, JSON, a diff, a program's output. Invariant: the text cannot be edited."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from textual import events
from textual.strip import Strip

from tui_agent.tui.app_context import AppContext
from tui_agent.tui.keys_and_commands import KeyHint, Scope
from tui_agent.tui.panes.notice import Notice
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part
from tui_agent.tui.widgets.sheet import Sheet

DrawBody: TypeAlias = Callable[[Facts], object]
"""A function that adds the rows of a sheet to the given `Facts`."""


class Viewer(Sheet[None]):
    """Sheet with text to read.

    - `draw`: function that adds the rows of the sheet
    - `empty`: the text shown if there are no rows
    - `plain`: the text that the user can copy
    """

    scope: ClassVar[Scope] = "viewer"
    key_methods = {"help": "close"}

    sheet_width = 104

    def __init__(
        self,
        title: str,
        draw: DrawBody,
        *,
        plain: str = "",
        right: str = "",
        empty: str = "",
    ) -> None:
        super().__init__()
        self.title_text = title
        self._draw = draw
        self.plain, self._empty = plain, empty
        self.right = right
        """The text on the right side of the title row."""
        self.verdict: tuple[str, Role] = "", "t2"
        """A word after `right` in the title row, and the word's colour."""
        self.extra: Sequence[str] = ()
        """Names of additional actions to show in the row of keys."""

    def title_right(self) -> Sequence[Part]:
        verdict, role = self.verdict
        return [self.part(self.right, "t2"), self.part(verdict, role, bold=True)]

    def body(self, width: int) -> list[Strip]:
        facts = Facts(self.looks, width, ground="s3", indent=0, margin=0)
        self._draw(facts)
        if self._empty and not facts.rows:
            facts.text(self._empty, "t3")
        return facts.rows

    def key_hints(self) -> Sequence[KeyHint]:
        scroll = ["view_scroll"] if self.can_scroll else []
        names = (*self.extra, *scroll, *(["view_copy"] if self.plain else []), "view_close")
        return [self.key_map.hint(name) for name in names]

    def copy(self) -> bool:
        """Copy the text of the sheet; return False if there is no text to copy."""
        if self.plain:
            self.app.copy_text(self.plain)  # type: ignore[attr-defined]
        return bool(self.plain)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)


def show(
    context: AppContext, title: str, draw: DrawBody, *, plain: str = "", right: str = "", empty: str = ""
) -> Viewer:
    """Open a sheet with text to read; the arguments have the same meaning as for `Viewer`."""
    viewer = Viewer(title, draw, plain=plain, right=right, empty=empty)
    context.app.push_screen(viewer)
    return viewer


def show_full_notice(context: AppContext, notice: Notice) -> bool:
    """Show the full text of a notice; return False if the notice was not cut off."""
    if not notice.is_cut_off:
        return False
    text = notice.text
    show(context, "Full text", lambda facts: facts.text(text), plain=text)
    return True


def warn_newest_only(context: AppContext, facts: Facts) -> None:
    """Add a warning if the numbers cover only the newest part of the session, because the session is still loading."""
    progress = context.sessions.load_progress
    if progress:
        facts.text(f"These numbers cover only the newest part of the session: {progress}.", "warning")
        facts.gap()
