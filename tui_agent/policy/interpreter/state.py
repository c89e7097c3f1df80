"""The state of the shell between two commands: variables set in the line, and folders it may be in.

Invariant: immutable; merging two states keeps every value and folder that either of them has.
"""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import Final, TypeAlias

from tui_agent.policy.interpreter.report import Certainty, Value

MAX_FOLDERS: Final = 32
START: Final = "\ufdd0"
"""Stands in texts for the absolute path of the folder that the line starts in. No line can hold it: it is no character."""
UNSET: Final = Value("", Certainty.UNKNOWN, may_be_option=True)


def forget(*values: Value) -> Value:
    """Return a value that may be any text, with variables of the environment that these show."""
    return replace(UNSET, shows=tuple(sorted({name for value in values for name in value.shows})))


Folders: TypeAlias = tuple[str | None, ...]
START_FOLDERS: Final[Folders] = ("",)


@dataclass(frozen=True, slots=True)
class State:
    """`folders` as in `CommandReport`, empty where no command runs in this state."""

    variables: Mapping[str, Value] = field(default_factory=dict)
    folders: Folders = START_FOLDERS

    def with_variable(self, name: str, value: Value) -> "State":
        """Set a variable."""
        return replace(self, variables={**self.variables, name: value})

    def forget(self) -> "State":
        """Return a state in which nothing is known of variables and folder."""
        return State({name: forget(value) for name, value in self.variables.items()}, (None,))

    def in_folders(self, folders: Iterable[str | None]) -> "State":
        """Change the folder to one of these."""
        return replace(self, folders=_bounded(folders))

    def merge(self, other: "State") -> "State":
        """Return the state of which nobody knows whether it is this one or the other: variables that differ are unknown."""
        if not other.folders or self == other:
            return self
        if not self.folders:
            return other
        mine, others = self.variables, other.variables
        variables = {
            name: mine[name]
            if name in mine and mine[name] == others.get(name)
            else forget(mine.get(name, UNSET), others.get(name, UNSET))
            for name in (*mine, *others)
        }
        return State(variables, _bounded([*self.folders, *other.folders]))


UNREACHED: Final = State({}, ())
"""The state behind `exit`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The states behind a part of a script that succeeded and behind one that failed, and what bounds its output."""

    success: State
    failure: State
    output: Value

    @property
    def any(self) -> State:
        """The state where nobody knows how it ended."""
        return self.success.merge(self.failure)


def merge_states(states: Iterable[State]) -> State:
    """Return the state of which nobody knows which of these it is."""
    return reduce(State.merge, states, UNREACHED)


def tidy_path(path: str) -> str:
    """Leave out `.` and empty names. `name/..` stays: where `name` is a link, that is the folder above its target."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/"):
        return "/" + "/".join(names)
    return "/".join(names) or "."


def goes_back(path: str) -> bool:
    """Return True if `..` follows on a name in the path, so that only the real folders tell where it leads."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    return any(name == ".." and before != ".." for before, name in pairwise(names))


def join_path(folder: str, path: str) -> str:
    """Return a path as seen from where the line starts; links are not followed, and `name/..` is kept."""
    if path.startswith("~"):
        return path if ".." in path.split("/") else path.rstrip("/") or path
    if path.startswith(START):
        # Text glued to the folder's own path names a neighbour of it, of which only the kind is known: it lies outside.
        return tidy_path(f".{path[1:]}") if path[1:2] in ("", "/") else f"/{path[1:]}"
    if folder.startswith("~") and not path.startswith("/"):
        below = tidy_path(path)
        return folder if below == "." else f"{folder}/{below}"
    return tidy_path(posixpath.join(folder, path))


def enter_folder(folder: str | None, path: str, *, by_shell: bool = False) -> str | None:
    """Return the folder that a path leads to from another, "" for the one that the line starts in; None: not certain.

    `by_shell`: `cd` takes `name/..` for nothing, whatever `name` links to; a program that changes its folder follows it.
    """
    if folder is None and not path.startswith(("/", "~", START)):
        return None
    joined = join_path(folder or "", path)
    if by_shell and not joined.startswith("~"):
        joined = posixpath.normpath(joined)
    return "" if joined == "." else joined


def folder_text(folders: Folders) -> str | None:
    """Return the text of `$PWD`, None where it is not certain."""
    if len(folders) != 1 or folders[0] is None:
        return None
    folder = folders[0]
    return folder if folder.startswith(("/", "~")) else f"{START}/{folder}" if folder else START


def _bounded(folders: Iterable[str | None]) -> Folders:
    distinct = tuple(dict.fromkeys(folders))
    return distinct if len(distinct) <= MAX_FOLDERS else (None,)
