"""L3: where a path lies and what kind of file it is, without touching the disk.

Invariant: the file that a path really is decides, and the name that was given as well: either one being secret or
protected is enough. Links are followed by whoever fills `PolicyFacts.resolved`.
"""

import posixpath
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.ports.policy import PolicyFacts

OWN_WORKSPACE = "workspace"
"""The folder below a session's own folder in which a fork works where no other was named."""
Guard: TypeAlias = Literal["", "secret", "protected", "system", "ruin"]


@dataclass(frozen=True, slots=True)
class Place:
    """A path as the policy sees it. `relative` is set only inside the workspace, "" for the workspace itself."""

    given: str
    absolute: str
    relative: str | None

    @property
    def inside(self) -> bool:
        """In the workspace, links followed."""
        return self.relative is not None


def place(path: str, facts: PolicyFacts) -> Place:
    """Where a path lies. A path that `facts.resolved` does not name is taken as it reads."""
    workspace = posixpath.normpath(facts.workspace)
    real = facts.resolved.get(path)
    if real is None:
        real = path if path.startswith(("/", "~")) else posixpath.join(workspace, path)
    absolute = posixpath.normpath(real)
    if absolute.startswith("//"):
        absolute = absolute[1:]
    if absolute == workspace:
        return Place(path, absolute, "")
    prefix = workspace.rstrip("/") + "/"
    relative = absolute[len(prefix) :] if absolute.startswith(prefix) else None
    return Place(path, absolute, relative)


class Guards:
    """What no profile allows. `own` are the product's own configuration and data folders, absolute."""

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._own = tuple(posixpath.normpath(path) for path in own)
        self._data = _places()

    def secret(self, at: Place, *, pattern: bool = False) -> bool:
        """Whether it names a file that holds secrets; a pattern, whether it is made to find one."""
        return any(self._secret(path.lower(), pattern) for path in {at.given, at.absolute} if path)

    def write(self, at: Place, facts: PolicyFacts) -> Guard:
        """Why it must not be written; empty where nothing is against it."""
        data = self._data
        if self.secret(at):
            return "secret"
        for path in (at.absolute.lower(), posixpath.normpath(at.given.lower() or ".")):
            parts = path.split("/")
            if set(parts) & data.protected_folders:
                return "protected"
            if data.protected_names.fit(path):
                return "protected"
            if any(f"/{tree}/" in f"/{path}/" for tree in data.protected_trees):
                return "protected"
        if any(_under(at.absolute, folder) for folder in self._own) and not self._of_a_fork(at, facts):
            return "protected"
        if not at.inside and posixpath.basename(at.absolute) in data.protected_outside:
            return "protected"
        return "system" if self._system(at, facts) else ""

    def open_to_all(self, at: Place) -> bool:
        """Whether it belongs to the system and tells nothing of anyone: libraries, headers, the release's name."""
        return any(_under(at.absolute, folder) for folder in self._data.readable)

    def _of_a_fork(self, at: Place, facts: PolicyFacts) -> bool:
        """Whether it lies in the workspace, and that is the folder below its session's in which a fork works."""
        session, name = posixpath.split(posixpath.normpath(facts.workspace))
        return at.inside and name == OWN_WORKSPACE and posixpath.dirname(session) in self._own

    def ruins(self, path: str, at: Place, facts: PolicyFacts) -> bool:
        """Whether taking this away takes away a root, a home or the whole workspace."""
        plain = path.rstrip("/*") if path.endswith("*") else path
        if path in self._data.ruin or at.absolute in self._data.ruin or at.absolute in self._data.roots:
            return True
        whole = (
            place(plain or ".", facts) if path.endswith("*") and set(path.rpartition("/")[2]) == {"*"} else at
        )
        root = posixpath.normpath(facts.workspace)
        return whole.relative == "" or _under(root, whole.absolute) or whole.absolute in self._data.ruin

    def _secret(self, path: str, pattern: bool) -> bool:
        data = self._data
        parts = [part for part in path.split("/") if part]
        name = parts[-1] if parts else ""
        if data.secret_except.fit(name):
            return False
        if set(parts) & data.secret_folders:
            return True
        if parts[:1] == ["proc"] and name in data.process_files:
            return True
        if data.secret_names.fit(path):
            return True
        return (
            pattern and name.strip("*?") != "" and any(fnmatchcase(sample, name) for sample in data.samples)
        )

    def _system(self, at: Place, facts: PolicyFacts) -> bool:
        if any(_under(at.absolute, folder) for folder in self._data.temporary):
            return False
        for root in self._data.roots:
            if _under(at.absolute, root) and not (at.inside and _under(facts.workspace, root)):
                return True
        return False


@dataclass(frozen=True, slots=True)
class _Places:
    secret_names: "_Shapes"
    secret_except: "_Shapes"
    secret_folders: frozenset[str]
    process_files: frozenset[str]
    protected_folders: frozenset[str]
    protected_names: "_Shapes"
    protected_trees: Sequence[str]
    protected_outside: frozenset[str]
    roots: Sequence[str]
    readable: Sequence[str]
    temporary: Sequence[str]
    ruin: frozenset[str]
    samples: Sequence[str]
    """A name for each pattern of secrets, to try a shell's pattern on."""


@cache
def _places() -> _Places:
    found = tomllib.loads(Path(__file__).with_name("places.toml").read_text(encoding="utf-8"))
    secret, protected, system = found["secret"], found["protected"], found["system"]
    names = [name.lower() for name in secret["names"]]
    return _Places(
        secret_names=_Shapes(names),
        secret_except=_Shapes(secret["except"]),
        secret_folders=frozenset(secret["folders"]),
        process_files=frozenset(secret["files_of_processes"]),
        protected_folders=frozenset(protected["folders"]),
        protected_names=_Shapes(protected["names"]),
        protected_trees=protected["trees"],
        protected_outside=frozenset(protected["outside"]),
        roots=system["roots"],
        readable=system["readable"],
        temporary=system["temporary"],
        ruin=frozenset(system["ruin"]),
        samples=[name.rpartition("/")[2].replace("*", "x") for name in names],
    )


class _Shapes:
    """Patterns of names, or of the ends of paths, tried all at once."""

    def __init__(self, shapes: Iterable[str]) -> None:
        by_count: dict[int, list[str]] = {}
        for shape in shapes:
            by_count.setdefault(shape.count("/") + 1, []).append(translate(shape))
        self._tried = [(count, re.compile("|".join(found))) for count, found in sorted(by_count.items())]

    def fit(self, path: str) -> bool:
        """Whether the path ends as one of them says."""
        parts = path.split("/")
        return any(tried.match("/".join(parts[-count:])) for count, tried in self._tried)


def _under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
