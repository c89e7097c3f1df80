"""Sandboxes of Modal, through its SDK (extra `modal`)."""

import os
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from typing import Any

import anyio
from anyio import to_thread

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import ConfigError, EnvironmentFault, EnvironmentLost
from tui_agent.workspace.remote.machine import provider_fault

APP = "tui-agent"
BUILD_FAILURES = ("ImageBuildError", "RemoteError")
INTERRUPTIONS = (
    "ClientClosed",
    "ConnectionError",
    "InternalError",
    "InternalFailure",
    "OSError",
    "ResourceExhaustedError",
    "SandboxTerminatedError",
    "ServiceError",
    "TimeoutError",
)
"""Exceptions of the SDK for a sandbox that is gone or unreachable."""


class ModalMachine:
    """A sandbox of Modal; implements `RemoteMachine`.

    `image`: a registry's image or path of a Dockerfile; empty for Modal's default image (Debian).
    """

    def __init__(self, image: str, network: str, lifetime_s: int) -> None:
        self._image = image
        self._blocks_network = network == "none"
        self._lifetime_s = lifetime_s
        self._sandbox: Any = None

    @property
    def description(self) -> str:
        network = "no network" if self._blocks_network else "network"
        return f"a Modal sandbox (image {self._image or 'debian_slim'}, {network})"

    async def start(self) -> None:
        """Create the sandbox; raise `ConfigError` if the SDK is missing or Modal refuses."""
        modal: Any = await to_thread.run_sync(load_package, "modal")  # takes a second
        try:
            app = await modal.App.lookup.aio(APP, create_if_missing=True)
            image = _make_image(modal, self._image)
            self._sandbox = await modal.Sandbox.create.aio(
                "sleep",
                "infinity",
                app=app,
                image=image,
                timeout=self._lifetime_s,
                block_network=self._blocks_network,
            )
        except Exception as error:  # the SDK's errors have no common base
            if self._image.startswith("/") and type(error).__name__ in BUILD_FAILURES:
                raise EnvironmentFault(f"{self._image} could not be built: {error}") from error
            fault = provider_fault("Modal could not create a sandbox", error, INTERRUPTIONS)
            if isinstance(fault, EnvironmentLost):
                raise fault from error
            raise ConfigError(fault.message, hint="Sign in with `modal token new`.") from error

    async def run(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
    ) -> int:
        """Run a program; see `RemoteMachine`."""
        try:
            process = await self._sandbox.exec.aio(*argv, workdir=cwd, env=dict(env), text=False)
            if stdin:
                process.stdin.write(stdin)
            process.stdin.write_eof()
            await process.stdin.drain.aio()
            async with anyio.create_task_group() as group:
                group.start_soon(_pass_on, process.stdout, on_stdout)
                group.start_soon(_pass_on, process.stderr, on_stderr)
            return int(await process.wait.aio())
        except Exception as error:
            raise provider_fault("Modal could not run a command", error, INTERRUPTIONS) from error

    async def write_file(self, data: bytes, path: str) -> None:
        """Write a file."""
        if await self.run(("sh", "-c", 'cat > "$1"', "sh", path), "/", {}, data, _discard, _discard):
            raise EnvironmentFault(f"{path} could not be written in the sandbox.")

    async def read_file(self, path: str) -> bytes:
        """Read a file."""
        data = bytearray()
        if await self.run(("cat", path), "/", {}, b"", data.extend, _discard):
            raise EnvironmentFault(f"{path} could not be read in the sandbox.")
        return bytes(data)

    async def aclose(self) -> None:
        """Terminate the sandbox."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.terminate.aio()


def _make_image(modal: Any, image: str) -> Any:
    if image.startswith("/"):
        return modal.Image.from_dockerfile(image, context_dir=os.path.dirname(image))  # noqa: PTH120
    return modal.Image.from_registry(image) if image else modal.Image.debian_slim()


async def _pass_on(stream: AsyncIterable[bytes], sink: Callable[[bytes], None]) -> None:
    async for data in stream:
        sink(data)


def _discard(data: bytes) -> None: ...
