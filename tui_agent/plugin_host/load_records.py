"""Records of plugins that are being loaded, and of plugins that are left out after a failed load.

Invariant: if the process died during a load, the records name the suspect plugins.
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
from tui_agent.json_text import parse_json
from tui_agent.plugin_host.discover import FoundPlugin
from tui_agent.units import format_time_limit

RECORDS_FOLDER = "plugins_loading"
"""Name of the folder for records, inside the cache folder."""
ENDED_THE_PROGRAM = "tui-agent exited while loading it, so it is not loaded again until its files change."
TOOK_TOO_LONG = "Loading it took more than {}, so it is not loaded again until its files change."
TRIAL_ENDED = b"The trial has ended."
"""Text that the trial process writes after a load. The text is missing if the load ended the process."""


class PluginLeftOut(PluginError):
    """Raised for a plugin that is not loaded, because loading it earlier ended the program or took too long."""


class LoadRecords:
    """Writes and reads the records about loads, one file per plugin in `folder`.

    If `folder` is None, nothing is recorded.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def check(self, plugin: FoundPlugin, files: str, limit_s: float) -> str:
        """Return why the plugin must not be loaded, or an empty string.

        If a process ended while it was loading the plugin, first load the plugin in a child process.

        - `files`: the state of the plugin's files (see `files_state`).
        - `limit_s`: time limit for the load in the child process, in seconds.
        """
        if self._is_suspect(plugin.name, files):
            reason = _try_loading(plugin, limit_s)
            if reason:
                self.leave_out(plugin.name, files, reason)
        return self.find_reason(plugin.name, files)

    def find_reason(self, name: str, files: str) -> str:
        """Return the recorded reason why the plugin `name` is left out, or an empty string.

        `files`: the present state of the plugin's files (see `files_state`). A reason that was recorded for an
        earlier state does not count.
        """
        record = self._read(name)
        return str(record["left_out"]) if record is not None and record["files"] == files else ""

    def leave_out(self, name: str, files: str, reason: str) -> None:
        """Record that no process loads the plugin until its files change or `try_again` is called."""
        self._write(name, files, None, reason)

    def try_again(self, name: str) -> None:
        """Allow all processes to load a left-out plugin again; open sessions do so at once."""
        record = self._read(name)
        if record is None or not record["left_out"]:
            return
        if record["left_out"] == ENDED_THE_PROGRAM:
            self._write(name, str(record["files"]), None)
        else:
            self._clear(name)

    def files(self) -> list[Path]:
        """Return the record files, which open sessions watch."""
        try:
            return [] if self._folder is None else list(self._folder.iterdir())
        except OSError:  # nothing was ever recorded
            return []

    def list_loaded_by(self, pid: int) -> list[str]:
        """Return the names of the plugins that the process `pid` was loading when it ended."""
        records = [(path.name, self._read(path.name)) for path in self.files()]
        return sorted(name for name, record in records if record is not None and record["pid"] == pid)

    @contextmanager
    def mark(self, name: str, files: str) -> Iterator[None]:
        """During the `with` block, record that the plugin is being loaded."""
        self._write(name, files, os.getpid())
        try:
            yield
        finally:
            if not self.find_reason(name, files):  # a load that took too long may end after it was given up
                self._clear(name)

    def _is_suspect(self, name: str, files: str) -> bool:
        """Return True if a process ended while it was loading the plugin from these files."""
        record = self._read(name)
        if record is None or record["files"] != files or record["left_out"]:
            return False
        return not _is_running(record["pid"])

    def _clear(self, name: str) -> None:
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / name).unlink()

    def _read(self, name: str) -> dict[str, object] | None:
        if self._folder is None:
            return None
        try:
            record = parse_json((self._folder / name).read_bytes())
            return record if {"pid", "files", "left_out"} <= record.keys() else None
        except (OSError, ValueError, AttributeError):  # no record, or one that is incomplete
            return None

    def _write(self, name: str, files: str, pid: int | None, left_out: str = "") -> None:
        if self._folder is None:
            return
        record = {"pid": pid, "files": files, "left_out": left_out}
        with suppress(OSError):  # a full or read-only disk must not stop the plugin
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_text(json.dumps(record), encoding="utf-8")


def _try_loading(plugin: FoundPlugin, limit_s: float) -> str:
    """Load the plugin in a child process. Return why it must be left out, or an empty string."""
    command = [sys.executable, "-P", "-m", "tui_agent.plugin_host.load_trial"]
    try:
        ran = subprocess.run(
            command, input=pickle.dumps(plugin), capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return TOOK_TOO_LONG.format(format_time_limit(limit_s))
    return "" if ran.stdout.endswith(TRIAL_ENDED) else ENDED_THE_PROGRAM


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
