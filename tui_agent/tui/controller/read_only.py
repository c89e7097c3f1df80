"""Looking on at a session that another process holds. Invariant: its log is only read; nothing is held or written."""

import asyncio
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tui_agent.config.options import SessionOptions
from tui_agent.errors import SessionLocked
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.controller.drafts import stored
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.screens.replay.live_log import FollowingScreen, LiveRecording
from tui_agent.tui.screens.replay.recording import Ways

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live


def look_on(live: "Live", folder: Path, to_seq: int | None = None) -> None:
    """Show a session's log, at an event or at its end, over what is there, and what comes to it."""
    # By name: the app's process knows of the store only where it looks at a log.
    recorded = import_module("tui_agent.session.recorded").RecordedSession(folder)
    ways = Ways(live.ask, live.app.terminal.copy, opens="/session")
    live.app.push_screen(
        FollowingScreen(cast(LiveRecording, recorded), ways, lambda: live.app.looks, to_seq=to_seq)
    )


async def offer_to_look_on(live: "Live", options: SessionOptions, fault: SessionLocked) -> None:
    """Ask whether to look on at the session that could not be opened because of this."""
    folder = await _folder(live, options)
    if folder is None:
        return

    def answered(yes: bool | None) -> None:
        if yes:
            look_on(live, folder)

    said = (fault.message, "You can look on from here and see what happens there. Nothing is written.")
    title, yes = "Open in another window", ("enter", "look on (read only)")
    live.app.push_screen(
        Confirm(lambda: live.app.looks, title, said, yes=yes, no="not now", level="info"), answered
    )


async def _folder(live: "Live", options: SessionOptions) -> Path | None:
    """Where the session lies that was to be opened; None where it cannot be found."""
    wanted = [f"--id={options.session}", "--all"] if options.session else ["-C", str(options.cwd)]
    _, said = await live.ask("sessions", "list", *wanted, "--json")
    path = next((text_of(row, "path") for row in json_rows(said) if row.get("open")), "")
    there = bool(path) and await asyncio.to_thread(lambda: stored(Path(path)))
    return Path(path) if there else None
