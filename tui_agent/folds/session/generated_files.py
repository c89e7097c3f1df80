"""Estimates how many files changed in generated folders such as `.venv/`, over several checkpoints.

Invariant: the estimate for a folder is never larger than the number of files in the folder.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tui_agent.protocol.events.files import CheckpointRestored, FolderChange
from tui_agent.protocol.unicode_text import format_count

FolderFiles: TypeAlias = tuple[str, int]
"""The path of a generated folder (with `/` at the end), and the number of changed files in the folder."""


class GeneratedFiles:
    """Adds up the changed files of each generated folder over several checkpoints."""

    def __init__(self) -> None:
        self._changed: dict[str, int] = {}
        self._total: dict[str, int] = {}

    def add(self, folders: Iterable[FolderChange]) -> None:
        """Add a checkpoint's counts of changed files in each folder."""
        for folder in folders:
            self._changed[folder.path] = self._changed.get(folder.path, 0) + folder.files
            self._total[folder.path] = max(self._total.get(folder.path, 0), folder.total)

    def view(self) -> tuple[FolderFiles, ...]:
        """Return the folders in order of their first change."""
        return tuple(
            (path, min(count, max(self._total[path], 1))) for path, count in self._changed.items() if count
        )


def format_folders(folders: Sequence[FolderFiles], most: int = 3) -> str:
    """Format folders as text, e.g. `.venv/ 2,570 files, target/ 1 file and 2 more generated folders`."""
    text = ", ".join(f"{path} {format_count(count, 'file')}" for path, count in folders[:most])
    rest = len(folders) - most
    return f"{text} and {format_count(rest, 'more generated folder')}" if rest > 0 else text


def format_files(count: int, folders: Sequence[FolderFiles]) -> str:
    """Format a number of files and generated folders as text, e.g. `2 files and .venv/ 2,570 files`."""
    own = format_count(count, "file") if count or not folders else ""
    return " and ".join(filter(None, (own, format_folders(folders))))


def describe_restored(restored: CheckpointRestored) -> str:
    """Describe a restore in a sentence, e.g. `2 files restored, 1 file and .venv/ 2,570 files removed.`"""
    total = len(restored.paths) + restored.unlisted_count
    kept = [(folder.path, folder.files - folder.removed) for folder in restored.folders]
    gone = [(folder.path, folder.removed) for folder in restored.folders]
    parts = [
        f"{format_files(count, counted)} {word}"
        for count, folders, word in (
            (total - restored.removed_count, kept, "restored"),
            (restored.removed_count, gone, "removed"),
        )
        if (counted := [folder for folder in folders if folder[1]]) or count
    ]
    return f"{', '.join(parts)}." if parts else "No file was changed."
