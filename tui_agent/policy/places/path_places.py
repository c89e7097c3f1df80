"""The place of a path (in the workspace or outside), and the guards for the file at that path.

Invariant: a guard applies if the given path or the real path is secret or protected, in any spelling.
"""

import hashlib
import posixpath
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.places.secret_patterns import SecretPatterns
from tui_agent.ports.policy import PolicyFacts

OWN_WORKSPACE = "workspace"
"""Name of a fork's default workspace, which is a folder inside the fork's session folder."""
Guard: TypeAlias = Literal["", "secret", "protected", "system", "ruin"]


@dataclass(frozen=True, slots=True)
class Place:
    """A path as the policy sees it.

    `given`: the path as given.
    `absolute`: the absolute path, with links followed.
    `relative`: the path relative to the workspace, with links followed; "" for the workspace itself, None outside it.
    """

    given: str
    absolute: str
    relative: str | None

    @property
    def inside(self) -> bool:
        """True if the path lies in the workspace, with links followed."""
        return self.relative is not None


def place(path: str, facts: PolicyFacts) -> Place:
    """Return the place of a path. Links are followed only if `facts.resolved` has the path."""
    return _find_place(path, facts.resolved.get(path), facts.workspace)


def lexical_place(path: str, workspace: str) -> Place:
    """Return the place of a path in or outside the workspace, without following links."""
    return _find_place(path, None, workspace)


# One decision asks for the same few places again and again.
@lru_cache(maxsize=1024)
def _find_place(path: str, real: str | None, workspace: str) -> Place:
    workspace = posixpath.normpath(workspace)
    if real is None:
        real = path if path.startswith(("/", "~")) else posixpath.join(workspace, path)
    absolute = _from_home(real) if real.startswith("~") else posixpath.normpath(real)
    # `normpath` keeps two leading slashes, but they mean the same as one.
    if absolute.startswith("//"):
        absolute = absolute[1:]
    if absolute == workspace:
        return Place(path, absolute, "")
    prefix = workspace.rstrip("/") + "/"
    relative = absolute[len(prefix) :] if absolute.startswith(prefix) else None
    return Place(path, absolute, relative)


def _from_home(path: str) -> str:
    """Normalise a path that begins with `~`, except folders of the shell (`~+`, `~-`, `~1`)."""
    home, _, below = path.partition("/")
    if home[1:2] in ("+", "-") or home[1:].isdigit():
        return path
    below = posixpath.normpath(below) if below else "."
    return home if below == "." else f"{home}/{below.lstrip('/')}"


