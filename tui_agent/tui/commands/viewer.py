"""Opening a sheet to read. Invariant: every handler that only shows goes through here."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.note import Note

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

Draw = Callable[[Viewer, int], list[Strip]]


def show(live: "Live", title: str, draw: Draw, *, plain: str = "", right: str = "") -> Viewer:
    """Open a sheet to read."""
    viewer = Viewer(lambda: live.app.looks, title, draw, plain=plain, right=right)
    live.app.push_screen(viewer)
    return viewer


def whole_note(live: "Live", note: Note) -> bool:
    """A sheet with all of a word that had no room; False where there is none."""
    if not (note.display and note.cut):
        return False
    text = note.text
    show(live, "All of it", lambda viewer, width: viewer.say(width, text, "t1"), plain=text)
    return True


def newest_only(live: "Live", viewer: Viewer, width: int) -> list[Strip]:
    """What is said above figures that are of the newest part of a session only; nothing where all of it is known."""
    older = live.opening.older
    return (
        [*viewer.say(width, f"Of the newest part only: {older}.", "warning"), viewer.gap(width)]
        if older
        else []
    )
