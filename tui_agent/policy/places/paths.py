"""The place of a path and the kind of file that it names, without touching the disk.

Invariant: the file that a path really is decides, and the name that was given as well: either one being secret or
protected is enough, in every spelling that some file system takes for the same name, and whether the file exists or
not. Links are followed by the code that fills `PolicyFacts.resolved`.
"""

import posixpath
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.policy.places.secret_patterns import SecretPatterns
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
        """True if it lies in the workspace, links followed."""
        return self.relative is not None


def place(path: str, facts: PolicyFacts) -> Place:
    """Return the place of a path. One that `facts.resolved` does not list is taken as it reads."""
    workspace = _normal(facts.workspace)
    real = facts.resolved.get(path)
    if real is None:
        real = path if path.startswith(("/", "~")) else posixpath.join(workspace, path)
    absolute = _from_home(real) if real.startswith("~") else posixpath.normpath(real)
    if absolute.startswith("//"):
        absolute = absolute[1:]
    if absolute == workspace:
        return Place(path, absolute, "")
    prefix = workspace.rstrip("/") + "/"
    relative = absolute[len(prefix) :] if absolute.startswith(prefix) else None
    return Place(path, absolute, relative)


def _from_home(path: str) -> str:
    """Normalise a path below a home; `~+`, `~-` and `~1` are folders of the shell and stay as they are."""
    home, _, below = path.partition("/")
    if home[1:2] in ("+", "-") or home[1:].isdigit():
        return path
    below = posixpath.normpath(below) if below else "."
    return home if below == "." else f"{home}/{below.lstrip('/')}"


_normal = lru_cache(maxsize=16)(posixpath.normpath)


@lru_cache(maxsize=1024)
def lexical_place(path: str, workspace: str) -> Place:
    """Return the place of a path as it reads, links not followed."""
    return place(path, PolicyFacts(workspace, "ask"))


class Guards:
    """Guards that no profile lifts. `own` are the product's own configuration and data folders, absolute."""

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._own = tuple(posixpath.normpath(path) for path in own)
        self._data = _places()

    def is_secret(self, at: Place, *, pattern: bool = False) -> bool:
        """Return True if a path names a file with secrets, or a pattern is made to find one."""
        paths = spellings(at.absolute)
        if pattern or not _adds_nothing(at):
            paths |= spellings(at.given)
        return any(self._is_secret_path(path, pattern, outside=not at.inside) for path in paths)

    def find_write_guard(self, at: Place, facts: PolicyFacts, *, pattern: bool = False) -> Guard:
        """Return the guard against writing a file, "" for none; for a pattern, if it is made to find such a name."""
        data = self._data
        if self.is_secret(at, pattern=pattern):
            return "secret"
        if pattern and any(_matches_dotted(name, data.protected.folders) for name in at.given.split("/")):
            return "protected"
        paths = spellings(at.absolute)
        if not _adds_nothing(at):
            paths |= spellings(posixpath.normpath(at.given or "."))
        for path in paths:
            if data.protected.contains(path) or (not at.inside and data.protected_outside.contains(path)):
                return "protected"
        if any(_lies_below(at.absolute, folder) for folder in self._own) and not self._is_in_fork(at, facts):
            return "protected"
        return "system" if self._is_system(at, facts) else ""

    def is_run_by_others(self, at: Place) -> bool:
        """Return True for a file of the workspace that other programs run by themselves."""
        return any(
            self._data.starts.contains(path) for path in {*spellings(at.given), *spellings(at.relative or "")}
        )

    def is_open_to_all(self, at: Place) -> bool:
        """Return True for files of the system that hold nothing personal: libraries, headers, the name of the release."""
        return any(_lies_below(at.absolute, folder) for folder in self._data.readable)

    def _is_in_fork(self, at: Place, facts: PolicyFacts) -> bool:
        """Return True if it lies in the workspace of a fork, which is a folder below its session's own."""
        session, name = posixpath.split(posixpath.normpath(facts.workspace))
        return at.inside and name == OWN_WORKSPACE and posixpath.dirname(session) in self._own

    def would_ruin(self, path: str, at: Place, facts: PolicyFacts) -> bool:
        """Return True if deleting this deletes a root, a home, a folder that a home lies in, or the whole workspace."""
        plain = path
        while _matches_every_name(plain.rpartition("/")[2]):
            plain = plain.rpartition("/")[0] or ("/" if plain.startswith("/") else "")
        starred = plain != path
        if plain.startswith("~") and set(plain.split("/")[1:]) == {".."}:
            return True
        if path in self._data.ruin or at.absolute in self._data.ruin or at.absolute in self._data.roots:
            return True
        if _matches_a_folder(path, (*self._data.roots, *_HOMES, "/root")):
            return True
        home = facts.resolved.get("~")
        if home and _lies_below(home, posixpath.dirname(at.absolute) if starred else at.absolute):
            return True
        whole = place(plain or ".", facts) if starred else at
        root = posixpath.normpath(facts.workspace)
        if posixpath.dirname(whole.absolute) in _HOMES and not whole.inside:
            return True
        return whole.relative == "" or _lies_below(root, whole.absolute) or whole.absolute in self._data.ruin

    def _is_secret_path(self, path: str, pattern: bool, *, outside: bool) -> bool:
        data = self._data
        parts = [part for part in path.split("/") if part]
        name = parts[-1] if parts else ""
        if f"{path}/".startswith(data.secret_roots):
            return True
        names = (name, *_original_names(name))
        found = (
            any(data.secret.names.matches(path.removesuffix(name) + each) for each in names)
            or data.secret.lies_in(path)
            or (parts[:1] == ["proc"] and name in data.process_files)
            or (outside and data.secret_outside.matches(path))
            or (pattern and data.sought.is_sought_by(parts))
        )
        return found and not any(map(data.secret_except.matches, names))

    def _is_system(self, at: Place, facts: PolicyFacts) -> bool:
        if any(_lies_below(at.absolute, folder) for folder in self._data.temporary):
            return False
        return any(
            _lies_below(at.absolute, root) and not (at.inside and _lies_below(facts.workspace, root))
            for root in self._data.roots
        )


