"""The state of the shell between two commands: variables set in the line, and possible folders of the shell.

Invariant: a state is immutable.
"""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import reduce
from itertools import pairwise
from typing import Final, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.interpreter.command_report import Certainty, Value

MAX_FOLDERS: Final = 32
START: Final = "\ufdd0"
"""Placeholder for the absolute path of the folder where the line starts."""
# A noncharacter, because no line can contain it.
UNSET: Final = Value("", Certainty.UNKNOWN, may_be_option=True)


def any_text_of(*values: Value) -> Value:
    """Return a value that stands for any text. Its `shows` has the environment variables that `values` can show."""
    return replace(UNSET, shows=tuple(sorted({name for value in values for name in value.shows})))


Folders: TypeAlias = tuple[str | None, ...]
START_FOLDERS: Final[Folders] = ("",)


@dataclass(frozen=True, slots=True)
class State:
    """A state of the shell between two commands.

    - `folders`: the possible folders of the shell, as in `CommandReport`; empty if no command can run.
    - `has_hidden_assignments`: True if commands that are not interpreted, such as those of a trap, may set variables.
    """

    variables: Mapping[str, Value] = field(default_factory=dict)
    folders: Folders = START_FOLDERS
    has_hidden_assignments: bool = False

    def with_variable(self, name: str, value: Value) -> "State":
        """Return the state with a variable set."""
        return replace(self, variables={**self.variables, name: value})

    def to_unknown(self) -> "State":
        """Return the state with all variables and the current folder unknown."""
        variables = {name: any_text_of(value) for name, value in self.variables.items()}
        return State(variables, (None,), self.has_hidden_assignments)

    def with_hidden_assignments(self) -> "State":
        """Return the state after a command that may set variables in ways that are not interpreted."""
        return replace(self, has_hidden_assignments=True)

    def in_folders(self, folders: Iterable[str | None]) -> "State":
        """Return the state with the shell in one of these folders."""
        return replace(self, folders=_limit_folders(folders))

    def merge(self, other: "State") -> "State":
        """Return a state that covers this state and `other`. A variable with different values becomes unknown."""
        if not other.folders or self == other:
            return self
        if not self.folders:
            return other
        mine, others = self.variables, other.variables
        variables = {
            name: mine[name]
            if name in mine and mine[name] == others.get(name)
            else any_text_of(mine.get(name, UNSET), others.get(name, UNSET))
            for name in (*mine, *others)
        }
        hidden = self.has_hidden_assignments or other.has_hidden_assignments
        return State(variables, _limit_folders([*self.folders, *other.folders]), hidden)


UNREACHED: Final = State({}, ())
"""State of the shell after `exit`. No command runs in this state."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Two states of the shell after a part of a script: after success and after failure.

    `output`: a value that covers everything that the part can print.
    """

    success: State
    failure: State
    output: Value

    @property
    def any(self) -> State:
        """One state of the shell that covers success and failure."""
        return self.success.merge(self.failure)


def merge_states(states: Iterable[State]) -> State:
    """Return a state of the shell that covers all of these states."""
    return reduce(State.merge, states, UNREACHED)


def tidy_path(path: str) -> str:
    """Remove `.` and empty names from a path, but keep `name/..`."""
    # `name` can be a link to another folder, so `name/..` cannot be removed.
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/"):
        return "/" + "/".join(names)
    return "/".join(names) or "."


def goes_back(path: str) -> bool:
    """Return True if `..` follows a name in the path. The path then depends on links."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    return any(name == ".." and before != ".." for before, name in pairwise(names))


def join_path(folder: str, path: str) -> str:
    """Return `path`, which is relative to `folder`, as a path relative to the line's start folder. `name/..` is kept."""
    if path.startswith("~"):
        return path if ".." in path.split("/") else path.rstrip("/") or path
    if path.startswith(START):
        # Text attached to the start folder's path (`$PWD-old`) names a sibling of it, which lies outside.
        return tidy_path(f".{path[1:]}") if path[1:2] in ("", "/") else f"/{path[1:]}"
    if folder.startswith("~") and not path.startswith("/"):
        below = tidy_path(path)
        return folder if below == "." else f"{folder}/{below}"
    return tidy_path(posixpath.join(folder, path))


def enter_folder(folder: str | None, path: str, *, by_shell: bool = False) -> str | None:
    """Return the folder at `path`, seen from `folder` ("" is the start folder). Return None for an uncertain folder.

    `by_shell`: True for the shell's own `cd`. It removes `name/..` even if `name` is a link.
    """
    if folder is None and not path.startswith(("/", "~", START)):
        return None
    joined = join_path(folder or "", path)
    if by_shell and not joined.startswith("~"):
        joined = posixpath.normpath(joined)
    return "" if joined == "." else joined


def folder_text(folders: Folders) -> str | None:
    """Return the text of `$PWD` in these folders, or None if it is not certain."""
    if len(folders) != 1 or folders[0] is None:
        return None
    folder = folders[0]
    return folder if folder.startswith(("/", "~")) else f"{START}/{folder}" if folder else START


def _limit_folders(folders: Iterable[str | None]) -> Folders:
    distinct = tuple(dict.fromkeys(folders))
    return distinct if len(distinct) <= MAX_FOLDERS else (None,)
