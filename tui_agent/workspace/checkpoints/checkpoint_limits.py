"""Size limits of a checkpoint store, and the reasons why a workspace has no checkpoint store."""

import os
from pathlib import Path

from tui_agent.config.settings.settings import CheckpointSettings
from tui_agent.config.system_programs import find_program, safe_path
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.files import MAX_PATHS_IN_EVENT

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Size limits of a checkpoint store, in bytes except `max_paths`."""

    file_bytes: int = 5 * MEGABYTE
    """Maximum size of a new file in bytes. Larger files are not saved. A file in an earlier checkpoint has no limit."""
    total_bytes: int = 1_000 * MEGABYTE
    """Maximum bytes to read for the first checkpoint. All later checkpoints together can add as many bytes again."""
    baseline_bytes: int = 256 * MEGABYTE
    """Maximum total bytes of borrowed objects that are copied into the store."""
    shown_bytes: int = MEGABYTE
    """Maximum size of a file whose content is reported, in bytes."""
    max_paths: int = MAX_PATHS_IN_EVENT
    """Maximum number of changed paths that are reported in detail."""


def read_limits(settings: CheckpointSettings) -> Limits:
    """Return the configured size limits."""
    return Limits(
        file_bytes=round(settings.file_mb * MEGABYTE),
        total_bytes=round(settings.total_mb * MEGABYTE),
        baseline_bytes=round(settings.borrowed_mb * MEGABYTE),
    )


def find_git(workspace: Path) -> str | None:
    """Return the path of a git program outside the workspace and the current folder, or None."""
    current, home_folder = _current_folder(), _home_folder()
    if (
        current is None
        or current == current.parent
        or (home_folder is not None and home_folder.is_relative_to(current))
    ):
        return find_program("git", workspace, os.environ)
    return find_program("git", workspace, {"PATH": safe_path(current, os.environ)})


def unavailable_reason(workspace: Path, program: str | None, sessions: Path | None = None) -> str:
    """Return the reason why a workspace (a resolved path) cannot have checkpoints, or an empty string.

    `sessions`: the folder of all sessions, which must not be in the workspace.
    """
    home = _home_folder()
    if workspace == workspace.parent or (home is not None and home.is_relative_to(workspace)):
        description = "your home folder" if workspace == home else "a folder that contains your home folder"
        return f"There are no checkpoints here: {workspace} is {description}. To get checkpoints, start in a project's folder."
    if sessions is not None and sessions.resolve().is_relative_to(workspace):
        return (
            f"There are no checkpoints here: {workspace} contains the folder with the saved sessions ({sessions}). "
            "To get checkpoints, start in a project's folder, or move the sessions with --data-dir."
        )
    if not workspace.is_dir():
        return f"There are no checkpoints: {workspace} is not a folder."
    if program is None:
        return "There are no checkpoints: git was not found. Install git to get them."
    return ""


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the current folder was deleted
        return None


def _home_folder() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None  # an unknown user has no home folder
