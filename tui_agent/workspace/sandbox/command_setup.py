"""Set-up of a command's isolation: private folders, mounts, variables and the sandbox's command line.

Invariant: a command that cannot be confined completely does not run at all.
"""

import errno
import fcntl
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from threading import Lock

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import ExecSpec, Sandbox, SecretFile, WorkspaceScan
from tui_agent.workspace.local.nofollow_open import open_to_enter
from tui_agent.workspace.local.secret_files import SecretFiles
from tui_agent.workspace.sandbox import bubblewrap, landlock, seatbelt
from tui_agent.workspace.sandbox.detection import SandboxSupport
from tui_agent.workspace.sandbox.extra_mounts import OpenedPath, open_paths
from tui_agent.workspace.sandbox.git_paths import (
    BareRepositoryPaths,
    bare_repository_paths,
    find_git_places,
    seal_repository,
)
from tui_agent.workspace.sandbox.mounts import (
    PRIVATE_NAMES,
    Bounds,
    Mounts,
    find_mounts,
    first_private_name,
    is_own,
    is_private,
    list_home_entries,
)
from tui_agent.workspace.sandbox.placeholders import Placeholders, rename_new
from tui_agent.workspace.sandbox.sandbox_environment import confined_variables, with_stat_comparison

_MAX_STATUS_BYTES = 4096
_SETTLED_S = 60.0
"""Minimum age of a private folder, in seconds, before it can be removed. A younger one may not be locked yet."""
_FOLDERS = ("tmp", "longer", "empty")
_FILES = {"blank": 0o444, "shut": 0o000}


