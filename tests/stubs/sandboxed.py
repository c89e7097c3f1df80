"""A sandbox over a whole small world: a workspace, a home with secrets, services that listen, and a process to kill.

Everything stands on loopback or in folders of the test's own; `damage` tells what an attempt did to it.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from tests.stubs.left_out import leave_out
from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.policy.places.sandbox_places import guarded_outside, guarded_places
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.sandbox import detection
from tui_agent.workspace.sandbox.command_setup import Confinement
from tui_agent.workspace.sandbox.mounts import Bounds

SECRET = "canary-4711-secret"
"""Must never be read in a sandbox."""
SETTINGS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def require_sandbox() -> None:
    """Skip with a word where commands cannot be confined, but never where CI runs the tests."""
    found = detection.detect_sandbox()
    if not found.kind:
        leave_out(found.why_not)


@contextmanager
def elsewhere() -> Iterator[Path]:
    """A folder that lies in none of those that a command has for itself, as /tmp is."""
    base = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache"
    base.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="tui-agent-test-", dir=base)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def confinement(
    root: Path, home: Path, records: Path, *, confines: bool = True, **more: tuple[str, ...]
) -> Confinement:
    """As a session makes it; where it does not confine, as on a system without a sandbox."""
    guarded = guarded_places(str(home))
    bounds = Bounds(
        root=str(root),
        home=str(home),
        hidden=guarded.hidden,
        read_only=guarded.read_only,
        absent=guarded.absent,
        renamed=guarded.renamed,
        guarded_folders=guarded.trees,
        is_guarded=guarded_outside(more.get("own_folders", ())),
        is_secret=may_hold_secrets,
        **more,
    )
    return Confinement(
        detection.detect_sandbox() if confines else detection.SandboxSupport(), bounds, records
    )


def git(folder: Path, *words: str, time: str = "") -> str:
    """A git call of the test's own, as at this time."""
    dates = {"GIT_COMMITTER_DATE": time, "GIT_AUTHOR_DATE": time} if time else {}
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **SETTINGS, **dates},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


class World:
    """`files` is what must stay as it is: everything but the workspace's own files."""

    def __init__(self, base: Path, *, repository: bool = True) -> None:
        self.base, self._repository = base, repository
        self.workspace, self.home, self.outside = base / "work", base / "home", base / "outside"
        self.name = f"tui-agent-test-{secrets.token_hex(6)}"
        """Of its abstract socket."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for folder in (
            self.workspace,
            self.outside,
            self.home / ".ssh",
            self.home / "own",
            self.base / "records",
        ):
            folder.mkdir(parents=True)
        (self.workspace / "a.txt").write_text("a\n")
        if self._repository:
            git(self.workspace, "init", "-q")
            git(self.workspace, "add", ".")
            git(self.workspace, "commit", "-q", "-m", "first")
        (self.home / ".ssh/id_ed25519").write_text(SECRET)
        (self.home / ".netrc").write_text(SECRET)
        (self.home / ".bashrc").write_text("# mine\n")
        (self.home / "own/config.toml").write_text("")
        (self.outside / "file").write_text("untouched\n")
        self.tcp, self.udp = self._listen(socket.SOCK_STREAM), self._listen(socket.SOCK_DGRAM)
        self.docker = self._service(str(self.home / "docker.sock"))
        self.agent = self._service(str(self._short() / "agent.1"))
        self.abstract = self._service(f"\0{self.name}")
        self.victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self._stack.callback(self._end_victim)
        self.before = self._files()
        variables = {
            **os.environ,
            "SSH_AUTH_SOCK": self.agent.getsockname(),
            "HOME": str(self.home),
            **SETTINGS,
        }
        variables.update(
            PROVIDER_API_KEY=SECRET, DBUS_SESSION_BUS_ADDRESS=f"unix:path={self.agent.getsockname()}"
        )
        self.env = LocalEnvironment(
            self.workspace,
            environ=variables,
            hidden=("PROVIDER_API_KEY",),
            grace=0.2,
            confinement=confinement(
                self.workspace, self.home, self.base / "records", own_folders=(str(self.home / "own"),)
            ),
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def settle(self) -> None:
        """What is there now is what must stay."""
        self.before = self._files()

    async def attempt(self, code: str, *, outside: bool = False, timeout: float = 30.0) -> ExecResult:
        """Run an attempt; `{}` names of the world are filled in. Python where it begins with `import`."""
        names = {
            "outside": self.outside,
            "home": self.home,
            "work": self.workspace,
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "docker": self.docker.getsockname(),
            "agent": self.agent.getsockname(),
            "abstract": self.name,
            "victim": self.victim.pid,
            "engine": os.getpid(),
        }
        for name, value in names.items():
            code = code.replace(f"<{name}>", str(value))
        argv = (sys.executable, "-c", code) if code.startswith("import ") else ()
        spec = ExecSpec(argv=argv, script="" if argv else code, timeout=timeout, unsandboxed=outside)
        return await self.env.exec(spec, lambda data: None)

    def damage(self, result: ExecResult) -> list[str]:
        """What an attempt did that it must not do; empty where it was held."""
        now = self._files()
        found = [
            f"{path} changed"
            for path in sorted({*now, *self.before})
            if now.get(path) != self.before.get(path)
        ]
        found += [f"the {name} was reached" for name, one in self._services().items() if _reached(one)]
        if self.victim.poll() is not None:
            found.append("a process outside was ended")
        if b"ESCAPED" in result.output:
            found.append("it says that it got out")
        if SECRET.encode() in result.output:
            found.append("a secret was read")
        return found

    def _services(self) -> dict[str, socket.socket]:
        return {
            "TCP listener": self.tcp,
            "UDP listener": self.udp,
            "docker socket": self.docker,
            "ssh agent": self.agent,
            "abstract socket": self.abstract,
        }

    def _files(self) -> dict[str, object]:
        """Everything that must stay: outside, the home, and what the workspace's programs would run."""
        found: dict[str, object] = {}
        guarded = [
            self.workspace / ".git" / name
            for name in ("config", "hooks", "commondir", "modules", "worktrees")
        ]
        guarded += [self.workspace / name for name in (".tui_agent", ".mcp.json", ".vscode", ".idea")]
        guarded.append(self.workspace / ".git/config.worktree")
        for top in (self.outside, self.home, *guarded):
            for path in (top, *sorted(top.rglob("*"))):
                found[str(path)] = _seen(path)
        for path in (Path("/proc/sys/kernel/core_pattern"), Path("/proc/sys/kernel/hostname")):
            found[str(path)] = path.read_text()
        return found

    def _listen(self, kind: socket.SocketKind) -> socket.socket:
        one = self._stack.enter_context(socket.socket(socket.AF_INET, kind))
        one.bind(("127.0.0.1", 0))
        return _quietly(one)

    def _service(self, address: str) -> socket.socket:
        one = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        one.bind(address)
        return _quietly(one)

    def _short(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="ssh-", dir="/tmp"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _end_victim(self) -> None:
        self.victim.kill()
        self.victim.wait()


def _quietly(one: socket.socket) -> socket.socket:
    one.setblocking(False)
    if one.type == socket.SOCK_STREAM:
        one.listen(8)
    return one


def _reached(one: socket.socket) -> bool:
    with contextlib.suppress(BlockingIOError):
        if one.type == socket.SOCK_DGRAM:
            one.recv(100)
        else:
            one.accept()[0].close()
        return True
    return False


def _seen(path: Path) -> object:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if not path.exists():
        return None
    if path.is_file():
        return path.read_bytes(), path.stat().st_nlink
    return "folder" if path.is_dir() else "other"
