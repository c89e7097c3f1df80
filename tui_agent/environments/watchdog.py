"""L3: what ends the running programs when this process itself is killed and cannot.

A small shell process waits at a pipe whose other end only this process holds. The pipe's end is this process's end,
whatever the cause; then all groups that were running are killed, and on Linux whatever else carries the marker.
Invariant: it is told of a program before that can do anything unseen, and it never outlives this process for long.
"""

import os
import weakref
from contextlib import suppress
from threading import Lock

SCRIPT = """
trap '' HUP INT TERM QUIT
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
    .) exit 0 ;;
  esac
done
for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
for pass in 1 2 3 4 5; do
  found=$(grep -alsF "$1" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for file in $found; do pid=${file#/proc/}; kill -KILL "${pid%/environ}" 2>/dev/null; done
done
"""


class Watchdog:
    """Watches over the programs of one environment. `marker` is how their environment's variable begins."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._lock = Lock()
        self._pipe = -1
        self._pid = -1
        self._closed = False
        self._release: weakref.finalize[[int], Watchdog] | None = None

    def start(self) -> None:
        """Start watching; later calls do nothing. Where it cannot start, programs run unwatched."""
        with self._lock:
            if self._pipe >= 0 or self._closed:
                return
            read_end, write_end = os.pipe()
            try:
                self._pid = os.posix_spawn(
                    "/bin/sh",
                    ["sh", "-c", SCRIPT, "tui-agent-watchdog", self._marker],
                    {"PATH": "/usr/bin:/bin"},
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, read_end, 0),
                        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                        (os.POSIX_SPAWN_DUP2, 1, 2),
                    ],
                    setpgroup=0,
                )
            except OSError:
                os.close(write_end)
                return
            finally:
                os.close(read_end)
            os.set_blocking(write_end, False)
            self._pipe = write_end
            self._release = weakref.finalize(self, os.close, write_end)
            self._release.atexit = False

    def began(self, group: int) -> None:
        """A program's process group lives."""
        self._say(f"+ {group}\n")

    def ended(self, group: int) -> None:
        """Nothing of the group is left."""
        self._say(f"- {group}\n")

    def close(self) -> None:
        """Stop watching: everything has been ended."""
        with self._lock:
            self._closed = True
            if self._release is None or self._pipe < 0:
                return
            self._say(".\n")
            self._pipe = -1
            self._release()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _say(self, line: str) -> None:
        if self._pipe >= 0:
            with suppress(BlockingIOError, BrokenPipeError):
                os.write(self._pipe, line.encode())
