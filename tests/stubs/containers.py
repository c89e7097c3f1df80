"""Real containers of podman for tests, with an image made of nothing but this machine's own /usr."""

import atexit
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from tests.stubs.left_out import leave_out
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink
from tui_agent.workspace.containers.command_lines import ContainerSettings
from tui_agent.workspace.containers.container import Container
from tui_agent.workspace.containers.environment import ContainerEnvironment
from tui_agent.workspace.local.environment import LocalEnvironment

IMAGE = "localhost/tui-agent-test"
LIMITS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")
"""Without them podman raises the limits, which a machine without CAP_SYS_RESOURCE does not allow."""


@cache
def container_settings() -> ContainerSettings:
    """A storage of its own with the test image; where podman cannot run containers, the test is left out."""
    if shutil.which("podman") is None:
        leave_out("podman is not installed (packages podman and runc)")
    storage = Path(tempfile.mkdtemp(prefix="tui-agent-podman-"))
    places = f"--root {storage}/root --runroot {storage}/run"
    command = f"podman --storage-driver vfs --cgroup-manager cgroupfs {places}"
    atexit.register(_remove_storage, storage, command)
    made = subprocess.run(
        [*command.split(), "import", "-", IMAGE], input=_file_system(), capture_output=True, check=False
    )
    if made.returncode:
        leave_out(f"podman cannot make an image: {made.stderr.decode()[-300:]}")
    shown = dict.fromkeys(("/usr", sys.base_prefix, sys.prefix))
    mounts = (word for place in shown for word in ("-v", f"{place}:{place}:ro"))
    return ContainerSettings(command, IMAGE, "none", (*LIMITS, *mounts))


def _remove_storage(storage: Path, command: str) -> None:
    subprocess.run([*command.split(), "rm", "--all", "--force"], capture_output=True, check=False)
    subprocess.run(
        ["umount", storage / "root" / "vfs"], capture_output=True, check=False
    )  # podman's own mount
    shutil.rmtree(storage, ignore_errors=True)


def list_containers(command: str) -> str:
    """The ids of all containers of the storage, one a line."""
    found = subprocess.run([*command.split(), "ps", "-aq"], capture_output=True, text=True, check=True)
    return found.stdout


def _file_system() -> bytes:
    """A root with what every Debian has as links into /usr, as a tar archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name in ("usr", "etc", "tmp", "proc", "dev", "sys", "run", "root"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(folder)
        for name in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(link)
    return data.getvalue()


def apptainer_settings(folder: Path) -> ContainerSettings:
    """A stand-in for Apptainer: it runs commands on this machine, in a process namespace for each instance."""
    if os.getuid():
        leave_out("the stand-in for Apptainer needs root to make process namespaces")
    return ContainerSettings(
        str(Path(__file__).parent / "fake_apptainer.sh"),
        f"{folder}/work.sif",
        "none",
        ("--bind", "/data:/data:ro"),
        "apptainer",
    )


class _SharedEnvironment(ContainerEnvironment):
    """Starts the container, which other tests use too, with the first command."""

    is_closed = False

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        if not self.is_closed:
            await self.start()
        return await super().exec(spec, on_output)

    async def aclose(self) -> int:
        self.is_closed = True
        return await super().aclose()


_shared: dict[tuple[str, str], Container] = {}


def shared_container_environment(root: Path, kind: str = "docker") -> ContainerEnvironment:
    """An environment in a container that has the folder of all tests' folders mounted."""
    base = str(next(p for p in root.parents if p.name.startswith("pytest-")))
    if kind == "docker":
        settings, environ = container_settings(), dict(os.environ)
    else:
        settings, environ = apptainer_settings(Path(base)), {**os.environ, "FAKE_INSTANCES": base}
        Path(settings.image).touch()
    container = _shared.get((kind, base))
    if container is None or container.is_closed:
        container = _shared[kind, base] = Container(settings, base, environ)
    return _SharedEnvironment(LocalEnvironment(root), container, settings)
