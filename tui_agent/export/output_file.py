"""Writing of export files.

Invariant: no file is ever overwritten, and no partial file remains.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from tui_agent.config.settings.export_folder import default_export_folder
from tui_agent.errors import StoreFull, UsageError

FILE_MODE = 0o600


@contextmanager
def create_file(dest: Path) -> Iterator[Path]:
    """Yield a temporary file next to `dest`. When the `with` block ends without an error, rename the file to `dest`.

    Raise `UsageError` if `dest` exists, and `StoreFull` if it cannot be written.
    """
    if os.path.lexists(dest):
        raise _exists_error(dest)
    try:
        handle, name = mkstemp(prefix=f".{dest.name[:40]}.", dir=dest.parent)
    except OSError as fault:
        raise _write_error(dest, fault) from fault
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(FILE_MODE)
        _link_to_name(draft, dest)
    except OSError as fault:
        raise _write_error(dest, fault) from fault
    finally:
        draft.unlink(missing_ok=True)


def _link_to_name(draft: Path, dest: Path) -> None:
    try:
        os.link(draft, dest)  # unlike a rename, this never replaces another file
    except FileExistsError as fault:
        raise _exists_error(dest) from fault
    except OSError:  # The file system does not support hard links.
        draft.replace(dest)


def write_new(dest: Path, data: bytes) -> None:
    """Write a new file; after an error, no partial file remains."""
    with create_file(dest) as draft:
        draft.write_bytes(data)


def output_path(output: str | None, data_dir: Path, workspace: Path, stem: str, ending: str) -> Path:
    """Return the path of the file to write. If `output` is a folder, the path is an unused name in this folder.

    If `output` is None, the default folder is used.
    """
    dest = Path(output).expanduser() if output else default_export_folder(data_dir, workspace)
    return unused_path(dest, stem, ending) if dest.is_dir() else dest


def unused_path(folder: Path, stem: str, ending: str) -> Path:
    """Return an unused path in `folder`: `stem.ending`, `stem-2.ending`, …"""
    number = 1
    while os.path.lexists(path := folder / f"{stem}{'' if number == 1 else f'-{number}'}.{ending}"):
        number += 1
    return path


def _exists_error(dest: Path) -> UsageError:
    return UsageError(
        f"The file {dest} already exists.", hint="Choose another name with -o, or remove the existing file."
    )


def _write_error(dest: Path, fault: OSError) -> StoreFull:
    return StoreFull(
        f"{dest} could not be written: {fault.strerror or fault}.",
        hint="Check that the folder exists and is writable, and that the disk has space.",
    )
