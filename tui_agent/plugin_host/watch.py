"""Watches the folders of plugins, so that a saved plugin is used at once.

Invariant: watchfiles is imported only if there is a folder to watch.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from anyio import to_thread

DEBOUNCE_MS = 100
"""Milliseconds within which changes count as one."""


async def watch_plugins(folders: Sequence[Path], changed: Callable[[], object]) -> None:
    """Call `changed` after files in the folders changed. Return at once if no folder exists; else run until cancelled."""
    existing = [folder for folder in folders if folder.exists()]
    if not existing:
        return
    watchfiles = await to_thread.run_sync(import_module, "watchfiles")
    # Its filter leaves out `__pycache__`, editors' temporary files and version control.
    async for _ in watchfiles.awatch(*existing, debounce=DEBOUNCE_MS):
        changed()
