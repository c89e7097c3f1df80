"""The action on this folder's own files."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live


def trust(live: "Live", argument: str) -> None:
    """Show them, trust them, or take it back."""
    live.trusting.show()


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"trust": trust}
