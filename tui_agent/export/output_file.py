"""Putting an export in its place. Invariant: nothing is ever overwritten, and no half file stays behind."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from tui_agent.errors import StoreFull, UsageError

FILE_MODE = 0o600


@contextmanager
def new_file(dest: Path) -> Iterator[Path]:
    """A file beside `dest` to be written, which then gets its name. Raises `UsageError` where there is one already."""
    if os.path.lexists(dest):
        raise UsageError(f"There is a file {dest} already.", hint="Name another one with -o, or remove it.")
    try:
        handle, name = mkstemp(prefix=f".{dest.name[:40]}.", dir=dest.parent)
    except OSError as fault:
        raise _refused(dest, fault) from fault
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(FILE_MODE)
        _name(draft, dest)
    except OSError as fault:
        raise _refused(dest, fault) from fault
    finally:
        draft.unlink(missing_ok=True)


def _name(draft: Path, dest: Path) -> None:
    try:
        os.link(draft, dest)  # unlike a rename this never takes the place of another file
    except FileExistsError as fault:
        raise UsageError(f"There is a file {dest} already.", hint="Name another one.") from fault
    except OSError:  # a file system without links
        draft.replace(dest)


def write_new(dest: Path, data: bytes) -> None:
    """Write a new file, whole or not at all."""
    with new_file(dest) as draft:
        draft.write_bytes(data)


def free_name(folder: Path, stem: str, ending: str) -> Path:
    """A name in `folder` that nothing has yet: `stem.ending`, `stem-2.ending`, …"""
    number = 1
    while os.path.lexists(path := folder / f"{stem}{'' if number == 1 else f'-{number}'}.{ending}"):
        number += 1
    return path


def _refused(dest: Path, fault: OSError) -> StoreFull:
    return StoreFull(
        f"{dest} could not be written: {fault.strerror or fault}.",
        hint="Check that the folder is there, that it can be written, and that the disk has space.",
    )
