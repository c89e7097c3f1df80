"""The files and folders named by a case, and a digest of the case with their contents."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from tui_agent.evals.cases.case import Case


def named_paths(case: Case) -> list[Path]:
    """Return the absolute paths of the files and folders that a case names."""
    names = [case.fixture, case.recording]
    names += case.expected.files.values() if case.expected is not None else ()
    names += (case.harbor.tests,) if case.harbor is not None else ()
    names += (case.verifier.environment,) if case.verifier is not None else ()
    names += (os.path.dirname(case.environment.dockerfile) or ".",) if case.environment is not None else ()  # noqa: PTH120
    return [Path(os.path.normpath(case.folder.resolve() / name)) for name in names if name]


def case_digest(case: Case) -> str:
    """Return a digest of the case and its files. Raise `OSError` if a file cannot be read."""
    home = case.folder.resolve()
    digest = hashlib.sha256(case.model_dump_json().encode())
    for path in sorted({file for named in named_paths(case) for file in _files_below(named)}):
        content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for part in (os.fsencode(os.path.relpath(path, home)), content):
            digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()[:32]


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_symlink() or path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (
            file for name in (*names, *links) if (file := Path(folder, name)).is_symlink() or file.is_file()
        )
