"""The default folder for exports.

Invariant: the folder is never in a workspace or a git repository.
"""

import os
from pathlib import Path

import platformdirs

from tui_agent.config.project.git_query import locate_repository


def default_export_folder(data_dir: Path, workspace: Path) -> Path:
    """Return the user's documents or downloads folder if it is suitable; otherwise, `exports` in the data folder.

    This function blocks: call it in a thread.
    """
    for folder in (platformdirs.user_documents_path(), platformdirs.user_downloads_path()):
        if _is_suitable(folder, workspace):
            return folder
    exports = data_dir / "exports"
    exports.mkdir(mode=0o700, parents=True, exist_ok=True)
    return exports


def _is_suitable(folder: Path, workspace: Path) -> bool:
    """Return True if the folder can be written, and is outside the workspace and outside every repository."""
    real = folder.resolve()
    is_outside = not real.is_relative_to(workspace.resolve()) and locate_repository(real) is None
    return is_outside and folder.is_dir() and os.access(folder, os.W_OK)
