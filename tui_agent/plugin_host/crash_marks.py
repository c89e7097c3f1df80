"""Marks of plugins that are being loaded. After a crash, the next start sees which plugin ended the program.

Invariant: a mark exists only while its plugin is being loaded, or if the process died during the load. Plugins load at
the same time, so a mark only makes a plugin suspect. A trial in a child process decides if the plugin is left out.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tui_agent.errors import PluginError
from tui_agent.plugin_host.discover import FoundPlugin

MARKS_FOLDER = "plugins_loading"
"""Name of the folder with the marks, in the folder for caches."""
NOT_TRIED = "The program ended while this plugin was loaded, and a trial did not end within {:g} s. The plugin is left out this time."
TRIAL_ENDED = b"The trial has ended."
"""Output of a trial if the plugin did not end the process."""


class PluginLeftOut(PluginError):
    """Raised for a plugin that is not loaded because an earlier load ended the program."""


class CrashMarks:
    """Sets and reads the marks in a folder; without a folder, nothing is marked."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def ends_the_program(self, plugin: FoundPlugin, files: str, limit_s: float) -> bool:
        """Return True if loading the plugin from these files (see `files_state`) ends the process.

        Only a suspect is tried, in a child process and for at most `limit_s` seconds. The answer is remembered. Raises
        `PluginError` if the trial takes longer; the next start tries again.
        """
        if self.is_left_out(plugin.name, files):
            return True
        if not self.is_suspect(plugin.name, files) or not _crashes_in_trial(plugin, limit_s):
            return False
        self._write(plugin.name, files, os.getpid(), is_left_out=True)
        return True

    def is_suspect(self, name: str, files: str) -> bool:
        """Return True if a process ended while it was loading the plugin `name` from these files."""
        mark = self._read(name)
        return mark is not None and mark["files"] == files and not _is_running(mark["pid"])

    def is_left_out(self, name: str, files: str) -> bool:
        """Return True if a trial showed that loading the plugin `name` from these files ends the process."""
        mark = self._read(name)
        return mark is not None and mark["files"] == files and mark.get("is_left_out") is True

    def try_again(self, name: str) -> None:
        """Make a left-out plugin a suspect again, so that open sessions and the next start try it."""
        mark = self._read(name)
        if mark is not None and mark.get("is_left_out") is True:
            self._write(name, str(mark["files"]), pid=None)

    def files(self) -> list[Path]:
        """Return the mark files. Open sessions watch these files to notice plugins that are tried again."""
        try:
            return [] if self._folder is None else list(self._folder.iterdir())
        except OSError:  # nothing was ever marked
            return []

    def list_marked_by(self, pid: int) -> list[str]:
        """Return the names of the plugins that the process `pid` was loading when it ended."""
        marks = [(path.name, self._read(path.name)) for path in self.files()]
        return sorted(name for name, mark in marks if mark is not None and mark["pid"] == pid)

    def _clear(self, name: str) -> None:
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / name).unlink()

    @contextmanager
    def mark(self, name: str, files: str) -> Iterator[None]:
        """Mark the plugin as being loaded during the `with` block."""
        self._write(name, files, os.getpid())
        try:
            yield
        finally:
            self._clear(name)

    def _read(self, name: str) -> dict[str, object] | None:
        if self._folder is None:
            return None
        try:
            mark = json.loads((self._folder / name).read_bytes())
            return mark if {"pid", "files"} <= mark.keys() else None
        except (OSError, ValueError, AttributeError):  # no mark, or one that is incomplete
            return None

    def _write(self, name: str, files: str, pid: int | None, *, is_left_out: bool = False) -> None:
        if self._folder is None:
            return
        mark = {"pid": pid, "files": files, "is_left_out": is_left_out}
        with suppress(OSError):  # a full or read-only disk must not stop the plugin
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_text(json.dumps(mark), encoding="utf-8")


def _crashes_in_trial(plugin: FoundPlugin, limit_s: float) -> bool:
    """Return True if loading the plugin ends a child process. Raises `PluginError` if that takes too long."""
    command = [sys.executable, "-P", "-m", "tui_agent.plugin_host.load_trial"]
    try:
        ran = subprocess.run(
            command, input=pickle.dumps(plugin), capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PluginError(NOT_TRIED.format(limit_s)) from error
    return not ran.stdout.endswith(TRIAL_ENDED)


def _is_running(pid: object) -> bool:
    if not isinstance(pid, int) or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
