"""Pipes, sockets and devices in the workspace, which git's listings leave out.

Invariant: only folders that hold files of the checkpoint or new ones are listed, so nothing is read below an ignored
folder, a repository of its own or a link.
"""

import os
from collections.abc import Iterable

from anyio.to_thread import run_sync

from tui_agent.workspace.checkpoints.cancellation import while_wanted
from tui_agent.workspace.checkpoints.state import Shadow
from tui_agent.workspace.checkpoints.unheld_files import ignored


async def special(shadow: Shadow, candidates: Iterable[str]) -> set[str]:
    """Those that nobody ignores, beside the checkpoint's files and these candidates."""
    found = await run_sync(_listed, shadow, {*_folders(shadow.tracked), *_folders(candidates)})
    return set(found) - await ignored(shadow, found, None) if found else set()


def _folders(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths if not path.endswith("/")} | {""}


def _listed(shadow: Shadow, folders: Iterable[str]) -> list[str]:
    found = []
    for folder in while_wanted(sorted(folders)):
        try:
            with shadow.files.folder(folder.split("/") if folder else []) as fd, os.scandir(fd) as entries:
                names = [entry.name for entry in entries if _is_special(entry)]
        except OSError:
            continue  # it is gone, replaced or unreadable: the look at its files tells that
        found += [f"{folder}/{name}" if folder else name for name in names]
    return found


def _is_special(entry: "os.DirEntry[str]") -> bool:
    kinds = (entry.is_symlink(), entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
    return not any(kinds)
