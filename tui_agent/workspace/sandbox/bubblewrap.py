"""Bubblewrap's command line: the whole file system read-only, and what a command may write laid over it.

Invariant: pure. Order is what counts: later places lie over earlier ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tui_agent.workspace.sandbox.mounts import Places

AT = (3, 4)
"""The descriptors at which bubblewrap finds its filter, and says what became of the command."""


@dataclass(frozen=True, slots=True)
class Private:
    """Folders of this program that lie at a command's own places: they last as long as the session."""

    temporary: str
    longer: str
    """At /var/tmp."""
    empty: str
    blank: str
    """A file with nothing in it."""
    shut: str
    """A file that nobody may open."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine's bubblewrap can do, and what of the system must be covered."""

    program: str
    nested: bool = True
    """It can forbid more user namespaces."""
    settings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("/tmp", "/var/tmp", "/run")
    """Of those that a command has for itself, the ones that are here."""


def arguments(
    machine: Machine,
    found: Places,
    private: Private,
    folder: str,
    *,
    network: bool,
    filtered: bool,
    at: tuple[int, int] = AT,
) -> list[str]:
    """Everything in front of the command, with the `--` before it. `folder` is where it starts."""
    own = {"/tmp": private.temporary, "/var/tmp": private.longer}
    words = [machine.program, "--unshare-user"]
    words += ["--disable-userns"] if machine.nested else []
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    words += _each("--ro-bind-try", machine.settings)
    words += _over("/dev/null", machine.secrets)
    for place in machine.folders:
        words += ["--bind", own[place], place] if place in own else ["--tmpfs", place]
    words += _each("--ro-bind-try", found.shown)
    words += _each("--ro-bind" if found.read_only else "--bind", found.writable)
    words += _each("--ro-bind", found.kept)
    words += _over("/dev/null", found.sockets)
    for path, stand in zip(found.masked, standing(found, private), strict=True):
        words += ["--ro-bind", stand, path.rstrip("/")]
    # These last: nothing that is laid at a name of the workspace can uncover them.
    for path in found.hidden:
        words += ["--ro-bind", private.empty if path.endswith("/") else "/dev/null", path.rstrip("/")]
    words += ["--chdir", folder, "--json-status-fd", str(at[1])]
    words += ["--seccomp", str(at[0])] if filtered else []
    return [*words, "--"]


def standing(found: Places, private: Private) -> list[str]:
    """What is laid at each of the places that are masked."""
    mask = private.blank if found.blank else private.shut
    return [private.empty if path.endswith("/") else found.stands.get(path, mask) for path in found.masked]


def _each(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)


def _over(source: str, paths: Iterable[str]) -> Iterator[str]:
    """Lay something unreadable over each: a device of a file system on which devices count for nothing."""
    for path in paths:
        yield from ("--ro-bind", source, path)
