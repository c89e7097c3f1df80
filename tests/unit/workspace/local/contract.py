"""The environments that keep the contract of ports.environment, each in a folder of its own, and how they are asked."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tests.stubs.containers import shared_container_environment
from tests.stubs.memory_blobs import MemoryBlobs
from tests.stubs.sandboxed import confinement, require_sandbox
from tui_agent.ports.environment import Environment, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.file_change_events import RecordingEnvironment
from tui_agent.workspace.local.nofollow_open import open_folder_by_folder

PYTHON = sys.executable


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


IN_TEST_ALL = pytest.mark.slow
"""Two environments show in `make test` that the contract holds, outside a sandbox and inside one."""


@pytest.fixture(
    params=[
        "local",
        "sandboxed",
        *(
            pytest.param(name, marks=IN_TEST_ALL)
            for name in ("local, folder by folder", "recording", "docker", "apptainer")
        ),
    ]
)
def env(request: pytest.FixtureRequest, tmp_path: Path) -> Environment:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    if request.param == "sandboxed":
        require_sandbox()
        confined = confinement(root, tmp_path, tmp_path / "records")
        return LocalEnvironment(root, environ=dict(os.environ), confinement=confined)
    if request.param in ("docker", "apptainer"):
        return shared_container_environment(root, request.param)
    way = open_folder_by_folder if "folder" in request.param else None
    local = LocalEnvironment(root, environ=dict(os.environ), open_folder=way)
    if "local" in request.param:
        return local
    return RecordingEnvironment(local, MemoryBlobs(), lambda payload: None, None)


@pytest.fixture
def root(env: Environment) -> Path:
    return Path(env.root)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class Sink:
    """Collects output and lets a test wait for it."""

    def __init__(self) -> None:
        self.data = b""
        self.grown = anyio.Event()

    def __call__(self, data: bytes) -> None:
        self.data += data
        self.grown.set()

    async def until(self, wanted: Callable[[bytes], bool]) -> bytes:
        while not wanted(self.data):
            self.grown = anyio.Event()
            await self.grown.wait()
        return self.data


async def shell(env: Environment, script: str, **kwargs: object):
    sink = Sink()
    result = await env.exec(ExecSpec(script=script, **kwargs), sink)  # type: ignore[arg-type]
    return result, sink
