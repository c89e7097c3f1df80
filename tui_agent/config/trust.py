"""Whether a project's own files may be used: only as the user decided about this folder with exactly this content.

Invariant: asking writes nothing; a damaged or absent list trusts nothing; what is trusted is the content that was
shown, never what stands there later. Trust is for the folder at its real path: not for one above, below or beside it,
nor for a copy.
"""

import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.config.files import write_private
from tui_agent.config.paths import PROJECT_FOLDER, Paths
from tui_agent.config.project_files import ProjectFiles, key_of, look
from tui_agent.config.project_powers import refused_config
from tui_agent.errors import ConfigError

Decision: TypeAlias = Literal["trusted", "without"]
Standing: TypeAlias = Literal["nothing", "trusted", "without", "open"]
"""What holds for a folder: it has no such files; they are used; they are left aside as the user said; undecided."""

Mark: TypeAlias = Literal["", "new", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class Decided:
    """What the user said of a folder, and the content that it was said of (name to digest)."""

    decision: Decision
    files: Mapping[str, str]


def standing(found: ProjectFiles, paths: Paths, once: Collection[str] = ()) -> Standing:
    """What holds for these files now. `once` are keys of contents that are trusted for this run."""
    if not found.files:
        return "nothing"
    if found.key in once and not found.fault:
        return "trusted"
    decided = decisions(paths).get(str(found.folder))
    if decided is None or dict(decided.files) != _seen(found):
        return "open"
    return "open" if found.fault and decided.decision == "trusted" else decided.decision


def marks(found: ProjectFiles, paths: Paths) -> dict[str, Mark]:
    """What differs from the content that was last decided about, by name; nothing where nothing was."""
    decided = decisions(paths).get(str(found.folder))
    if decided is None:
        return {}
    before, now = decided.files, _seen(found)
    marked: dict[str, Mark] = {name: "gone" for name in before if name not in now}
    for name, digest in now.items():
        if before.get(name) != digest:
            marked[name] = "changed" if name in before else "new"
    return marked


def decide(found: ProjectFiles, decision: Decision, paths: Paths) -> None:
    """Remember the user's word about exactly these files. Raises `ConfigError` where they cannot be trusted."""
    if decision == "trusted" and found.fault:
        raise ConfigError(
            f"{found.folder} cannot be trusted: {found.fault}.",
            hint="Only plain files can be bound to their content; make it one, or remove it.",
        )
    if decision == "trusted" and (refused := refused_config(found)):
        raise ConfigError(
            f"{found.folder} cannot be trusted: {refused}.",
            hint=f"Remove it from {PROJECT_FOLDER}/config.toml, or go on without these files.",
        )
    listed = decisions(paths)
    _drop_copy(found.folder, listed.get(str(found.folder)), paths)
    _write(paths, {**listed, str(found.folder): Decided(decision, _seen(found))})


def forget(folder: Path, paths: Paths) -> bool:
    """Take back what was said of a folder; False where nothing was."""
    listed, real = decisions(paths), folder.resolve()
    before = listed.pop(str(real), None)
    if before is None:
        return False
    _drop_copy(real, before, paths)
    _write(paths, listed)
    return True


def holds(folder: Path, paths: Paths) -> bool:
    """Whether what was said of a folder is still said of the files that it has now."""
    return standing(look(folder), paths) in ("trusted", "without")


def decisions(paths: Paths) -> dict[str, Decided]:
    """What the user said, by the folder's real path."""
    try:
        listed = json.loads(paths.trust.read_text(encoding="utf-8"))["folders"]
        return {str(folder): _decided(one) for folder, one in listed.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # a damaged list trusts nothing


def _decided(one: Mapping[str, object]) -> Decided:
    files = one["files"]
    if not isinstance(files, dict):
        raise TypeError
    decision: Decision = "trusted" if one["decision"] == "trusted" else "without"
    return Decided(decision, {str(name): str(digest) for name, digest in files.items()})


def _seen(found: ProjectFiles) -> dict[str, str]:
    """Digests by name; of what has no content, its fault stands in."""
    return {one.name: one.fault or one.digest for one in found.files}


def _drop_copy(folder: Path, before: Decided | None, paths: Paths) -> None:
    if before is not None and before.decision == "trusted":
        shutil.rmtree(paths.trusted_copies / key_of(folder, before.files), ignore_errors=True)


def _write(paths: Paths, listed: Mapping[str, Decided]) -> None:
    plain = {folder: {"decision": one.decision, "files": dict(one.files)} for folder, one in listed.items()}
    write_private(paths.trust, json.dumps({"folders": plain}, indent=1))
