"""L3: the state of the shell between two commands: variables set in the line, and folders it may be in.

Invariant: immutable; merging two states keeps every value and folder that either of them has.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Final, TypeAlias

from tui_agent.policy.interpreter.report import Certainty, Value

MAX_VALUES = 32
"""Values of one variable, folders, and combinations of values in one command that are told apart."""
START = "\ufdd0"
"""Stands in texts for the absolute path of the folder that the line starts in. No line can hold it: it is no character."""
UNSET = Value("", Certainty.UNKNOWN, may_be_option=True)

Folders: TypeAlias = tuple[str | None, ...]
START_FOLDERS: Final[Folders] = ("",)


@dataclass(frozen=True, slots=True)
class State:
    """`variables` hold all values that each may have. `folders` as in `CommandReport`; `previous` is what `cd -` returns
    to, `stack` what `popd` does."""

    variables: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    folders: Folders = ("",)
    previous: Folders = (None,)
    stack: tuple[Folders, ...] = ()

    def with_variable(self, name: str, values: Iterable[Value]) -> "State":
        """Set a variable to one of these values."""
        return replace(self, variables={**self.variables, name: _bounded(values)})

    def in_folders(self, folders: Iterable[str | None]) -> "State":
        """Change the folder to one of these."""
        new = _bounded_folders(folders)
        if new == self.folders:
            return replace(self, previous=self.folders)
        moved = {name: tuple(map(_forget_files, values)) for name, values in self.variables.items()}
        return replace(self, variables=moved, folders=new, previous=self.folders)

    def widened(self, other: "State") -> "State":
        """Forget all in which two states differ."""
        variables = {
            name: values if other.variables.get(name) == values else (UNSET,)
            for name, values in self.variables.items()
        }
        folders: Folders = self.folders if self.folders == other.folders else (None,)
        return State(variables, folders)

    def cases(self, names: Iterable[str]) -> Iterator["State"]:
        """Yield the same state once for each combination of the values of these variables."""
        several = [name for name in dict.fromkeys(names) if len(self.variables.get(name, ())) > 1]
        if not several:
            yield self
            return
        choices = [self.variables[name] for name in several]
        count = 1
        for values in choices:
            count *= len(values)
        if count > MAX_VALUES:
            yield replace(self, variables={**self.variables, **dict.fromkeys(several, (UNSET,))})
            return
        for values in product(*choices):
            chosen = {name: (value,) for name, value in zip(several, values, strict=True)}
            yield replace(self, variables={**self.variables, **chosen})

    def merge(self, other: "State") -> "State":
        """Return the state of which nobody knows whether it is this one or the other."""
        if self is other or self == other:
            return self
        names = dict.fromkeys([*self.variables, *other.variables])
        return State(
            {
                name: _bounded([*self.variables.get(name, (UNSET,)), *other.variables.get(name, (UNSET,))])
                for name in names
            },
            _bounded_folders([*self.folders, *other.folders]),
            _bounded_folders([*self.previous, *other.previous]),
            self.stack if self.stack == other.stack else (),
        )


def merge_states(states: Sequence[State | None]) -> State | None:
    """Merge those that can be reached; None stands for one that cannot."""
    merged: State | None = None
    for state in states:
        if state is not None:
            merged = state if merged is None else merged.merge(state)
    return merged


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


def _bounded(values: Iterable[Value]) -> tuple[Value, ...]:
    distinct: dict[tuple[object, ...], Value] = {}
    for value in values:
        key = (value.certainty, value.text, value.prefix, value.content, value.shows)
        same = distinct.get(key, value)
        distinct[key] = same if same == value else _less_certain(same, value)
    return tuple(distinct.values()) if len(distinct) <= MAX_VALUES else (UNSET,)


def _less_certain(value: Value, other: Value) -> Value:
    return replace(
        value,
        many=value.many or other.many,
        may_be_option=value.may_be_option or other.may_be_option,
        names_files=value.names_files and other.names_files,
        splits=value.splits or other.splits,
    )


def _bounded_folders(folders: Iterable[str | None]) -> Folders:
    distinct = tuple(dict.fromkeys(folders))
    return distinct if len(distinct) <= MAX_VALUES else (None,)


def _forget_files(value: Value) -> Value:
    return replace(value, names_files=False) if value.names_files else value
