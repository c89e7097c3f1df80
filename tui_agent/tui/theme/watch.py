"""Watches the theme folders. The screen is redrawn when the current theme's file is saved.

Invariant: in the app, only this module imports watchfiles.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import awatch


async def watch(folders: Sequence[Path], changed: Callable[[set[str]], None], stop: asyncio.Event) -> None:
    """Call `changed` with the names of saved theme files, until `stop` is set."""
    existing = [folder for folder in folders if folder.is_dir()]
    if not existing:
        return
    async for changes in awatch(*existing, stop_event=stop, recursive=False, debounce=200):
        names = {Path(path).stem for _, path in changes if path.endswith(".toml")}
        if names:
            changed(names)