def _adds_nothing(at: Place) -> bool:
    """Return True if the given path has nothing that its real path has not."""
    return at.absolute.endswith(f"/{at.given}")


_HOMES = ("/home", "/Users")


def _matches_a_folder(path: str, folders: Iterable[str]) -> bool:
    """Return True if a pattern of a whole path matches one of the folders."""
    shapes = path.rstrip("/").split("/")
    if not path.startswith("/") or not any(sign in path for sign in "*?["):
        return False
    named = (folder.split("/") for folder in folders)
    return any(len(names) == len(shapes) and all(map(fnmatchcase, names, shapes)) for names in named)


def _matches_every_name(name: str) -> bool:
    """Return True if a pattern matches nearly every name: `*`, `?*`, `[a-z]*`."""
    return "*" in name and not re.sub(r"\[[^\]]*\]|[*?]", "", name)


def spellings(path: str) -> set[str]:
    """Return a path in small letters, and as the most forgiving file systems read it."""
    plain = path.lower()
    if path.isascii() and not _FORGIVEN.search(plain):
        return {plain} if plain else set()
    names = [_forgiving_spelling(name) for name in path.split("/")]
    return {plain, "/".join(names)}


def _original_names(name: str) -> tuple[str, ...]:
    """Return the names of which an editor makes this one for a copy, a draft or a lock; none for other names."""
    found = _COPY.fullmatch(name)
    plain = found["locked"] or found["saved"] if found else ""
    return () if not plain else (plain, plain[1:]) if plain[0] == "." and plain[1:] else (plain,)


_COPY = re.compile(
    r"\.?#(?P<locked>.+?)#?|(?P<saved>.+?)(?:\.?~(?:\d+~)?|\.sw[a-p]|\.(?:bak|orig|old|save|backup))"
)


def _forgiving_spelling(name: str) -> str:
    """Unify compatible forms of letters, leave out invisible ones, and cut off an end that some file systems do not keep."""
    whole = unicodedata.normalize("NFKC", name).casefold()
    seen = "".join(char for char in _UNSEEN.sub("", whole) if unicodedata.category(char) != "Cf")
    if seen in (".", ".."):
        return seen
    return seen.partition(":")[0].rstrip(". ") or seen


_FORGIVEN = re.compile(r"[. ](/|$)|:")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
"""Invisible letters outside category Cf (format)."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Files listed by their name or the end of their path, by a folder on the way, or by a tree that they lie in."""

    names: "_NamePatterns"
    folders: frozenset[str] = frozenset()
    trees: Sequence[str] = ()

    def contains(self, path: str) -> bool:
        """Return True if the path is one of them."""
        return self.lies_in(path) or self.names.matches(path)

    def lies_in(self, path: str) -> bool:
        """Return True if the path lies in such a folder or tree."""
        whole = f"/{path}/"
        return not self.folders.isdisjoint(path.split("/")) or any(tree in whole for tree in self.trees)


@cache
def places_table(name: str = "places") -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return one of the tables of places that come with the program."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


class _Places:
    """The table, ready to be compared with paths. `sought` are names that a shell pattern may be made to find."""

    def __init__(self) -> None:
        found = places_table()
        secret, protected, system = found["secret"], found["protected"], found["system"]
        self.secret = _group({**secret, "names": [*secret["names"], *secret["more"]]})
        self.secret_except = _NamePatterns(secret["except"])
        self.secret_outside = _NamePatterns(secret["outside"])
        self.secret_roots = tuple(f"{root}/" for root in secret["roots"])
        self.process_files = frozenset(secret["files_of_processes"])
        self.protected = _group(protected)
        self.protected_outside = _group(protected, "outside", "outside_")
        self.starts = _group(found["starts"])
        self.roots = system["roots"]
        self.readable = system["readable"]
        self.temporary = system["temporary"]
        self.ruin = frozenset(system["ruin"])
        self.sought = SecretPatterns(map(str.lower, secret["names"]))


def _group(found: Mapping[str, Sequence[str]], names: str = "names", prefix: str = "") -> _Group:
    trees = tuple(f"/{tree}/" for tree in found.get(f"{prefix}trees", ()))
    return _Group(_NamePatterns(found[names]), frozenset(found.get(f"{prefix}folders", ())), trees)


_places = cache(_Places)


class _NamePatterns:
    """Patterns of names, or of the ends of paths."""

    def __init__(self, shapes: Iterable[str]) -> None:
        by_count: dict[int, list[str]] = {}
        for shape in shapes:
            by_count.setdefault(shape.count("/") + 1, []).append(translate(shape.lower()))
        self._by_count = {count: re.compile("|".join(found)) for count, found in by_count.items()}

    def matches(self, path: str) -> bool:
        """Return True if the end of the path fits one of them."""
        names = path.split("/")
        return any(pattern.match("/".join(names[-count:])) for count, pattern in self._by_count.items())


def _matches_dotted(name: str, folders: Iterable[str]) -> bool:
    """Return True if a pattern matches a folder whose name begins with a dot: that dot must be written."""
    shape = name.lower()
    return shape.startswith((".", "[.")) and any(fnmatchcase(folder, shape) for folder in folders)


def _lies_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
