"""Sandboxes of E2B, through its SDK (extra `e2b`).

The SDK returns output as text, so bytes that are not UTF-8 are replaced.
"""

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anyio import to_thread

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import ConfigError, EnvironmentFault, EnvironmentLost
from tui_agent.workspace.containers.image_build import IMAGE_NAME, context_digest
from tui_agent.workspace.remote.machine import provider_fault

PROLONG_AFTER_S = 20.0
INTERRUPTIONS = (
    "TimeoutException",
    "SandboxNotFoundException",
    "RateLimitException",
    "ServiceBusyException",
    "TransportError",
    "NetworkError",
    "ProtocolError",
    "OSError",
)
"""Exceptions of the SDK and its HTTP clients for a sandbox that is gone or unreachable."""
USER = "root"
"""Name of the user for commands. Only root can create the workspace's path."""


class E2BMachine:
    """A sandbox of E2B; implements `RemoteMachine`.

    `image`: name of a template or path of a Dockerfile; empty for E2B's default template.
    """

    def __init__(self, image: str, network: str, lifetime_s: int) -> None:
        self._template = image
        self._has_network = network != "none"
        self._lifetime_s = lifetime_s
        self._sdk: Any = None
        self._sandbox: Any = None
        self._prolonged_at = time.monotonic()

    @property
    def description(self) -> str:
        network = "network" if self._has_network else "no network"
        return f"an E2B sandbox (template {self._template or 'base'}, {network})"

    async def start(self) -> None:
        """Create the sandbox; raise `ConfigError` if the SDK is missing or E2B refuses."""
        self._sdk = await to_thread.run_sync(load_package, "e2b")  # takes a second
        template = self._template
        try:
            if template.startswith("/"):
                template = await self._build_template(Path(template))
            self._sandbox = await self._sdk.AsyncSandbox.create(
                template=template or None,
                timeout=self._lifetime_s,
                allow_internet_access=self._has_network,
            )
        except self._sdk.BuildException as error:
            raise EnvironmentFault(f"{template} could not be built: {error}") from error
        except Exception as error:  # the SDK raises errors of its HTTP clients too
            fault = provider_fault("E2B could not create a sandbox", error, INTERRUPTIONS)
            if isinstance(fault, EnvironmentLost):
                raise fault from error
            raise ConfigError(fault.message, hint="Set E2B_API_KEY to your key.") from error

    async def _build_template(self, dockerfile: Path) -> str:
        """Return the name of the template for a Dockerfile. If E2B does not have the template, build it first."""
        name = f"{IMAGE_NAME}-{await to_thread.run_sync(context_digest, dockerfile)}"
        if not await self._sdk.AsyncTemplate.exists(name):
            context = self._sdk.Template(file_context_path=dockerfile.parent)
            template = await to_thread.run_sync(context.from_dockerfile, str(dockerfile))
            await self._sdk.AsyncTemplate.build(template, name)
        return name

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
            await self._prolong()
            handle = await self._sandbox.commands.run(
                shlex.join(argv),
                background=True,
                cwd=cwd,
                envs=dict(env),
                user=USER,
                stdin=bool(stdin),
                timeout=0,  # no limit by the SDK: `RemoteEnvironment` has the limit of the command
                on_stdout=lambda text: on_stdout(text.encode()),
                on_stderr=lambda text: on_stderr(text.encode()),
                retain_output=False,
            )
            if stdin:
                await handle.send_stdin(stdin)
                await handle.close_stdin()
            return int((await handle.wait()).exit_code)
        except self._sdk.CommandExitException as ended:
            return int(ended.exit_code)
        except Exception as error:
            raise provider_fault("E2B could not run a command", error, INTERRUPTIONS) from error

    async def _prolong(self) -> None:
        """Extend the sandbox's lifetime, unless this was done in the last `PROLONG_AFTER_S` seconds."""
        if time.monotonic() - self._prolonged_at > PROLONG_AFTER_S:
            self._prolonged_at = time.monotonic()
            await self._sandbox.set_timeout(self._lifetime_s)

    async def write_file(self, data: bytes, path: str) -> None:
        """Write a file."""
        try:
            await self._sandbox.files.write(path, data, user=USER)
        except Exception as error:
            message = f"{path} could not be written in the sandbox"
            raise provider_fault(message, error, INTERRUPTIONS) from error

    async def read_file(self, path: str) -> bytes:
        """Read a file."""
        try:
            return bytes(await self._sandbox.files.read(path, format="bytes", user=USER))
        except Exception as error:
            message = f"{path} could not be read in the sandbox"
            raise provider_fault(message, error, INTERRUPTIONS) from error

    async def aclose(self) -> None:
        """Kill the sandbox."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.kill()
