"""The `[environments]` table of a configuration file: how the environments other than `local` are started."""

from typing import Literal

from pydantic import Field

from tui_agent.config.settings.setting_types import ProgramWords, Table
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT


class DockerSettings(Table):
    """The `[environments.docker]` table: how to start the container for commands."""

    command: ProgramWords = Field(
        "docker",
        description='The program and its global options, such as `"podman"` or `"podman --remote"`.',
    )
    image: str = Field("", description="The image; it must be on this machine and have `sh` and `grep`.")
    network: str = Field(
        "none", min_length=1, description="The network of the container, or `none` for no network."
    )
    arguments: tuple[str, ...] = Field(
        (), description='Extra arguments for `docker run`, such as `"-v"`, `"/data:/data:ro"`.'
    )


class ApptainerSettings(Table):
    """The `[environments.apptainer]` table: how to start the Apptainer instance for commands."""

    command: ProgramWords = Field(
        "apptainer", description='The program, such as `"singularity"`, and its global options.'
    )
    image: str = Field("", description="The image: a file (`.sif`) or folder; it must have `sh` and `grep`.")
    network: str = Field(
        "none",
        min_length=1,
        description="`none` for no network, `host` for this machine's network, or a network's name.",
    )
    arguments: tuple[str, ...] = Field(
        (), description='Extra arguments for `apptainer instance start`, such as `"--nv"`.'
    )


class RemoteSettings(Table):
    """A table such as `[environments.e2b]`: how to start the provider's sandbox for commands."""

    image: str = Field(
        "",
        description="The provider's image or template, or the absolute path of a Dockerfile. If empty, the provider's default.",
    )
    network: Literal["none", "open"] = Field(
        "none", description="`none` for no network, `open` for access to the internet."
    )
    lifetime_seconds: int = Field(
        3_600, ge=60, description="Seconds after which the provider ends a sandbox that was left behind."
    )


class EnvironmentsSettings(Table):
    """The `[environments]` table: how the environments other than `local` are started."""

    docker: DockerSettings = Field(
        default_factory=DockerSettings, description="A container of docker or podman."
    )
    apptainer: ApptainerSettings = Field(
        default_factory=ApptainerSettings, description="An instance of Apptainer or Singularity."
    )
    e2b: RemoteSettings = Field(default_factory=RemoteSettings, description="A sandbox of E2B.")
    modal: RemoteSettings = Field(default_factory=RemoteSettings, description="A sandbox of Modal.")


ENVIRONMENTS = (LOCAL_ENVIRONMENT, *EnvironmentsSettings.model_fields)
"""The names of the built-in environments."""
