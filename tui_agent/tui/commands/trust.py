"""The action on this folder's own files."""

from collections.abc import Callable

from tui_agent.tui.context import AppContext


def trust(context: AppContext, argument: str) -> None:
    """Show them, trust them, or take it back."""
    context.show_trust()


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {"trust": trust}
