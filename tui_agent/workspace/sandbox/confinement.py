"""Commands of one environment, made to run confined.

Invariant: a command that cannot be confined as was promised is not run at all. What a sandbox needs of temporary
folders, descriptors and placeholders is let go of when the command has ended, the private folders at the end.
"""

import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from tui_agent.ports.environment import Sandbox, SecretFile, WorkspaceScan
from tui_agent.workspace.local.secret_files import SecretFiles
from tui_agent.workspace.sandbox import bubblewrap, landlock, seatbelt
from tui_agent.workspace.sandbox.detection import Found
from tui_agent.workspace.sandbox.extra_mounts import Opened, opened
from tui_agent.workspace.sandbox.git_paths import BareTop, bare_top, git_places, sealed
from tui_agent.workspace.sandbox.guard_files import noted
from tui_agent.workspace.sandbox.mounts import Bounds, Places, home_places, places, private_place
from tui_agent.workspace.sandbox.own_files import is_own, top
from tui_agent.workspace.sandbox.placeholders import Placeholders
from tui_agent.workspace.sandbox.variables import by_time_and_size, inside

_STATUS_ROOM = 4096
_SETTLED_S = 60.0
"""A folder younger than this may not have its lock yet."""
_FOLDERS = ("tmp", "longer", "empty")
_FILES = {"blank": 0o444, "shut": 0o000}