@dataclass(frozen=True, slots=True)
class ConfinedCommand:
    """A command prepared for the sandbox.

    `descriptors`: maps the command's descriptor numbers to our descriptors.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    descriptors: Mapping[int, int] = field(default_factory=dict)
    status: int = -1
    masked: tuple[SecretFile, ...] = ()
    """Files of the workspace that the command cannot read."""
    placeholders: tuple[str, ...] = ()
    """Paths at which empty placeholders keep the command from creating files."""
    renaming_notes: Sequence[str] = ()
    """Notes on renamed new settings, such as `.vscode`. Other programs must not use them.

    The list is complete when the run has ended.
    """
    created: tuple[str, ...] = ()
    """Approved files outside the workspace that were missing. Empty files stand there while the command runs."""
    unopened: tuple[str, ...] = ()
    """Paths that the command was allowed to write but that could not be opened."""
    cleanup: tuple[str, ...] = ()
    """The command that removes the placeholders if this process is killed."""

    def has_started(self) -> bool:
        """Return True if the command itself was started, not only the sandbox. Call this method only after the run has
        ended.
        """
        if self.status < 0:
            return True
        with suppress(BlockingIOError):
            return b'"exit-code"' in os.read(self.status, _MAX_STATUS_BYTES)
        return False


class ConfinementError(Exception):
    """Raised if a command cannot be confined completely; the message gives the reason."""


class Confinement:
    """The sandbox for the commands of one environment.

    All methods block: call them in a thread.

    `records`: the folder, shared by all tui-agent processes, for private folders and the list of placeholders.
    """

    def __init__(self, support: SandboxSupport, bounds: Bounds, records: Path) -> None:
        self._support = support
        self.bounds = bounds
        self._secrets = (
            SecretFiles(bounds.root, bounds.is_secret, bounds.readable, bounds.steering)
            if bounds.is_secret
            else None
        )
        self._placeholders = Placeholders(bounds.root, records)
        self._lock = Lock()
        self._records = records
        self._private: Path | None = None
        self._lock_fd = -1
        """Descriptor of the lock on the private folders, held until this process ends."""
        why_not = support.why_not or bounds.refusal()
        self.sandbox = (
            Sandbox(unavailable_reason=why_not)
            if why_not
            else Sandbox(
                support.kind,
                describe_sandbox(support, bounds),
                writable_folders=tuple(map(os.path.realpath, bounds.writable)),
            )
        )

    @contextmanager
    def prepare_command(
        self, argv: Sequence[str], folder: OpenedPath, env: Mapping[str, str], spec: ExecSpec
    ) -> Iterator[ConfinedCommand]:
        """Prepare a command to start in `folder` with the permissions of `spec`.

        Raise `ConfinementError` if the command cannot be confined.
        """
        why_not = self.bounds.refusal()
        if why_not:
            raise ConfinementError(why_not)
        try:
            private = self._private_folders()
            # A read-only command cannot create a repository, so a plain `ls` needs no placeholders.
            can_create = not (spec.show_secrets_as_empty or spec.read_only) and os.access(
                self.bounds.root, os.W_OK
            )
            has_repository = bool(find_git_places(self.bounds.root).folder)
            # Git takes the folder itself for a repository only if it has no `.git`.
            is_open = can_create and not has_repository
            bare_parts = bare_repository_paths(self.bounds.root) if is_open else BareRepositoryPaths()
            sealed = spec.repository_read_only
            missing_paths = (
                [] if spec.read_only else self._missing_paths(bare_parts, sealed_repository=sealed)
            )
            with (
                self._rename_new(has_repository) if can_create else nullcontext([]) as renaming_notes,
                self._placeholders.hold(missing_paths, bare_parts.parts) as placeholders,
                open_paths(self.bounds, spec.writable_paths) as extra,
            ):
                extra_paths = [place.path for place in extra]
                bare_paths = bare_parts.read_only_paths(placeholders)
                mounts = self._mounts(argv, env, extra_paths, bare_paths, spec)
                masked = self._masked_files(mounts, spec)
                mounts = self._mask(mounts, masked, Path(private.unreadable_file), spec)
                temporary = private.temporary if self._support.machine is None else "/tmp"
                env = confined_variables(env, temporary, read_only=spec.read_only)
                env = with_stat_comparison(env) if mounts.replacements else env
                cleanup = self._placeholders.removal_command() if placeholders else ()
                report = partial(
                    ConfinedCommand,
                    masked=masked,
                    placeholders=placeholders,
                    renaming_notes=renaming_notes,
                    unopened=tuple(path for path in spec.writable_paths if path not in extra_paths),
                    created=tuple(place.path for place in extra if place.created),
                    cleanup=cleanup,
                )
                if self._support.machine is None:
                    profile = seatbelt.build_profile(mounts, private.temporary, network=spec.allow_network)
                    yield report((seatbelt.PROGRAM, "-p", profile, *argv), env)
                else:
                    context = self._bubblewrap_command(
                        self._support.machine, mounts, private, folder, extra, network=spec.allow_network
                    )
                    with context as (words, descriptors, status):
                        yield report((*words, *argv), env, descriptors, status)
        except OSError as error:
            raise ConfinementError(f"{error.filename or 'A file'}: {error.strerror}.") from error

    def _rename_new(self, has_repository: bool) -> AbstractContextManager[list[str]]:
        root = self.bounds.root

        def find_more() -> list[str]:
            return ["HEAD"] if has_repository and not find_git_places(root).folder else []

        return rename_new(root, self.bounds.renamed, find_more)

    def secret_files(self) -> tuple[SecretFile, ...]:
        """Return the possible secret files of the workspace."""
        return () if self._secrets is None else self._secrets.find_secrets()

    def scan(self) -> WorkspaceScan:
        """Return the names in the workspace that change the meaning of a command line."""
        return WorkspaceScan() if self._secrets is None else self._secrets.scan()

    def find_own(self, paths: Collection[str]) -> frozenset[str]:
        machine = self._support.machine
        if machine is None:
            return frozenset()
        with self._lock:
            base = self._private
        private_paths = [
            path for path in paths if first_private_name(path).rpartition("/")[0] in machine.folders
        ]
        return frozenset(path for path in private_paths if is_own(path, base))

    def locate_program(self, path: str) -> Path:
        """Return where a program can be found outside the sandbox.

        This is `path` itself, except for a program that a command created in the sandbox's own /tmp.
        """
        copy = self._private_copy(path)
        return copy if copy is not None and self.find_own([first_private_name(path)]) else Path(path)

    def find_lost_writes(self, paths: Iterable[str]) -> list[str]:
        """Return those of `paths` that a command created only in the sandbox's own /tmp, not in the real /tmp.

        `paths`: paths that the command was allowed to write.
        """
        return [
            path
            for path in paths
            if (copy := self._private_copy(path)) is not None
            and os.path.lexists(copy)
            and not os.path.lexists(path)
            and not self.find_own([path])
        ]

    def _private_copy(self, path: str) -> Path | None:
        """Return where a path of the sandbox's own /tmp can be found outside the sandbox. None for other paths."""
        folder = first_private_name(path).rpartition("/")[0]
        with self._lock:
            base = self._private
        machine = self._support.machine
        if base is None or machine is None or folder not in machine.folders:
            return None
        return base / PRIVATE_NAMES[folder] / Path(path).relative_to(folder)

    @property
    def secrets_incomplete(self) -> str:
        """A sentence on why the search for secret files was incomplete; empty if it was complete."""
        return "" if self._secrets is None else self._secrets.incomplete_reason

    def close(self) -> None:
        """Remove the sandbox's private folders; call it only when no command is running."""
        with self._lock:
            private, self._private = self._private, None
            lock_fd, self._lock_fd = self._lock_fd, -1
        if private is not None:
            shutil.rmtree(private, ignore_errors=True)
            os.close(lock_fd)

    def _masked_files(self, mounts: Mounts, spec: ExecSpec) -> tuple[SecretFile, ...]:
        """Return the workspace files that the command of `spec` must not read."""
        # A command that can write may read a secret file that equals its committed version. It could read that version
        # in the repository anyway, and it could commit the mask in place of the file.
        prefix = f"{self.bounds.root.rstrip('/')}/"
        hidden = {file.rstrip("/") for file in mounts.hidden}
        return tuple(
            replace(file, is_writable=file.name.partition("/")[0] not in self.bounds.read_only)
            for file in self.secret_files()
            if (spec.show_secrets_as_empty or not file.in_git)
            and file.path not in spec.readable_secrets
            and file.path.rstrip("/") not in hidden
            and (file.path.startswith(prefix) or not is_private(file.path))
        )

    def _mask(self, mounts: Mounts, masked: Sequence[SecretFile], unreadable: Path, spec: ExecSpec) -> Mounts:
        replacements = {}
        if self._support.machine is not None and not spec.show_secrets_as_empty:
            replacements = _create_replacements(masked, unreadable.with_name("unchanged"))
        return replace(
            mounts,
            masked=tuple(file.path for file in masked),
            masked_as_empty=spec.show_secrets_as_empty,
            replacements=replacements,
            read_only=spec.read_only,
        )

    def _mounts(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        extra: Sequence[str],
        bare_paths: Sequence[str],
        spec: ExecSpec,
    ) -> Mounts:
        mounts = find_mounts(self.bounds, argv, env, extra, spec.private_temp_paths)
        mounts = replace(mounts, read_only_paths=(*mounts.read_only_paths, *bare_paths))
        if spec.hides_home:
            mounts = replace(mounts, hidden=(*mounts.hidden, *list_home_entries(self.bounds, env)))
        if spec.repository_read_only:
            sealed = seal_repository(mounts.writable, mounts.read_only_paths, self.bounds.root)
            mounts = replace(
                mounts,
                visible=(*mounts.visible, *sealed.outside),
                writable=sealed.writable,
                read_only_paths=sealed.read_only,
            )
        return mounts

    @contextmanager
    def _bubblewrap_command(
        self,
        machine: bubblewrap.Machine,
        mounts: Mounts,
        private: bubblewrap.PrivateFolders,
        folder: OpenedPath,
        extra: Sequence[OpenedPath],
        *,
        network: bool,
    ) -> Iterator[tuple[list[str], Mapping[int, int], int]]:
        """Yield (bubblewrap's command line, its descriptors, our descriptor for its status)."""
        covers = bubblewrap.cover_files(mounts, private)
        guards = tuple(guard_arguments(mounts, covers, [place.path for place in extra]))
        filtered = self._support.filter is not None
        with bubblewrap.open_descriptors(self._support.filter) as (descriptors, status):
            options = bubblewrap.bubblewrap_arguments(
                machine, mounts, private, folder.path, network=network, has_filter=filtered
            )
            # Checked inside the sandbox: a path may be replaced between its check here and its mount.
            same_files = (OpenedPath(".", folder.device, folder.inode), *extra)
            yield [*options, *_landlock_command(mounts, same_files, guards)], descriptors, status

    def _missing_paths(self, bare_parts: BareRepositoryPaths, *, sealed_repository: bool) -> list[str]:
        """Return missing paths that commands must not create, at the top of the workspace and in its repository."""
        git = find_git_places(self.bounds.root)
        settings = [f"{self.bounds.root.rstrip('/')}/{name}" for name in self.bounds.absent]
        paths = [
            *settings,
            *bare_parts.absent,
            *(f"{git.folder}/{name}" for name in git.absent if not sealed_repository),
        ]
        # A command cannot create a file if this program cannot either.
        return [path for path in paths if os.access(Path(path).parent, os.W_OK)]

    def _private_folders(self) -> bubblewrap.PrivateFolders:
        with self._lock:
            base = self._private
            # A clean-up program may have removed the folders.
            if base is None or not all((base / name).exists() for name in (*_FOLDERS, *_FILES)):
                if self._lock_fd >= 0:
                    os.close(self._lock_fd)
                base, self._lock_fd = _create_locked_folder(self._records / "private")
                self._private = base
                for name in _FOLDERS:
                    (base / name).mkdir(mode=0o500 if name == "empty" else 0o700)
                for name, mode in _FILES.items():
                    (base / name).touch(mode)
        return bubblewrap.PrivateFolders(*(str(base / name) for name in (*_FOLDERS, *_FILES)))


