"""Looking on at a session that another process holds. Invariant: its log is only read; nothing is held or written."""

import asyncio
from pathlib import Path

from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import is_session_stored
from tui_agent.errors import SessionLocked
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.screens.replay.live_log import look_on


async def offer_to_look_on(context: AppContext, options: SessionOptions, fault: SessionLocked) -> None:
    """Ask whether to look on at the session that could not be opened because of this."""
    folder = await _folder(context, options)
    if folder is None:
        return

    def answered(yes: bool | None) -> None:
        if yes:
            look_on(context, folder)

    said = (fault.message, "You can look on from here and see what happens there. Nothing is written.")
    title = "Open in another window"
    context.app.push_screen(
        Confirm(
            lambda: context.app.looks,
            title,
            said,
            yes=("confirm_go", "look on (read only)"),
            no="not now",
            level="info",
        ),
        answered,
    )


async def _folder(context: AppContext, options: SessionOptions) -> Path | None:
    """Where the session lies that was to be opened; None where it cannot be found."""
    wanted = [f"--id={options.session}", "--all"] if options.session else ["-C", str(options.cwd)]
    _, said = await context.ask("sessions", "list", *wanted, "--json")
    path = next((text_of(row, "path") for row in json_rows(said) if row.get("open")), "")
    there = bool(path) and await asyncio.to_thread(lambda: is_session_stored(Path(path)))
    return Path(path) if there else None
