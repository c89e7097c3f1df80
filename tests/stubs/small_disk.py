"""A file system of few bytes in memory, so that a disk can really be full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stubs.left_out import leave_out


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A new folder with a file system of so many bytes (`4m`); gone afterwards.

    Where this user may not mount one the test is skipped, with a word, but never where CI runs it.
    """
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        leave_out(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