class Guards:
    """The guards that protect files. No profile lifts these guards.

    - `own`: absolute paths of the product's configuration and data folders.
    - `notes`: absolute path of the folder with the project's notes. The agent can write this part of the data folder.
    """

    def __init__(self, own: Iterable[str] = (), notes: str = "") -> None:
        self._own = tuple(posixpath.normpath(path) for path in own)
        self._notes = notes and posixpath.normpath(notes)
        self._data = _places()

    def is_secret(self, location: Place, *, pattern: bool = False) -> bool:
        """Return True if a path names a secret file.

        `pattern`: also return True for a shell pattern that is made to find secret files.
        """
        return _is_secret(location, pattern)

    def find_write_guard(self, location: Place, facts: PolicyFacts, *, pattern: bool = False) -> Guard:
        """Return the kind of guard against writing a file ("secret", "protected" or "system"); empty if none."""
        data = self._data
        if self.is_secret(location, pattern=pattern):
            return "secret"
        if pattern and any(
            _matches_dotted(name, data.protected.folders) for name in location.given.split("/")
        ):
            return "protected"
        paths = spellings(location.absolute)
        # Both names count: a link with a harmless name can lead to a guarded file, and the other way round.
        if not _adds_nothing(location):
            paths |= spellings(posixpath.normpath(location.given or "."))
        if any(data.protected.contains(path) for path in paths):
            return "protected"
        # The notes lie in the product's data folder, which the checks below protect.
        if self._notes and _lies_below(location.absolute, self._notes):
            return ""
        if not location.inside and any(data.protected_outside.contains(path) for path in paths):
            return "protected"
        if any(_lies_below(location.absolute, folder) for folder in self._own) and not self._is_in_fork(
            location, facts
        ):
            return "protected"
        return "system" if self._is_system(location, facts) else ""

    def is_run_by_others(self, location: Place) -> bool:
        """Return True for a workspace file that other programs run automatically (`.vscode/tasks.json`)."""
        return any(
            self._data.starts.contains(path)
            for path in {*spellings(location.given), *spellings(location.relative or "")}
        )

    def is_open_to_all(self, location: Place) -> bool:
        """Return True for system files without personal data, such as libraries, headers and `/etc/os-release`."""
        return f"{location.absolute}/".startswith(self._data.readable)

    def _is_in_fork(self, location: Place, facts: PolicyFacts) -> bool:
        """Return True if the path lies in the workspace of a fork. This workspace is inside the product's data folder."""
        session, name = posixpath.split(posixpath.normpath(facts.workspace))
        return location.inside and name == OWN_WORKSPACE and posixpath.dirname(session) in self._own

    def would_ruin(self, path: str, location: Place, facts: PolicyFacts) -> bool:
        """Return True if deleting the path would delete a root folder, a home, a parent of a home, or the workspace."""
        plain = path
        # `rm -rf ~/*` deletes a home as `rm -rf ~` does.
        while _matches_every_name(plain.rpartition("/")[2]):
            plain = plain.rpartition("/")[0] or ("/" if plain.startswith("/") else "")
        starred = plain != path
        if plain.startswith("~") and set(plain.split("/")[1:]) == {".."}:
            return True
        if (
            path in self._data.ruin
            or location.absolute in self._data.ruin
            or location.absolute in self._data.roots
        ):
            return True
        # Patterns such as `/u*`, which matches `/usr`.
        if _matches_a_folder(path, (*self._data.roots, *_HOMES, "/root")):
            return True
        home = facts.resolved.get("~")
        if home and _lies_below(home, posixpath.dirname(location.absolute) if starred else location.absolute):
            return True
        folder = place(plain or ".", facts) if starred else location
        root = posixpath.normpath(facts.workspace)
        if posixpath.dirname(folder.absolute) in _HOMES and not folder.inside:
            return True
        return (
            folder.relative == "" or _lies_below(root, folder.absolute) or folder.absolute in self._data.ruin
        )

    def _is_system(self, location: Place, facts: PolicyFacts) -> bool:
        folder = f"{location.absolute}/"
        if folder.startswith(self._data.temporary) or not folder.startswith(self._data.system):
            return False
        if any(folder.startswith(root) and facts.workspace.startswith(root) for root in self._data.projects):
            return False
        return any(
            _lies_below(location.absolute, root)
            and not (location.inside and _lies_below(facts.workspace, root))
            for root in self._data.roots
        )


@lru_cache(maxsize=1024)
def _is_secret(location: Place, pattern: bool) -> bool:
    paths = spellings(location.absolute)
    if pattern or not _adds_nothing(location):
        paths |= spellings(location.given)
    return any(_is_secret_path(path, pattern, outside=not location.inside) for path in paths)


def _is_secret_path(path: str, pattern: bool, *, outside: bool) -> bool:
    data = _places()
    parts = [part for part in path.split("/") if part]
    name = parts[-1] if parts else ""
    if f"{path}/".startswith(data.secret_roots):
        return True
    names = (name, *_original_names(name))
    is_secret = (
        any(data.secret.names.matches(path.removesuffix(name) + each) for each in names)
        or data.secret.lies_in(path)
        # `/proc/PID/environ` and similar files show the secrets of a running program.
        or (parts[:1] == ["proc"] and name in data.process_files)
        or (outside and data.secret_outside.matches(path))
        or (pattern and data.sought.is_sought_by(parts))
    )
    return is_secret and not any(map(data.secret_except.matches, names))


def _adds_nothing(location: Place) -> bool:
    return location.absolute.endswith(f"/{location.given}")


_HOMES = ("/home", "/Users")


def _matches_a_folder(path: str, folders: Iterable[str]) -> bool:
    shapes = path.rstrip("/").split("/")
    if not path.startswith("/") or not any(sign in path for sign in "*?["):
        return False
    named = (folder.split("/") for folder in folders)
    return any(len(names) == len(shapes) and all(map(fnmatchcase, names, shapes)) for names in named)


def _matches_every_name(name: str) -> bool:
    """Return True if a shell pattern matches nearly every name: `*`, `?*`, `[a-z]*`."""
    return "*" in name and not re.sub(r"\[[^\]]*+\]?|[*?]", "", name)


def spellings(path: str) -> set[str]:
    """Return two forms of the path: in lower case, and as Windows or macOS compares it."""
    plain = path.lower()
    # Nearly every path is of this kind: both forms are equal.
    if path.isascii() and not _FORGIVEN.search(plain):
        return {plain} if plain else set()
    names = [_forgiving_spelling(name) for name in path.split("/")]
    return {plain, "/".join(names)}


