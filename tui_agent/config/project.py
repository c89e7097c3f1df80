"""Folders whose files can configure a start, and their trust states.

Invariant: only the real environment decides which trust list is used, never a project's file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.config import trust
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import find
from tui_agent.config.project_files import ProjectFiles, look


@dataclass(frozen=True)
class Project:
    """A folder as the user named it, its files and their trust state."""

    folder: Path
    files: ProjectFiles
    standing: trust.Standing

    @property
    def trusted(self) -> bool:
        """True if the project's files are used."""
        return self.standing == "trusted"


def projects(
    options: SessionOptions, environ: Mapping[str, str], *, here: Path | None = None
) -> tuple[Project, ...]:
    """Return the starting folder (`here`), the project and the working folder, nearest last; each is read
    once.
    """
    paths = find(options.cwd, environ)
    loaded: list[Project] = []
    for folder in dict.fromkeys((here or options.cwd, paths.project, options.cwd)):
        files = look(folder)
        if folder != paths.project and not any(file.name == ".env" for file in files.files):
            continue  # outside the project only `.env` counts
        standing = trust.standing(files, paths, options.trusted_once)
        if standing == "open" and options.ignore_project:
            standing = "without"
        loaded.append(Project(folder, files, standing))
    return tuple(loaded)


def ruling(looked: Sequence[Project], options: SessionOptions, environ: Mapping[str, str]) -> Project:
    """Return the project whose `.tui_agent/` counts."""
    folder = find(options.cwd, environ).project
    return next(project for project in looked if project.folder == folder)
