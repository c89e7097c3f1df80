"""Lookup of system programs that the app starts itself.

Invariant: a program inside the workspace, or found through a relative entry of `PATH`, is never used.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def safe_path(workspace: Path, environ: Mapping[str, str]) -> str:
    """Return `PATH` with only the absolute entries outside the workspace."""
    root = workspace.resolve()
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    safe = [
        folder
        for folder in folders
        if Path(folder).is_absolute() and not Path(folder).resolve().is_relative_to(root)
    ]
    return os.pathsep.join(safe)


def find_program(name: str, workspace: Path, environ: Mapping[str, str]) -> str | None:
    """Return the path of an installed program. Return None if there is no such program outside the workspace."""
    path = shutil.which(name, path=safe_path(workspace, environ))
    if path is None or Path(path).resolve().is_relative_to(workspace.resolve()):
        return None
    return path


def find_system_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of an installed program. Return None if there is no such program outside the current folder."""
    try:
        return find_program(name, Path.cwd(), environ)
    except OSError:
        return None