def _original_names(name: str) -> tuple[str, ...]:
    """Return the possible original names of an editor's backup, draft or lock file (`.env~`)."""
    copy = _COPY.fullmatch(name)
    plain = copy["locked"] or copy["saved"] if copy else ""
    return () if not plain else (plain, plain[1:]) if plain[0] == "." and plain[1:] else (plain,)


_COPY = re.compile(
    r"\.?#(?P<locked>.+?)#?|(?P<saved>.+?)(?:\.?~(?:\d+~)?|\.sw[a-p]|\.(?:bak|orig|old|save|backup))"
)


def _forgiving_spelling(name: str) -> str:
    """Return one form for all names that a lenient file system treats as equal, as on Windows or macOS."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    seen = "".join(char for char in _UNSEEN.sub("", folded) if unicodedata.category(char) != "Cf")
    if seen in (".", ".."):
        return seen
    # On Windows, `name:stream` is a part of the file `name`, and dots and blanks at the end of a name do not count.
    return seen.partition(":")[0].rstrip(". ") or seen


_FORGIVEN = re.compile(r"[. ](/|$)|:")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
"""Matches invisible characters outside Unicode's category Cf (format)."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of guarded files.

    `names`: their names or path endings.
    `folders`: names of folders on their path.
    `trees`: folders that contain them.
    """

    names: "_NamePatterns"
    folders: frozenset[str] = frozenset()
    trees: Sequence[str] = ()

    def contains(self, path: str) -> bool:
        return self.lies_in(path) or self.names.matches(path)

    def lies_in(self, path: str) -> bool:
        anchored_path = f"/{path}/"
        return not self.folders.isdisjoint(path.split("/")) or any(
            tree in anchored_path for tree in self.trees
        )


@cache
def places_table(name: str = "places") -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return a table of guarded places from the bundled TOML file `name`."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


class _Places:
    """The table of guarded places, compiled for fast comparison.

    `sought`: names of secret files. A shell pattern that seems made to find one of these names is recognised.
    """

    def __init__(self) -> None:
        table = places_table()
        secret, protected, system = table["secret"], table["protected"], table["system"]
        self.secret = _group({**secret, "names": [*secret["names"], *secret["more"]]})
        self.secret_except = _NamePatterns(secret["except"])
        self.secret_outside = _NamePatterns(secret["outside"])
        self.secret_roots = tuple(f"{root}/" for root in secret["roots"])
        self.process_files = frozenset(secret["files_of_processes"])
        self.protected = _group(protected)
        self.protected_outside = _group(protected, "outside", "outside_")
        self.starts = _group(table["starts"])
        self.roots = system["roots"]
        self.system, self.projects, self.readable, self.temporary = (
            tuple(f"{folder.rstrip('/')}/" for folder in system[key])
            for key in ("roots", "projects", "readable", "temporary")
        )
        self.ruin = frozenset(system["ruin"])
        self.sought = SecretPatterns(map(str.lower, secret["names"]))


def _group(table: Mapping[str, Sequence[str]], names: str = "names", prefix: str = "") -> _Group:
    trees = tuple(f"/{tree}/" for tree in table.get(f"{prefix}trees", ()))
    return _Group(_NamePatterns(table[names]), frozenset(table.get(f"{prefix}folders", ())), trees)


_places = cache(_Places)


class _NamePatterns:
    """Shell patterns of file names, or of the last names of a path (`.docker/config.json`)."""

    def __init__(self, shapes: Iterable[str]) -> None:
        by_count: dict[int, list[str]] = {}
        for shape in shapes:
            by_count.setdefault(shape.count("/") + 1, []).append(translate(shape.lower()))
        self._by_count = {count: re.compile("|".join(shapes)) for count, shapes in by_count.items()}

    def matches(self, path: str) -> bool:
        names = path.split("/")
        return any(pattern.match("/".join(names[-count:])) for count, pattern in self._by_count.items())


def _matches_dotted(name: str, folders: Iterable[str]) -> bool:
    shape = name.lower()
    return shape.startswith((".", "[.")) and any(fnmatchcase(folder, shape) for folder in folders)


def _lies_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def may_hold_secrets(path: str) -> bool:
    """Return True for a file that can hold secrets, or for a folder of such files (`keys/`).

    `path`: relative to the workspace.
    """
    file = f"{path}any" if path.endswith("/") else path
    return _guards().is_secret(Place(file, file, file))


def rules_digest() -> str:
    """Return a digest of the file that lists the guarded places."""
    return hashlib.sha256(Path(__file__).with_name("places.toml").read_bytes()).hexdigest()[:16]


@cache
def _guards() -> Guards:
    return Guards()