@dataclass(frozen=True, slots=True)
class Confined:
    """A command as it is started: `given` are more descriptors, by the number at which it finds each."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    given: Mapping[int, int] = field(default_factory=dict)
    status: int = -1
    masked: tuple[SecretFile, ...] = ()
    """Files of the workspace that it must not read."""
    stand_ins: tuple[str, ...] = ()
    """Names that stand empty for what must not come to be."""

    def began(self) -> bool:
        """Whether the command itself was started, once it has ended: until then only the sandbox was made."""
        if self.status < 0:
            return True
        with suppress(BlockingIOError):
            return b'"exit-code"' in os.read(self.status, _STATUS_ROOM)
        return False


class NotConfined(Exception):
    """A command cannot be confined as was promised; the words say why."""


class Confinement:
    """The sandbox of one environment. `records` is a folder of the product's that all its processes share.

    Everything but `sandbox` blocks: meant for a thread.
    """

    def __init__(self, found: Found, bounds: Bounds, records: Path) -> None:
        self._found = found
        self.bounds = bounds
        self._secrets = (
            SecretFiles(bounds.root, bounds.secret, bounds.readable, bounds.steering)
            if bounds.secret
            else None
        )
        self._placeholders = Placeholders(bounds.root, records)
        self._lock = Lock()
        self._records = records
        self._private: Path | None = None
        self._held = -1
        """The lock on the private folders: whoever can take it knows that their owner is gone."""
        why_not = found.why_not or bounds.refusal()
        self.sandbox = Sandbox(why_not=why_not) if why_not else Sandbox(found.kind, told(found, bounds))

    @contextmanager
    def command(
        self,
        argv: Sequence[str],
        folder: Opened,
        env: Mapping[str, str],
        *,
        network: bool,
        writable: Sequence[str] = (),
        shown: Collection[str] = (),
        own: Sequence[str] = (),
        looks: bool = False,
        shut: bool = False,
        read_only: bool = False,
        hides_home: bool = False,
    ) -> Iterator[Confined]:
        """A command made ready to start in a folder; what it holds is let go of at the end. `writable` are places outside
        that were allowed to this command (see `opened`), `shown` files with secrets; `own`, `looks`, `read_only` and
        `hides_home` as in `ExecSpec`, `shut` its `sealed`. Raises `NotConfined`."""
        why_not = self.bounds.refusal()
        if why_not:
            raise NotConfined(why_not)
        try:
            private = self._folders()
            # What only looks makes no repository: so a plain `ls` shows no stand-ins without a dot.
            makes = not (looks or read_only) and os.access(self.bounds.root, os.W_OK)
            bare = bare_top(self.bounds.root) if makes else BareTop()
            missing = [] if read_only else self._missing(bare, shut=shut)
            with (
                self._placeholders.held(missing, bare.parts) as held,
                opened(self.bounds, writable) as more,
            ):
                found = places(self.bounds, argv, env, [each.path for each in more], own)
                found = replace(found, kept=(*found.kept, *bare.kept(held)))
                if hides_home:
                    found = replace(found, hidden=(*found.hidden, *home_places(self.bounds, env)))
                if shut:
                    writes, kept = sealed(found.writable, found.kept, self.bounds.root)
                    found = replace(found, writable=writes, kept=kept)
                masked = self._masked(found, shown, looks=looks)
                covers = self._found.machine is not None and not looks
                stands = _unchanged(masked, Path(private.shut).with_name("unchanged")) if covers else {}
                found = replace(found, masked=tuple(each.path for each in masked), blank=looks)
                found = replace(found, stands=stands, read_only=read_only)
                temporary = private.temporary if self._found.machine is None else "/tmp"
                env = inside(env, temporary, read_only=read_only)
                env = by_time_and_size(env) if stands else env
                if self._found.machine is None:
                    words = seatbelt.arguments(found, private.temporary, (), network=network)
                    yield Confined((*words, *argv), env, masked=masked, stand_ins=held)
                else:
                    guards = tuple(
                        noted(found, bubblewrap.standing(found, private), [each.path for each in more])
                    )
                    with _descriptors(self._found.filter) as (given, status):
                        words = self._words(self._found.machine, found, private, folder.path, network=network)
                        shim = _shim(found, (Opened(".", folder.device, folder.inode), *more), guards)
                        yield Confined((*words, *shim, *argv), env, given, status, masked, held)
        except OSError as error:
            raise NotConfined(f"{error.filename or 'A file'}: {error.strerror}.") from error

    def secret_files(self) -> tuple[SecretFile, ...]:
        """The files of the workspace that may hold secrets, as they are now."""
        return () if self._secrets is None else self._secrets.look()

    def scan(self) -> WorkspaceScan:
        """Look at the names of the workspace that change what a command means."""
        return WorkspaceScan() if self._secrets is None else self._secrets.scan()

    def own(self, paths: Collection[str]) -> frozenset[str]:
        """See `ports.environment.KnowsOwnFiles`."""
        machine = self._found.machine
        if machine is None:
            return frozenset()
        with self._lock:
            base = self._private
        private = [each for each in paths if top(each).rpartition("/")[0] in machine.folders]
        return frozenset(each for each in private if is_own(each, base))

    @property
    def secrets_cut(self) -> str:
        """Why not all of the workspace was looked at for them, as a sentence; empty where it was."""
        return "" if self._secrets is None else self._secrets.cut

    def close(self) -> None:
        """Take the private folders away, once no command runs any more."""
        with self._lock:
            private, self._private = self._private, None
            held, self._held = self._held, -1
        if private is not None:
            shutil.rmtree(private, ignore_errors=True)
            os.close(held)

    def _masked(self, found: Places, shown: Collection[str], *, looks: bool) -> tuple[SecretFile, ...]:
        """What of the workspace a command must not read. What its repository holds, as it is, any command that does more
        than look may read from there, and would commit or pack it wrongly where it were covered."""
        inside = f"{self.bounds.root.rstrip('/')}/"
        covered = {each.rstrip("/") for each in found.hidden}
        return tuple(
            each
            for each in self.secret_files()
            if (looks or not each.in_git)
            and each.path not in shown
            and each.path.rstrip("/") not in covered
            and (each.path.startswith(inside) or not private_place(each.path))
        )

    def _words(
        self,
        machine: bubblewrap.Machine,
        found: Places,
        private: bubblewrap.Private,
        folder: str,
        *,
        network: bool,
    ) -> list[str]:
        filtered = self._found.filter is not None
        return bubblewrap.arguments(machine, found, private, folder, network=network, filtered=filtered)

    def _missing(self, bare: BareTop, *, shut: bool) -> list[str]:
        """Names that must not come to be: at the top of the workspace, and in its repository."""
        git = git_places(self.bounds.root)
        mine = [f"{self.bounds.root.rstrip('/')}/{name}" for name in self.bounds.absent]
        wanted = [*mine, *bare.absent, *(f"{git.folder}/{name}" for name in git.absent if not shut)]
        # Where this program may make nothing, its commands may not either.
        return [path for path in wanted if os.access(Path(path).parent, os.W_OK)]

    def _folders(self) -> bubblewrap.Private:
        with self._lock:
            base = self._private
            if base is None or not all(
                (base / name).exists() for name in (*_FOLDERS, *_FILES)
            ):  # or tidied away
                if self._held >= 0:
                    os.close(self._held)
                base, self._held = _own_folder(self._records / "private")
                self._private = base
                for name in _FOLDERS:
                    (base / name).mkdir(mode=0o500 if name == "empty" else 0o700)
                for name, mode in _FILES.items():
                    (base / name).touch(mode)
        return bubblewrap.Private(*(str(base / name) for name in (*_FOLDERS, *_FILES)))


def _unchanged(masked: Sequence[SecretFile], folder: Path) -> dict[str, str]:
    """For files that were changed since their repository took them: files that nobody may open, and that look to git like
    the version it has. So it takes them for unchanged, and neither fails nor records them."""
    found: dict[str, str] = {}
    for each in masked:
        if each.held is not None:
            size, seconds = each.held
            made = folder / f"{size}-{seconds}"
            if not made.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
                descriptor, draft = tempfile.mkstemp(dir=folder)
                os.truncate(descriptor, size)
                os.utime(descriptor, (seconds, seconds))
                os.fchmod(descriptor, 0)
                os.close(descriptor)
                Path(draft).replace(made)
            found[each.path] = str(made)
    return found


def _own_folder(place: Path) -> tuple[Path, int]:
    """A new folder with a lock on it. Folders that a killed process left are taken away."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in place.iterdir():
        with suppress(FileNotFoundError):  # another start was quicker
            if time.time() - left.stat().st_mtime > _SETTLED_S:
                _take_away(left)
    made = Path(tempfile.mkdtemp(dir=place))
    held = os.open(made, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    fcntl.flock(held, fcntl.LOCK_EX)
    return made, held


def _take_away(left: Path) -> None:
    """Remove a folder, unless its owner still holds it."""
    lock = os.open(left, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)


def told(found: Found, bounds: Bounds) -> tuple[str, ...]:
    """What is in force, for a person."""
    lines = [f"Commands run in {found.kind}: they write only to the workspace and to a /tmp of their own."]
    lines += [f"The user opened {each} to them as well." for each in bounds.writable]
    lines.append("They reach no network unless that is allowed, see no keys, and no other processes.")
    if found.machine is not None:
        lines.append(
            "A filter refuses dangerous system calls."
            if found.filter is not None
            else "This processor's system calls are not known here, so none are filtered."
        )
        lines.append(
            f"Landlock (ABI {found.landlock}) guards files once more."
            if found.landlock
            else "The kernel has no Landlock as a further line."
        )
    return tuple(lines)


@contextmanager
def _descriptors(calls: bytes | None) -> Iterator[tuple[dict[int, int], int]]:
    """The filter to read, and the line on which bubblewrap says what became of the command."""
    status, status_in = os.pipe()
    opened = [status, status_in]
    try:
        os.set_blocking(status, False)
        given = {bubblewrap.AT[1]: status_in}
        if calls is not None:
            filter_end, filter_in = os.pipe()
            opened.append(filter_end)
            given[bubblewrap.AT[0]] = filter_end
            os.write(filter_in, calls)
            os.close(filter_in)
        yield given, status
    finally:
        for each in opened:
            os.close(each)


def _shim(found: Places, known: Sequence[Opened], guards: Sequence[str]) -> list[str]:
    """What makes sure that these are what they were, restricts itself by Landlock and then becomes the command."""
    python = [os.path.realpath(sys.executable), "-I", "-S", "-B", landlock.__file__]
    same = [f"={each.device}:{each.inode}:{each.path}" for each in known]
    return [*python, *same, *guards, *found.written, "/tmp", "/var/tmp", "/dev", "/proc", "--"]
