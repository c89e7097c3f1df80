"""The folders whose own files could steer a start, each looked at once, and what holds for them.

Invariant: which list of decisions counts is said by the real environment alone, never by a file of a project.
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
    """A folder as the user names it, its files, and whether they may be used."""

    folder: Path
    files: ProjectFiles
    standing: trust.Standing

    @property
    def trusted(self) -> bool:
        """Whether its files are used."""
        return self.standing == "trusted"


def projects(
    options: SessionOptions, environ: Mapping[str, str], *, here: Path | None = None
) -> tuple[Project, ...]:
    """The folder that the program was started in (`here`), the project and the working folder, the nearer one later."""
    paths = find(options.cwd, environ)
    looked: list[Project] = []
    for folder in dict.fromkeys((here or options.cwd, paths.project, options.cwd)):
        files = look(folder)
        if folder != paths.project and not any(one.name == ".env" for one in files.files):
            continue  # of the others only this file would count
        standing = trust.standing(files, paths, options.trusted_once)
        if standing == "open" and options.ignore_project:
            standing = "without"
        looked.append(Project(folder, files, standing))
    return tuple(looked)


def ruling(looked: Sequence[Project], options: SessionOptions, environ: Mapping[str, str]) -> Project:
    """The one of them whose `.tui_agent/` counts."""
    folder = find(options.cwd, environ).project
    return next(one for one in looked if one.folder == folder)
