"""Bubblewrap's command line. The file system is mounted read-only, with the writable paths mounted over it.

Invariant: this module reads and changes no files.
"""
# The order of options matters: a later mount covers an earlier one.

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.sandbox.mounts import Mounts

DESCRIPTORS = (3, 4)
"""Descriptors for bubblewrap: it reads its seccomp filter from the first, and writes its status to the second."""


@dataclass(frozen=True, slots=True)
class PrivateFolders:
    """tui-agent's own folders and files, mounted in the session's sandboxes."""

    temporary: str
    persistent: str
    """Folder that is mounted at /var/tmp."""
    empty: str
    empty_file: str
    """Path of an empty file."""
    unreadable_file: str
    """Path of a file without any permission."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Capabilities of this machine's bubblewrap, and the parts of the system that a sandbox must cover."""

    program: str
    can_forbid_nesting: bool = True
    """True if bubblewrap can forbid nested user namespaces."""
    settings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("/tmp", "/var/tmp", "/run")
    """Folders of this machine that are replaced by a private folder in each sandbox."""


def bubblewrap_arguments(
    machine: Machine,
    mounts: Mounts,
    private: PrivateFolders,
    folder: str,
    *,
    network: bool,
    has_filter: bool,
    descriptors: tuple[int, int] = DESCRIPTORS,
) -> list[str]:
    """Return bubblewrap's command line up to and including `--`, for the working folder `folder`."""
    own = {"/tmp": private.temporary, "/var/tmp": private.persistent}
    options = [machine.program, "--unshare-user"]
    options += ["--disable-userns"] if machine.can_forbid_nesting else []
    options += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    options += [] if network else ["--unshare-net"]
    options += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    options += _bind_each("--ro-bind-try", machine.settings)
    options += _hide_each(machine.secrets)
    for private_folder in machine.folders:
        options += (
            ["--bind", own[private_folder], private_folder]
            if private_folder in own
            else ["--tmpfs", private_folder]
        )
    options += _bind_each("--ro-bind-try", mounts.visible)
    options += _bind_each("--ro-bind" if mounts.read_only else "--bind", mounts.writable)
    options += _bind_each("--ro-bind", mounts.read_only_paths)
    options += _hide_each(mounts.sockets)
    for path, cover in zip(mounts.masked, cover_files(mounts, private), strict=True):
        options += ["--ro-bind", cover, path.rstrip("/")]
    # Hide paths last, so that no mount of the workspace can make them visible again.
    for path in mounts.hidden:
        options += ["--ro-bind", private.empty if path.endswith("/") else "/dev/null", path.rstrip("/")]
    options += ["--chdir", folder, "--json-status-fd", str(descriptors[1])]
    options += ["--seccomp", str(descriptors[0])] if has_filter else []
    return [*options, "--"]


def cover_files(mounts: Mounts, private: PrivateFolders) -> list[str]:
    """Return the files and folders to mount over the masked paths, in the order of `mounts.masked`."""
    mask = private.empty_file if mounts.masked_as_empty else private.unreadable_file
    return [
        private.empty if path.endswith("/") else mounts.replacements.get(path, mask) for path in mounts.masked
    ]


def _bind_each(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)


def _hide_each(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from ("--ro-bind", "/dev/null", path)


@contextmanager
def open_descriptors(calls: bytes | None) -> Iterator[tuple[dict[int, int], int]]:
    """Create pipes to bubblewrap; yield (map from bubblewrap's descriptor numbers to ours, our descriptor for its
    status).

    `calls`: the seccomp filter for bubblewrap, or None.
    """
    status, status_in = os.pipe()
    descriptors = [status, status_in]
    try:
        os.set_blocking(status, False)
        inherited = {DESCRIPTORS[1]: status_in}
        if calls is not None:
            filter_end, filter_in = os.pipe()
            descriptors.append(filter_end)
            inherited[DESCRIPTORS[0]] = filter_end
            os.write(filter_in, calls)
            os.close(filter_in)
        yield inherited, status
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
