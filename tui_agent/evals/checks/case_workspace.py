"""Workspaces of evaluation cases: fresh copies of fixtures, and copies in which tests run.

Invariant: the copied fixture or workspace is never changed.
"""

import os
import shutil
import time
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case

NOT_COPIED = ("Dockerfile", "docker-compose.yaml", ".dockerignore")
FIXTURE_AGE_S = 60
"""The modification times of the files in `Case.files` are set back by this many seconds.

Otherwise, Python could overlook an edit that is made right after the start.
"""


def create_workspace(case: Case, target: Path) -> None:
    """Copy the case's fixture to the new folder `target`. Raise `ConfigError` if the fixture cannot be copied."""
    target.mkdir(parents=True)
    fixture = case.fixture_folder
    try:
        if fixture is not None and case.harbor is not None:
            _copy_as_container(case, fixture, target)
        elif fixture is not None:
            shutil.copytree(fixture, target, symlinks=True, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise ConfigError(f"The fixture {fixture} cannot be copied: {error}.") from error
    changed_at = time.time() - FIXTURE_AGE_S
    for name, text in case.files.items():
        try:
            _write_file(target, name, text)
            os.utime(target / name, (changed_at, changed_at))
        except OSError as error:
            reason = f"cannot be written: {error.strerror}."
            raise ConfigError(f"{case.id or case.folder}, at files: {name!r} {reason}") from error


def create_check_copy(case: Case, workspace: Path, target: Path) -> None:
    """Copy the workspace to `target` and add the case's hidden tests. Raise `OSError` if that fails.

    A hidden test replaces whatever the agent made at the test's path. Pipes, sockets and devices are not copied.
    """
    shutil.rmtree(target, ignore_errors=True)
    try:
        shutil.copytree(workspace, target, symlinks=True, ignore=_ignore_special_files)
    except shutil.Error as errors:  # it lists all files
        source, _, reason = errors.args[0][0]
        raise OSError(f"{source} cannot be copied: {reason}") from errors
    for name, text in case.test_files.items():
        for folder in reversed((target / name).relative_to(target).parents):
            place = target / folder
            if place.is_symlink() or place.is_file():
                place.unlink()
        if (target / name).is_dir() and not (target / name).is_symlink():
            shutil.rmtree(target / name)
        (target / name).unlink(missing_ok=True)
        _write_file(target, name, text)


def _ignore_special_files(folder: str, names: list[str]) -> list[str]:
    kinds = {name: Path(folder, name).lstat().st_mode for name in names}
    return [name for name, mode in kinds.items() if not (S_ISREG(mode) or S_ISDIR(mode) or S_ISLNK(mode))]


def _write_file(target: Path, name: str, text: str) -> None:
    path = target / name
    if not path.parent.resolve().is_relative_to(target.resolve()) or path.is_symlink():
        raise ConfigError(f"The file {name} would be written outside the workspace, through a link.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if text.startswith("#!"):  # a case cannot give a file's mode
        path.chmod(path.stat().st_mode | 0o111)


def _copy_as_container(case: Case, fixture: Path, target: Path) -> None:
    """Copy the files of the fixture that the Dockerfile copies to the container's working directory.

    If the Dockerfile copies no files, copy the whole fixture.
    """
    assert case.harbor is not None
    root = fixture.resolve()
    for source, place in case.harbor.copies:
        inside = _place_in_workspace(place, case.harbor.work_dir)
        path = (root / source.lstrip("/")).resolve()
        if inside is None or not path.is_relative_to(root) or not path.exists():
            continue
        if path.is_dir():
            shutil.copytree(
                path, target / inside, symlinks=True, dirs_exist_ok=True, ignore=_ignore_build_files
            )
        else:
            copy = target / inside
            copy = copy / path.name if place.endswith(("/", ".")) or copy.is_dir() else copy
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy, follow_symlinks=False)
    if not case.harbor.copies:
        shutil.copytree(root, target, symlinks=True, dirs_exist_ok=True, ignore=_ignore_build_files)
        tests = (case.folder / case.harbor.tests).resolve()
        if tests.is_relative_to(root):  # the agent must not see them
            shutil.rmtree(target / tests.relative_to(root), ignore_errors=True)


def _ignore_build_files(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in NOT_COPIED]


def _place_in_workspace(place: str, work_dir: str) -> str | None:
    """Convert a path in the container to a path relative to the workspace, or None if the path is outside."""
    path = Path(place)
    return (
        str(path.relative_to(work_dir)) if path.is_relative_to(work_dir) and ".." not in path.parts else None
    )
