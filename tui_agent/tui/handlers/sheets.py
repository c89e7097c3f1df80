"""L7: opening a sheet to read. Invariant: every handler that only shows goes through here."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.tui.modals.viewer import Viewer

if TYPE_CHECKING:
    from tui_agent.tui.live import Live

Draw = Callable[[Viewer, int], list[Strip]]


def show(live: "Live", title: str, draw: Draw, *, plain: str = "", right: str = "") -> Viewer:
    """Open a sheet to read."""
    viewer = Viewer(lambda: live.app.looks, title, draw, plain=plain, right=right)
    live.app.push_screen(viewer)
    return viewer


def newest_only(live: "Live", viewer: Viewer, width: int) -> list[Strip]:
    """What is said above figures that are of the newest part of a session only; nothing where all of it is known."""
    older = live.opening.older
    return (
        [*viewer.say(width, f"Of the newest part only: {older}.", "warning"), viewer.gap(width)]
        if older
        else []
    )
