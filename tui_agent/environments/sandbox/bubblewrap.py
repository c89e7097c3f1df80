"""L3: bubblewrap's command line: the whole file system read-only, and what a command may write laid over it.

Invariant: pure. Order is what counts: later places lie over earlier ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tui_agent.environments.sandbox.bounds import Places

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
    words += _over_each(found.hidden, private.empty, found.writable, below=False)
    words += _over("/dev/null", found.sockets)
    words += _each("--bind", found.writable)
    words += _each("--ro-bind", found.kept)
    words += _over_each(found.hidden, private.empty, found.writable, below=True)
    mask = private.blank if found.blank else private.shut
    for path in found.masked:
        stands = private.empty if path.endswith("/") else found.stands.get(path, mask)
        words += ["--ro-bind", stands, path.rstrip("/")]
    words += ["--chdir", folder, "--json-status-fd", str(at[1])]
    words += ["--seccomp", str(at[0])] if filtered else []
    return [*words, "--"]


def _each(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)


def _over(source: str, paths: Iterable[str]) -> Iterator[str]:
    """Lay something unreadable over each: a device of a file system on which devices count for nothing."""
    for path in paths:
        yield from ("--ro-bind", source, path)


def _over_each(paths: Sequence[str], empty: str, writable: Sequence[str], *, below: bool) -> Iterator[str]:
    """Hide secrets: those below what can be written after it was laid there, the others before."""
    for path in paths:
        if any(path.startswith(each.rstrip("/") + "/") for each in writable) is below:
            yield from ("--ro-bind", empty if path.endswith("/") else "/dev/null", path.rstrip("/"))
