"""Asks before a link leaves the screen for the browser. Invariant: where it leads is read before anything opens."""

from typing import TYPE_CHECKING

from tui_agent.tui.links import address_of
from tui_agent.tui.modals.confirm import Confirm

if TYPE_CHECKING:
    from tui_agent.tui.app import AgentApp


def open_link(app: "AgentApp", written: str) -> None:
    """Show where a link leads, and open it when that is wanted."""
    address = address_of(written)
    if not address.opens:
        app.say(address.shown)
        return

    def answered(yes: bool | None) -> None:
        if yes:
            app.open_url(address.shown)

    said = (address.shown, f"It leads to {address.host}.")
    yes = ("y", "open it in the browser")
    app.push_screen(
        Confirm(lambda: app.looks, "Open this address?", said, yes=yes, no="leave it", level="info"), answered
    )
