"""Comparison of the session's changed files with the files on disk.

Invariant: every count of changed files on the screen comes from `drop_undone`.
"""

import asyncio
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tui_agent.folds.screen_folds import Views
from tui_agent.folds.session.changed_files import ChangedFile, FilesChangedView
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.tui.app_context import DiskChange
from tui_agent.tui.controller.controller_protocols import SessionHost


class DiskChanges:
    """Finds the session's files that were changed outside the app after their last recorded change."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._changes: dict[tuple[str, int], DiskChange] = {}
        """Kinds of change outside the app. A key is (path, sequence number of the last event that changed the file)."""

    def begin_session(self) -> None:
        """Forget the changes of the files, because another session was opened."""
        self._changes = {}

    def by_path(self, views: Views) -> Mapping[str, DiskChange]:
        """Return the kind of change for each file that was changed outside the app, by path.

        The kind is `undone` if the file again has its content from before the session, otherwise `changed`.
        """
        if not self._changes:
            return {}
        changes = (
            (file.path, self._changes.get((file.path, file.last_seq))) for file in views.files.view().files
        )
        return {path: change for path, change in changes if change is not None}

    def drop_undone(self, files: FilesChangedView, views: Views) -> FilesChangedView:
        """Return `files` without the files whose changes were undone outside the app."""
        undone = {path for path, change in self.by_path(views).items() if change == "undone"}
        if not undone:
            return files
        return replace(files, files=tuple(file for file in files.files if file.path not in undone))

    async def compare_with_disk(self) -> None:
        """Compare the session's changed files with the disk. If the result differs from the last one, update the
        screen."""
        # During a turn nothing is compared, because the turn's changes may not be recorded yet.
        host = self._host
        changes: dict[tuple[str, int], DiskChange] = {
            file: change for file, change in self._changes.items() if change == "undone"
        }
        if host.state.environment not in ("", LOCAL_ENVIRONMENT):
            changes = {}
        elif not host.is_running:
            files = host.views.files.view().files
            changes = await asyncio.to_thread(_find_differing, Path(host.work_folder), files)
        if changes != self._changes:
            self._changes = changes
            host.panes.show(frozenset({"files"}))


def _find_differing(workspace: Path, files: Sequence[ChangedFile]) -> dict[tuple[str, int], DiskChange]:
    """Compare files on disk with their last recorded content, and return the differences.

    This function blocks: call it in a thread.
    """
    changes: dict[tuple[str, int], DiskChange] = {}
    for file in files if workspace.is_dir() else ():
        digest = _hash_file(workspace / file.path)
        if digest == file.disk_sha256_after:
            continue
        if digest == file.disk_sha256_before and not file.mode_changed:
            changes[file.path, file.last_seq] = "undone"
        elif file.disk_sha256_after is not None:
            changes[file.path, file.last_seq] = "changed"
    return changes


def _hash_file(path: Path) -> str | None:
    """Return the hex SHA-256 of a file, or of a link's target.

    Return None for a missing file, and `""` for an unreadable one.
    """
    try:
        if path.is_symlink():
            return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
        # O_NONBLOCK: opening a named pipe would wait for its writer. O_NOFOLLOW: the file may become a link meanwhile.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ""
