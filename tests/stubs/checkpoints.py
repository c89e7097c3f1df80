"""Workspaces and stores for the tests of checkpoints."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tui_agent.protocol.events.files import Author
from tui_agent.workspace.checkpoints.atomic_restore import FileOperations
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.git_runner import ProgramResult, run_program
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def git(folder: Path, *args: str, stdin: bytes | None = None) -> str:
    """Run git in a test's own repository."""
    who = ("-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "protocol.file.allow=always")
    env = {**{name: value for name, value in os.environ.items() if not name.startswith("GIT_")}, **QUIET}
    done = subprocess.run(
        ["git", *who, *args], cwd=folder, env=env, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def workspace(root: Path, *, repository: bool = False, **files: str) -> Path:
    """A folder with a few files, in a repository of its own when asked."""
    folder = root / "workspace"
    folder.mkdir()
    write(folder, {"src/app.py": "print('app')\n", "README": "read me\n", **files})
    if repository:
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "all")
    return folder


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, with their folders."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def shadow(
    folder: Path, *, limits: Limits | None = None, acts: FileOperations | None = None
) -> GitCheckpoints:
    """The checkpoints of a workspace, in a folder beside it."""
    return GitCheckpoints(
        folder, folder.parent / "checkpoints.git", limits=limits or Limits(), operations=acts
    )


async def begun(folder: Path, *, limits: Limits | None = None) -> GitCheckpoints:
    """Checkpoints with the first one taken."""
    made = shadow(folder, limits=limits)
    assert await made.begin("") is not None
    return made


async def begun_workspace(
    root: Path, *, repository: bool = False, **files: str
) -> tuple[Path, GitCheckpoints, str]:
    """A workspace, its checkpoints, and the first of them."""
    folder = workspace(root, repository=repository, **files)
    made = await begun(folder)
    return folder, made, made.head


async def taken(made: GitCheckpoints, author: Author = "agent", part: int = 1) -> str:
    """Look everywhere and keep what is found."""
    return await made.commit(await made.find_changes(), part=part, author=author, message="changes")


Snapshot = dict[str, tuple[str, int, bytes]]


def snapshot(folder: Path) -> Snapshot:
    """Kind, permission bits and bytes of everything but folders and what a repository keeps for itself."""
    found: Snapshot = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in {*names, *links} - {".git"}:
            path = Path(place) / name
            at = path.relative_to(folder).as_posix()
            if path.is_symlink():
                found[at] = ("link", 0, os.fsencode(path.readlink()))
            elif path.is_file():
                found[at] = ("file", path.stat().st_mode & 0o7777, path.read_bytes())
            else:
                found[at] = ("special", 0, b"")
    return found


class Disturbed(OSError):
    """The fault that a test put in."""


class FailingActs(FileOperations):
    """The n-th change of the workspace fails."""

    def __init__(self, at: int) -> None:
        self.left = at

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Disturbed(5, "the disk says no")

    def link(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        self._count()
        super().link(source, source_fd, target, target_fd)

    def rename(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        self._count()
        super().rename(source, source_fd, target, target_fd)

    def mkdir(self, name: str, fd: int) -> None:
        self._count()
        super().mkdir(name, fd)

    def rmdir(self, name: str, fd: int) -> None:
        self._count()
        super().rmdir(name, fd)

    def chmod(self, name: str, fd: int, bits: int) -> None:
        self._count()
        super().chmod(name, fd, bits)

    def write(self, name: str, fd: int, content: bytes, bits: int, *, sync: bool = False) -> None:
        self._count()
        super().write(name, fd, content, bits, sync=sync)

    def symlink(self, target: bytes, name: str, fd: int) -> None:
        self._count()
        super().symlink(target, name, fd)


class Killed(BaseException):
    """The program ends here."""


class KilledActs(FailingActs):
    """Does nothing any more from the n-th act on: as after kill -9."""

    def _count(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Killed

    def unlink(self, name: str, fd: int) -> None:
        self._count()
        super().unlink(name, fd)


class FailingRuns:
    """The n-th run of git fails, before or after it did its work."""

    def __init__(self) -> None:
        self.left = 0
        self.after = False

    async def __call__(
        self, argv: Sequence[str], stdin: bytes, env: Mapping[str, str], cwd: Path
    ) -> ProgramResult:
        self.left -= 1
        if self.left == 0 and self.after:
            await run_program(argv, stdin, env, cwd)
        if self.left == 0:
            return ProgramResult(128, b"", b"fatal: write error: No space left on device\n")
        return await run_program(argv, stdin, env, cwd)
