"""Marks of plugins that are being loaded. After a crash, the next start sees which plugin ended the program.

Invariant: a mark exists only while its plugin is being loaded, or after a process that died meanwhile.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class CrashMarks:
    """Sets and reads the marks in a folder; without a folder, nothing is marked."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def has_crashed(self, name: str, files: str) -> bool:
        """Return True if an ended process was loading the plugin `name` from these files (see `files_state`)."""
        if self._folder is None:
            return False
        try:
            content = json.loads((self._folder / name).read_bytes())
            return content["files"] == files and not _is_running(content["pid"])
        except (OSError, ValueError, KeyError, TypeError):  # no mark, or one that was cut
            return False

    @contextmanager
    def mark(self, name: str, files: str) -> Iterator[None]:
        """Mark the plugin as being loaded during the `with` block."""
        if self._folder is None:
            yield
            return
        path = self._folder / name
        with suppress(OSError):  # a full or read-only disk must not stop the plugin
            self._folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"pid": os.getpid(), "files": files}), encoding="utf-8")
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()


def _is_running(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