def _create_replacements(masked: Sequence[SecretFile], folder: Path) -> dict[str, str]:
    """Create an unreadable replacement for each secret file that was changed after its commit.

    Return a map from secret file to replacement.
    """
    # A replacement has the size and time of the committed version, so git treats the secret file as unchanged.
    copies: dict[str, str] = {}
    for file in masked:
        if file.committed_size_and_mtime is not None:
            size, seconds = file.committed_size_and_mtime
            copy = folder / f"{size}-{seconds}"
            if not copy.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
                descriptor, temporary = tempfile.mkstemp(dir=folder)
                os.truncate(descriptor, size)
                os.utime(descriptor, (seconds, seconds))
                os.fchmod(descriptor, 0)
                os.close(descriptor)
                Path(temporary).replace(copy)
            copies[file.path] = str(copy)
    return copies


def _create_locked_folder(parent: Path) -> tuple[Path, int]:
    """Create a locked folder in `parent`, and remove the folders of killed processes."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for leftover in parent.iterdir():
        with suppress(FileNotFoundError):  # another process removed it
            if time.time() - leftover.stat().st_mtime > _SETTLED_S:
                _remove_if_unlocked(leftover)
    folder = Path(tempfile.mkdtemp(dir=parent))
    lock_fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    fcntl.flock(lock_fd, fcntl.LOCK_EX)  # the kernel releases it at the end of this process, however it ends
    return folder, lock_fd


def _remove_if_unlocked(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)


def describe_sandbox(support: SandboxSupport, bounds: Bounds) -> tuple[str, ...]:
    """Return sentences that describe the sandbox to the user."""
    lines = [f"Commands run in {support.kind}: they can write only to the workspace and to a private /tmp."]
    lines += [f"They can also write to {folder} (from your settings)." for folder in bounds.writable]
    lines.append("They have no network unless it is allowed, and they cannot see keys or other processes.")
    if support.machine is not None:
        lines.append(
            "A filter blocks dangerous system calls."
            if support.filter is not None
            else "System calls are not filtered: this processor is not supported."
        )
        lines.append(
            f"Landlock (ABI {support.landlock_abi}) also protects files."
            if support.landlock_abi
            else "The kernel does not support Landlock."
        )
    return tuple(lines)


def _landlock_command(
    mounts: Mounts, opened_places: Sequence[OpenedPath], guards: Sequence[str]
) -> list[str]:
    python = [os.path.realpath(sys.executable), "-I", "-S", "-B", landlock.__file__]
    identities = [f"={place.device}:{place.inode}:{place.path}" for place in opened_places]
    return [*python, *identities, *guards, *mounts.writable_now, "/tmp", "/var/tmp", "/dev", "/proc", "--"]


_LINK = "a symbolic link cannot be protected"
_SWAPPED = "two files with secrets were swapped while the command was prepared"


def guard_arguments(mounts: Mounts, cover_files: Sequence[str], opened: Sequence[str] = ()) -> Iterator[str]:
    """Yield the arguments for `landlock.main` to verify the mounts.

    - `cover_files`: files mounted over `mounts.masked`
    - `opened`: writable paths to leave out, because the caller yields their arguments

    Raise `OSError` if a path is missing, is a link, or is below a link.
    """
    # Paths below a covered folder are left out: the command cannot reach them.
    covers = [folder for folder in (*mounts.hidden, *mounts.masked) if folder.endswith("/")]
    hidden = {folder.rstrip("/") for folder in mounts.hidden}
    masked = {folder.rstrip("/") for folder in mounts.masked} | hidden
    for path in mounts.writable:
        if path not in opened and path not in hidden and not _is_below(path, covers):
            yield f"={_format_identity(_stat_path(path)[1])}:{path}"
    for path in mounts.read_only_paths:
        if path not in masked and not _is_below(path, covers):
            parent, status = _stat_path(path)
            yield f"!{_format_identity(parent)}:{_format_identity(status)}:{path}"
    places = set[tuple[int, int, str]]()
    for path, cover in zip(mounts.masked, cover_files, strict=True):
        path_without_slash = path.rstrip("/")
        if path_without_slash in hidden or _is_below(path_without_slash, covers):
            continue
        parent, _ = _stat_path(path_without_slash)
        place = (parent.st_dev, parent.st_ino, path_without_slash.rpartition("/")[2])
        if place in places:
            raise OSError(errno.ESTALE, _SWAPPED, path_without_slash)
        places.add(place)
        yield f"!{_format_identity(parent)}:{_format_identity(os.lstat(cover))}:{path_without_slash}"


def _stat_path(path: str) -> tuple[os.stat_result, os.stat_result]:
    """Return (status of the folder of `path`, status of `path`). Raise `OSError` for a link in the path."""
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = open_to_enter([part for part in folder.split("/") if part])
        try:
            parent, status = (
                os.fstat(folder_fd),
                os.stat(name or ".", dir_fd=folder_fd, follow_symlinks=False),
            )
        finally:
            os.close(folder_fd)
    except OSError as error:
        raise OSError(error.errno, _LINK if error.errno == errno.ELOOP else error.strerror, path) from error
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, _LINK, path)
    return parent, status


def _format_identity(info: os.stat_result) -> str:
    return f"{info.st_dev}:{info.st_ino}"


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(folder) for folder in folders)
