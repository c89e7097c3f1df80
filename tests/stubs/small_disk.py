"""A file system of few bytes in memory, so that a disk can really be full."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stubs.left_out import leave_out

SOURCE = "tui-agent-test-"
"""What is mounted is called so, with the number of the process that did it."""
MOUNTS = Path("/proc/self/mountinfo")


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A new folder with a file system of so many bytes (`4m`); gone afterwards, or with the next one if we are killed."""
    for left in left_behind(MOUNTS.read_text() if MOUNTS.exists() else ""):
        subprocess.run(["umount", "-l", left], check=False)  # another run may be about it, too
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", f"{SOURCE}{os.getpid()}", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        leave_out(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def left_behind(mounts: str) -> list[str]:
    """Where one is mounted whose process has ended."""
    found = re.findall(rf"^\S+ \S+ \S+ \S+ (\S+) .* - tmpfs {SOURCE}(\d+) ", mounts, re.MULTILINE)
    return [
        re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), place)
        for place, pid in found
        if not Path(f"/proc/{pid}").exists()
    ]
