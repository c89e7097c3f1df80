"""Where a program of the system lies that we start ourselves.

Invariant: never one in the folder that is worked in, nor one by a relative entry of `PATH`: what a repository brings
along is not started because of its name.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def safe_path(workspace: Path, environ: Mapping[str, str]) -> str:
    """`PATH` without relative entries and without those inside the workspace, links resolved."""
    inside = workspace.resolve()
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    kept = [
        folder
        for folder in folders
        if Path(folder).is_absolute() and not Path(folder).resolve().is_relative_to(inside)
    ]
    return os.pathsep.join(kept)


def find_program(name: str, workspace: Path, environ: Mapping[str, str]) -> str | None:
    """The program of this name; None where there is none outside the workspace."""
    found = shutil.which(name, path=safe_path(workspace, environ))
    if found is None or Path(found).resolve().is_relative_to(workspace.resolve()):
        return None
    return found


def find_outside(name: str, environ: Mapping[str, str]) -> str | None:
    """`find_program` for where nothing but the current folder is known; None also where that is gone."""
    try:
        return find_program(name, Path.cwd(), environ)
    except OSError:
        return None
