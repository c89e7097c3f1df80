"""The unsent message in a file (mode 0600) next to its session, so that a crash loses no typed text.

Invariant: the file is replaced atomically; an empty draft leaves no file. Text typed before the session has a folder
is stored among the drafts of the data folder, and offered to the next session of the same workspace.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


class DraftFile:
    """The draft of one session. All methods block while they read or write a small file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> str:
        """Return the unsent message, or an empty string."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def save(self, text: str, *, create_folder: bool = False) -> None:
        """Save this text; an empty one deletes the file. `create_folder` creates a missing folder.

        Raises OSError; then the old file is unchanged and no temporary file is left behind.
        """
        if not text:
            self.path.unlink(missing_ok=True)
            return
        if create_folder:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            beside.replace(self.path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise


class EarlyDrafts:
    """Drafts of a workspace's sessions that have no folder yet: one file for each process."""

    def __init__(self, data_dir: Path, workspace: Path) -> None:
        self._folder = data_dir / "drafts"
        self._name = hashlib.sha256(str(workspace).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def open_for(self, pid: int) -> DraftFile:
        """Return the draft of a process."""
        return DraftFile(self._folder / f"{self._name}-{pid}")

    def take_abandoned(self, is_alive: Callable[[int], bool]) -> str:
        """Delete the newest draft of a process that has ended, and return its text; empty if there is none."""
        paths = sorted(self._abandoned_files(is_alive), key=_modified_at)
        if not paths:
            return ""
        draft = DraftFile(paths[-1])
        text = draft.load()
        with suppress(OSError):  # If this fails, the draft is offered once more, which does no harm.
            draft.save("")
        return text

    def _abandoned_files(self, is_alive: Callable[[int], bool]) -> list[Path]:
        paths = self._folder.glob(f"{self._name}-*")
        return [path for path in paths if path.name[17:].isdigit() and not is_alive(int(path.name[17:]))]


def is_alive(pid: int) -> bool:
    """Return True if a process with this id runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
