"""Run as a program: swaps files and folders of a workspace with links out of it, as fast as it can, until it is killed.

Invariant: touches nothing but the names that it made; how often it swapped stands in the file `count`, as eight bytes.
"""

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

EXCHANGE = 2
AT_FDCWD = -100
PAIRS = (
    ("d", "d.link"),
    ("f", "f.link"),
    ("deep/x", "deep/x.link"),
    ("deep/x/y", "deep/x/y.link"),
    ("new", "new.link"),
)
"""Names in the workspace: what is real, and the link out of it that takes its place."""


@dataclass(frozen=True)
class Arena:
    """The workspace that is swapped about, the folder outside, and how often it was done so far."""

    root: Path
    outside: Path
    counter: mmap.mmap

    @property
    def swaps(self) -> int:
        return int.from_bytes(self.counter[:8], "little")


def lay_out(folder: Path) -> tuple[Path, Path]:
    """The workspace with its pairs, and the folder outside that the links lead to."""
    root, outside = folder / "root", folder / "outside"
    for made in (root / "d", root / "deep" / "x" / "y", root / "new", outside / "y", outside / "x" / "y"):
        made.mkdir(parents=True)
    for path in (root / "f", root / "d" / "f", root / "deep" / "x" / "f", root / "deep" / "x" / "y" / "f"):
        path.write_text("inside\n")
    for path in (outside / "f", outside / "y" / "f", outside / "x" / "f", outside / "x" / "y" / "f"):
        path.write_text("OUTSIDE\n")
    for real, link in PAIRS:
        target = outside / "f" if real == "f" else outside
        with suppress(FileExistsError):
            (root / link).symlink_to(target)
    (folder / "count").write_bytes(bytes(8))
    return root, outside


@contextmanager
def swapping(folder: Path) -> Iterator[Arena]:
    """An arena that another process swaps about until the block ends."""
    root, outside = lay_out(folder)
    with (folder / "count").open("r+b") as file:
        counter = mmap.mmap(file.fileno(), 8)
    command = (sys.executable, "-S", __file__, str(root), str(folder / "count"))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            yield Arena(root, outside, counter)
        finally:
            process.kill()
    counter.close()


def main() -> None:
    """Swap the pairs of the folder that was named, each at once (so that one of the two is always there)."""
    os.chdir(sys.argv[1])
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    with Path(sys.argv[2]).open("r+b") as file:
        counter = mmap.mmap(file.fileno(), 8)
    count = 0
    pairs = [(real.encode(), link.encode()) for real, link in PAIRS]
    while os.getppid() != 1:
        for real, link in pairs:
            exchange(AT_FDCWD, real, AT_FDCWD, link, EXCHANGE)
            count += 1
        counter[:8] = count.to_bytes(8, "little")


if __name__ == "__main__":
    main()
