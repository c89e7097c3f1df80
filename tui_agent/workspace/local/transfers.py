"""Copies between an environment and this machine, and archives of a workspace.

The functions block: call them in a thread.

Invariant: links are copied as links, and an archive is complete or absent.
"""

import shutil
import tarfile
from pathlib import Path

from tui_agent.errors import EnvironmentFault


def copy_merged(source: Path, target: Path) -> None:
    """Copy a file or folder to the path `target`. Other files in the target folder stay.

    Raise `EnvironmentFault` if copying fails.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        elif target.is_dir():
            raise EnvironmentFault(
                f"{target} is a folder.", hint="Give the path of the new file, not only its folder."
            )
        else:
            shutil.copy2(source, target)
    except (OSError, shutil.Error) as error:
        raise EnvironmentFault(f"{source} could not be copied: {error}") from error


def write_archive(folder: Path, to: Path) -> None:
    """Write a folder's content as a `tar.gz` archive with paths relative to the folder."""
    unfinished = to.with_name(f"{to.name}.part")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(unfinished, "w:gz") as archive:
            archive.add(folder, ".", filter=lambda item: None if folder / item.name == unfinished else item)
        unfinished.replace(to)
    except (OSError, tarfile.TarError) as error:
        raise EnvironmentFault(f"The workspace could not be archived: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)
