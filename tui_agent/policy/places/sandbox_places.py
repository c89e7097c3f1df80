"""The files that a sandbox hides, or protects from writing.

Invariant: this module and the policy's guards use the same table of places.
"""

from collections.abc import Callable, Sequence
from functools import cache

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.places.path_places import Guards, Place, places_table
from tui_agent.ports.policy import PolicyFacts

_OF_REPOSITORIES = frozenset({".git", "git~1", ".hg", ".svn", ".jj", ".bzr"})
"""Names of folders that hold a repository."""
# Commits write into these folders, so the sandbox protects only some of the files inside.


@dataclass(frozen=True, slots=True)
class GuardedPlaces:
    """The files and folders that a sandbox protects.

    `hidden`: absolute paths that commands cannot read. The last name can be a pattern.
    `read_only`: names at the top of a workspace that commands must not write.
    `absent`: names at the top of a workspace that commands must not create.
    `renamed`: names at the top of a workspace. A file that appears with such a name is renamed.
    `trees`: absolute folders that no agent writes.
    """

    hidden: tuple[str, ...]
    read_only: tuple[str, ...]
    absent: tuple[str, ...]
    renamed: tuple[str, ...]
    trees: tuple[str, ...]


@cache
def guarded_places(home: str) -> GuardedPlaces:
    """Return the files and folders to protect for the user with this home folder."""
    secret, protected = places_table()["secret"], places_table()["protected"]
    more = places_table("sandbox_places")["sandbox"]
    at_home = [*secret["folders"], *secret["names"], *more["hidden_at_home"]]
    named = [f"{home.rstrip('/')}/{name}" for name in at_home]
    folders = [name for name in protected["folders"] if name not in _OF_REPOSITORIES]
    written = [name.split("/")[0] for name in (*protected["names"], *folders)]
    return GuardedPlaces(
        hidden=tuple(dict.fromkeys((*named, *more["hidden"]))),
        read_only=tuple(dict.fromkeys((*written, *more["read_only"]))),
        absent=tuple(more["absent"]),
        renamed=tuple(more["renamed"]),
        trees=tuple(f"{home.rstrip('/')}/{tree}" for tree in (*protected["outside_trees"], *secret["trees"])),
    )


def guarded_outside(own: Sequence[str]) -> Callable[[str], bool]:
    """Return a predicate that is True if a guard protects a path from writes.

    The predicate is for absolute paths outside every workspace.

    `own`: the product's configuration and data folders.
    """
    guards, nowhere = Guards(own), PolicyFacts(workspace="/nowhere", policy="ask")
    return lambda path: bool(guards.find_write_guard(Place(path, path, None), nowhere))


@cache
def steering_names() -> frozenset[str]:
    """Return the names of files that change how programs behave in a project."""
    return frozenset(places_table()["steering"]["names"])
