"""Watches the plugin folders and the configuration file, so that changes take effect at once.

Invariant: watchfiles is imported only if there is a folder to watch.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread

DEBOUNCE_MS = 100
"""Changes within this many milliseconds are reported as one change."""
POLL_S: Final = 1.0
"""Interval between checks of a file or a missing folder, in seconds."""


async def watch_plugins(folders: Sequence[Path], changed: Callable[[], object]) -> None:
    """Call `changed` whenever files in the folders have changed, until cancelled. A folder can be created later."""
    existing = _find_existing(folders)
    while True:
        async with anyio.create_task_group() as group:
            if existing:
                group.start_soon(_watch, existing, changed)
            current = existing
            while current == existing:
                await anyio.sleep(POLL_S)
                current = _find_existing(folders)
            group.cancel_scope.cancel()
        if not set(current) <= set(existing):
            changed()
        existing = current


async def watch_file(file: Path, known_time: int | None, changed: Callable[[], object]) -> None:
    """Call `changed` whenever the file was changed, created or deleted, until cancelled.

    `known_time`: the result of `time_saved(file)` when the caller last read the file. Later changes are reported.
    """
    while True:
        await anyio.sleep(POLL_S)
        now = time_saved(file)
        if now != known_time:
            changed()
        known_time = now


def time_saved(file: Path) -> int | None:
    """Return the time of a file's last change in nanoseconds, or None if there is no file."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def _find_existing(folders: Sequence[Path]) -> list[Path]:
    return [folder for folder in folders if folder.exists()]


async def _watch(folders: Sequence[Path], changed: Callable[[], object]) -> None:
    watchfiles = await to_thread.run_sync(import_module, "watchfiles")
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_set_at_cancellation, stop)
        # The filter of watchfiles leaves out `__pycache__`, editors' temporary files and version control.
        async for _ in watchfiles.awatch(*folders, debounce=DEBOUNCE_MS, stop_event=stop):
            changed()


async def _set_at_cancellation(stop: anyio.Event) -> None:
    """Set `stop` when this task is cancelled, because the waiting thread does not notice the cancellation itself."""
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()
