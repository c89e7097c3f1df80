"""What a checkpoint store may keep, and where there can be none."""

import os
from dataclasses import dataclass
from pathlib import Path

from tui_agent.config.programs import find_program, safe_path
from tui_agent.config.settings import CheckpointSettings
from tui_agent.protocol.events.files import PATHS_NAMED

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """All in bytes, but for `named`."""

    file_bytes: int = 5 * MEGABYTE
    """A file above this is not taken up; one that is kept already stays kept as it grows."""
    total_bytes: int = 1_000 * MEGABYTE
    """What the store may grow by, the first checkpoint apart; also what a first checkpoint reads at most."""
    baseline_bytes: int = 256 * MEGABYTE
    """Borrowed objects are copied when all of them together are not more than this."""
    shown_bytes: int = MEGABYTE
    """A file above this is told by its size only."""
    named: int = PATHS_NAMED
    """Changed paths that are told in detail."""


def limits_of(settings: CheckpointSettings) -> Limits:
    """The limits that the configuration gives."""
    return Limits(
        file_bytes=round(settings.file_mb * MEGABYTE),
        total_bytes=round(settings.total_mb * MEGABYTE),
        baseline_bytes=round(settings.borrowed_mb * MEGABYTE),
    )


def git_program(workspace: Path) -> str | None:
    """The git program, never one that lies in the workspace, or in the project that one stands in: a store is looked at
    from there too, when its workspace is not known."""
    here, home = _here(), _home()
    if here is None or here == here.parent or (home is not None and home.is_relative_to(here)):
        return find_program("git", workspace, os.environ)
    return find_program("git", workspace, {"PATH": safe_path(here, os.environ)})


def why_unavailable(workspace: Path, program: str | None, sessions: Path | None = None) -> str:
    """Why there are no checkpoints of this (resolved) workspace; empty where there can be.

    `sessions` is the folder of all sessions: a workspace that holds it would keep what the sessions write as they go.
    """
    home = _home()
    if workspace == workspace.parent or (home is not None and home.is_relative_to(workspace)):
        what = "the home folder" if workspace == home else "a folder that holds the home folder"
        return (
            f"There are no checkpoints here: {workspace} is {what}. Start in a project's folder to have them."
        )
    if sessions is not None and sessions.resolve().is_relative_to(workspace):
        return (
            f"There are no checkpoints here: {workspace} holds the sessions themselves ({sessions}). "
            "Start in a project's folder, or move the sessions with --data-dir, to have them."
        )
    if not workspace.is_dir():
        return f"There are no checkpoints: {workspace} is not a folder."
    if program is None:
        return "There are no checkpoints: the git program was not found. Install git to have them."
    return ""


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it is gone
        return None


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None  # a user that the system does not know has none


def size_in_words(count: int) -> str:
    """A size as a person says it."""
    if count >= 1_000 * MEGABYTE:
        return f"{count / 1_000 / MEGABYTE:.3g} GB"
    return f"{count / MEGABYTE:.3g} MB" if count >= MEGABYTE else f"{count / 1_000:.3g} KB"
