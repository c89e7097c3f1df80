"""The container image of a case, built from the case's Dockerfile. The case's tests run in a container of this image.

Invariant: images are built only for the environments `docker`, `e2b` and `modal`.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import anyio

from tui_agent.config.settings.environment_settings import RemoteSettings
from tui_agent.evals.cases.case import Case
from tui_agent.evals.checks.tests_and_verifier import require_own_folder
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import Environment
from tui_agent.wiring.environments import create_machine, create_remote
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.containers.command_lines import ContainerSettings
from tui_agent.workspace.containers.environment import ContainerEnvironment
from tui_agent.workspace.containers.image_build import ImageBuilder
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.remote.mirror import Mirror

DOCKER = "docker"
REMOTE = ("e2b", "modal")


@dataclass(frozen=True, slots=True)
class RemoteImage:
    """An image for a sandbox. The provider builds it from a Dockerfile when the sandbox starts."""

    name: str
    table: RemoteSettings
    image: str
    work_dir: str = ""

    def container(self, folder: Path, mounts: Mapping[Path, str]) -> Environment:
        """Return a sandbox with a copy of `folder`, without starting anything yet.

        `mounts` maps further folders to the paths of their copies in the sandbox.
        """
        local = LocalEnvironment(folder)
        return create_remote(self.name, local, self.table, self.image, self.work_dir, mounts)

    async def copy_out(self, target: Path) -> None:
        """Copy the content of the working directory into a folder of this machine.

        Raise `EnvironmentFault` if the provider fails.
        """
        machine = create_machine(self.name, self.table, self.image)
        mirror = Mirror(str(target), machine, self.work_dir)
        try:
            await machine.start()
            await mirror.create_place()
            await mirror.pull()
        finally:
            with anyio.CancelScope(shield=True):
                await machine.aclose()


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """A built image, with the settings of its containers."""

    settings: ContainerSettings
    environ: Mapping[str, str]

    @property
    def image(self) -> str:
        """The name of the image."""
        return self.settings.image

    @property
    def work_dir(self) -> str:
        """The working directory of commands in the image."""
        return self.settings.work_dir

    def container(self, folder: Path, mounts: Mapping[Path, str]) -> ContainerEnvironment:
        """Return a container for `folder`, without starting anything yet.

        `mounts`: maps further folders to their paths in the container; options can follow, as in `/tests,readonly`.
        """
        words = (
            word
            for source, target in mounts.items()
            for word in ("--mount", f"type=bind,source={source},target={target}")
        )
        settings = replace(self.settings, arguments=(*self.settings.arguments, *words))
        return ContainerEnvironment.create(LocalEnvironment(folder), settings, self.environ)


CaseImage: TypeAlias = RemoteImage | ContainerImage
"""The image of a case, for the agent's commands and the tests.

- `image`: name of the image, or path of the Dockerfile if a provider builds the image.
- `work_dir`: path of the workspace in the image. If empty, the workspace has the same path as on this machine.
"""


async def build_case_image(base: StartupContext, case: Case, workspace: Path) -> CaseImage | None:
    """Build the case's image and return it, or None if the case does not need an image.

    For a Harbor task, the files in the image's working directory are copied to `workspace`.

    Raise `EnvironmentFault` if the image cannot be built, and `ConfigError` if the container program was not found.
    """
    name = base.config.environment
    work_dir = case.harbor.work_dir if case.harbor is not None else ""
    if case.dockerfile is not None and name in REMOTE:
        remote_table = getattr(base.config.environments, name)
        remote = RemoteImage(name, remote_table, str(case.dockerfile.resolve()), work_dir)
        if work_dir:
            require_own_folder(work_dir)
            await remote.copy_out(workspace)
        return remote
    if case.dockerfile is None or name != DOCKER:
        return None
    table = base.config.environments.docker
    hidden = base.keys.collect_secrets(profile.api_key_env for profile in base.config.models.values())
    environ = {name: value for name, value in os.environ.items() if name not in hidden}
    settings = ContainerSettings(table.command, "", table.network, table.arguments, work_dir=work_dir)
    builder = ImageBuilder(settings, environ)
    image = await builder.build(case.dockerfile)
    if case.harbor is not None:
        await builder.copy_out(image, work_dir, workspace)
    return ContainerImage(replace(settings, image=image), environ)
