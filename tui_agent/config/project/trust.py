"""Trust in a project's own files. A user's decision holds for one folder, and only while its files stay unchanged.

Invariant: trust covers only the content that the user was shown, and only in the folder for which it was shown.

Without a valid list of decisions, nothing is trusted.
"""

import json
import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.config.paths import PROJECT_FOLDER, Paths, find_paths
from tui_agent.config.project.project_files import ProjectFiles, content_key, read_project_files
from tui_agent.config.project.trust_effects import refusal_of_files
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.small_files import write_private
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json

Decision: TypeAlias = Literal["trusted", "without"]
TrustState: TypeAlias = Literal["nothing", "trusted", "without", "open"]
"""Trust state of a folder: `nothing` (no files need trust), `trusted`, `without` (ignore its files) or `open`
(undecided).
"""
FileChange: TypeAlias = Literal["", "new", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class TrustDecision:
    """The user's trust decision about a folder; `files` maps each covered file to its digest."""

    decision: Decision
    files: Mapping[str, str]


def trust_state(files: ProjectFiles, paths: Paths, trusted_once: Collection[str] = ()) -> TrustState:
    """Return the trust state of a folder's files.

    `trusted_once`: keys (`ProjectFiles.key`) of files that are trusted for this run only.
    """
    if not files.files:
        return "nothing"
    if files.key in trusted_once and not files.fault:
        return "trusted"
    decided = load_decisions(paths).get(str(files.folder))
    if decided is None or dict(decided.files) != _digests(files):
        return "open"
    # A file with a fault has no content that could be trusted, but it can be ignored.
    return "open" if files.fault and decided.decision == "trusted" else decided.decision


def compare_files(files: ProjectFiles, paths: Paths) -> dict[str, FileChange]:
    """Return how each file differs from the user's last trust decision; empty without a decision."""
    decision = load_decisions(paths).get(str(files.folder))
    if decision is None:
        return {}
    before, now = decision.files, _digests(files)
    changes: dict[str, FileChange] = {name: "gone" for name in before if name not in now}
    for name, digest in now.items():
        if before.get(name) != digest:
            changes[name] = "changed" if name in before else "new"
    return changes


def save_decision(files: ProjectFiles, decision: Decision, paths: Paths) -> None:
    """Save the user's trust decision about exactly these files. Raise `ConfigError` if the files cannot be trusted."""
    if decision == "trusted":
        _require_regular(files)
        if refused := refusal_of_files(files):
            raise ConfigError(
                f"{files.folder} cannot be trusted: {refused}.",
                hint=f"Remove the setting from {PROJECT_FOLDER}/config.toml, or continue without these files.",
            )
    listed = load_decisions(paths)
    # The copy of the earlier content would never be used again.
    _drop_copy(files.folder, listed.get(str(files.folder)), paths)
    _write(paths, {**listed, str(files.folder): TrustDecision(decision, _digests(files))})


def _require_regular(files: ProjectFiles) -> None:
    if files.fault:
        raise ConfigError(
            f"{files.folder} cannot be trusted: {files.fault}.",
            hint="Only regular files can be trusted. Replace the file with a regular one, or remove it.",
        )


def remove_decision(folder: Path, paths: Paths) -> bool:
    """Remove the trust decision about a folder; return False if there was none."""
    listed, real = load_decisions(paths), folder.resolve()
    removed = listed.pop(str(real), None)
    if removed is None:
        return False
    _drop_copy(real, removed, paths)
    _write(paths, listed)
    return True


def is_decision_current(folder: Path, paths: Paths) -> bool:
    """Return True if the trust decision about a folder covers the folder's current files."""
    return trust_state(read_project_files(folder), paths) in ("trusted", "without")


def load_decisions(paths: Paths) -> dict[str, TrustDecision]:
    """Return a mapping from a folder's real path to the user's trust decision, for all decisions."""
    try:
        listed = parse_json(paths.trust.read_text(encoding="utf-8"))["folders"]
        return {str(folder): _parse_decision(entry) for folder, entry in listed.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # a damaged list trusts nothing


def _parse_decision(entry: Mapping[str, object]) -> TrustDecision:
    files = entry["files"]
    if not isinstance(files, dict):
        raise TypeError
    decision: Decision = "trusted" if entry["decision"] == "trusted" else "without"
    return TrustDecision(decision, {str(name): str(digest) for name, digest in files.items()})


def _digests(files: ProjectFiles) -> dict[str, str]:
    """Map each file's name to the hash of its content, or to the reason why the file cannot be trusted."""
    return {file.name: file.fault or file.digest for file in files.files}


def _drop_copy(folder: Path, decided: TrustDecision | None, paths: Paths) -> None:
    if decided is not None and decided.decision == "trusted":
        shutil.rmtree(paths.trusted_copies / content_key(folder, decided.files), ignore_errors=True)


def _write(paths: Paths, listed: Mapping[str, TrustDecision]) -> None:
    plain = {
        folder: {"decision": decided.decision, "files": dict(decided.files)}
        for folder, decided in listed.items()
    }
    write_private(paths.trust, json.dumps({"folders": plain}, indent=1))


@dataclass(frozen=True)
class Project:
    """A folder, its files that need trust, and their trust state."""

    folder: Path
    files: ProjectFiles
    trust_state: TrustState

    @property
    def is_trusted(self) -> bool:
        """True if the project's own files are used."""
        return self.trust_state == "trusted"


def load_projects(
    options: SessionOptions, environ: Mapping[str, str], *, here: Path | None = None
) -> tuple[Project, ...]:
    """Read the project's files, and the `.env` files of the working folder and of `here`.

    `here`: the folder in which the program was started.
    """
    paths = find_paths(options.cwd, environ)
    loaded: list[Project] = []
    for folder in dict.fromkeys((here or options.cwd, paths.project, options.cwd)):
        files = read_project_files(folder)
        if folder != paths.project and not any(file.name == ".env" for file in files.files):
            continue  # outside the project only `.env` is used
        state = trust_state(files, paths, options.trusted_once)
        if state == "open" and options.ignore_project:
            state = "without"
        loaded.append(Project(folder, files, state))
    return tuple(loaded)


def current_trust_keys(cwd: Path) -> tuple[str, ...]:
    """Return the keys (`ProjectFiles.key`) of the project files that a start in `cwd` would read.

    Raise `ConfigError` if a file's content cannot be hashed.
    """
    projects = load_projects(SessionOptions(cwd=cwd), os.environ, here=Path.cwd())
    for project in projects:
        _require_regular(project.files)
    return tuple(project.files.key for project in projects if project.files.files)
