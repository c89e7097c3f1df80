"""Asks before a link leaves the screen for the browser. Invariant: where it leads is read before anything opens."""

from tui_agent.tui.context import ScreenPort
from tui_agent.tui.links import address_of
from tui_agent.tui.modals.confirm import Confirm


def open_link(app: ScreenPort, written: str) -> None:
    """Show where a link leads, and open it when that is wanted."""
    address = address_of(written)
    if not address.opens:
        app.say(address.shown)
        return

    def answered(yes: bool | None) -> None:
        if yes:
            app.open_url(address.shown)

    said = (address.shown, f"It leads to {address.host}.")
    app.push_screen(
        Confirm(
            lambda: app.looks,
            "Open this address?",
            said,
            yes=("confirm_yes", "open it in the browser"),
            no="leave it",
            level="info",
        ),
        answered,
    )
