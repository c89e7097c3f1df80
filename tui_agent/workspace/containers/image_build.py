"""Images that are built from a Dockerfile.

Invariant: an image's tag is the digest of its build context, so an unchanged image is not built again.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.containers.command_lines import ContainerSettings
from tui_agent.workspace.local.environment import LocalEnvironment

IMAGE_NAME = "tui-agent-case"
BUILD_LIMIT_S = 3_600.0
MAX_OUTPUT_BYTES = 100_000
SHOWN_LINES = 10
"""Number of lines that an error message contains from the end of a failed build's output."""


class ImageBuilder:
    """Builds images with the program of an environment's settings."""

    def __init__(self, settings: ContainerSettings, environ: Mapping[str, str]) -> None:
        self._command_line = settings.command_line(environ)
        self._environ = dict(environ)

    async def build(self, dockerfile: Path) -> str:
        """Build the image of a Dockerfile if it does not exist yet, and return its tag.

        The Dockerfile's folder is the build context. Raise `EnvironmentFault` with the last lines of the output if the
        build fails.
        """
        context = dockerfile.parent
        try:
            digest = await to_thread.run_sync(context_digest, dockerfile)
        except OSError as error:
            raise EnvironmentFault(f"{dockerfile} cannot be built: {error}") from error
        tag = f"{IMAGE_NAME}:{digest}"
        if (await self._run(context, self._command_line.inspect_image(tag))).exit_code == 0:
            return tag
        result = await self._run(context, self._command_line.build_image(tag, str(dockerfile)))
        if result.exit_code != 0:
            raise EnvironmentFault(f"{dockerfile} could not be built: {_last_lines(result)}")
        return tag

    async def copy_out(self, image: str, path: str, target: Path) -> None:
        """Copy the content of an image's folder `path` to this machine, if the folder exists.

        Raise `EnvironmentFault` if the program fails.
        """
        name = f"{IMAGE_NAME}-{os.getpid()}-{os.urandom(4).hex()}"
        created = await self._run(target, self._command_line.create_container(name, image))
        if created.exit_code != 0:
            raise EnvironmentFault(f"The image {image} cannot be read: {_last_lines(created)}")
        try:
            copied = await self._run(target, self._command_line.copy(f"{name}:{path}/.", str(target)))
        finally:
            await self._run(target, self._command_line.remove(name))
        if copied.exit_code != 0:
            raise EnvironmentFault(f"{path} of the image {image} cannot be copied: {_last_lines(copied)}")

    async def _run(self, folder: Path, argv: tuple[str, ...]) -> ExecResult:
        env = LocalEnvironment(folder, environ=self._environ)
        spec = ExecSpec(
            argv=argv,
            timeout=BUILD_LIMIT_S,
            max_output=MAX_OUTPUT_BYTES,
            tail_bytes=MAX_OUTPUT_BYTES // 2,
            unsandboxed=True,
            allow_network=True,
        )
        try:
            return await env.exec(spec, lambda piece: None)
        finally:
            await env.aclose()


def context_digest(dockerfile: Path) -> str:
    """Return a digest of the Dockerfile's name and the build context (names, modes and contents of its files)."""
    digest = hashlib.sha256(dockerfile.name.encode())
    for folder, folders, names in os.walk(dockerfile.parent):
        folders.sort()
        for name in sorted((*names, *folders)):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            content = b""
            if path.is_symlink():
                content = os.fsencode(path.readlink())
            elif path.is_file():
                content = path.read_bytes()
            entry = (os.fsencode(path.relative_to(dockerfile.parent)), b"%o" % mode, content)
            for part in entry:
                digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()[:32]


def _last_lines(result: ExecResult) -> str:
    """Return the output's last line, which usually has the reason, followed by its last `SHOWN_LINES` lines."""
    text = result.output.decode("utf-8", "replace").strip() or result.message
    lines = text.splitlines()[-SHOWN_LINES:]
    return "\n".join([lines[-1], *lines] if len(lines) > 1 else lines)
