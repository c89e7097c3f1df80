"""The command lines of container programs, and explanations of their errors.

Invariant: this module starts no program.
"""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from tui_agent.errors import ConfigError, EnvironmentFault
from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.local.reaper_client import MAX_PROCESSES

_NOT_RUNNING = (
    "cannot connect to the docker daemon",
    "is the docker daemon running",
    "cannot connect to podman",
    "unable to connect to podman",
)
_NO_IMAGE = (
    "unable to find image",
    "no such image",
    "image not known",
    "did not resolve to an alias",
    "could not open image",
)


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    """Settings for starting a container.

    `command`: the program with its global options, as one shell command line.
    `environment`: `docker` or `apptainer`.
    """

    command: str = "docker"
    image: str = ""
    network: str = "none"
    arguments: tuple[str, ...] = ()
    environment: str = "docker"
    work_dir: str = ""
    """A second path of the workspace in the container; empty if there is no second path."""

    @property
    def program(self) -> str:
        """The name of the program, such as `podman`."""
        return Path(shlex.split(self.command)[0]).name

    @property
    def description(self) -> str:
        """Return a phrase about where commands run, for messages."""
        network = "no network" if self.network == "none" else f"network {self.network}"
        return f"a {self.program} container (image {self.image}, {network})"

    def command_line(self, environ: Mapping[str, str]) -> "DockerCommandLine":
        """Return the builder of command lines for the container program.

        The program must be in the `PATH` of `environ`.
        """
        kind = ApptainerCommandLine if self.environment == "apptainer" else DockerCommandLine
        return kind(self, environ)


class DockerCommandLine:
    """The command lines of docker and podman, which address containers by name."""

    ends_with_supervisor = True
    """True if the container ends and is removed when its first process, `scripts.SUPERVISOR`, ends."""

    def __init__(self, settings: ContainerSettings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        program, *options = shlex.split(settings.command)
        self._command = (shutil.which(program, path=environ.get("PATH")) or program, *options)

    def require_usable(self, environ: Mapping[str, str]) -> None:
        """Raise `ConfigError` if the program was not found or no image is set."""
        name, program = self._settings.environment, self._command[0]
        if shutil.which(program, path=environ.get("PATH")) is None:
            raise ConfigError(
                f"The environment {name} needs {program}, which was not found.",
                hint=f"Install it, or set another program in config.toml: [environments.{name}] command = …",
            )
        if not self._settings.image:
            raise ConfigError(
                f"The environment {name} has no image.",
                hint=f"Set one in config.toml: [environments.{name}] image = …",
            )

    def supervise(self, name: str, root: str) -> tuple[str, ...]:
        """Return the command line that starts a container, without the script for its first process."""
        settings = self._settings
        # `-v` cannot express a path with a colon.
        mount: tuple[str, ...] = ("-v", f"{root}:{root}")
        if ":" in root:
            mount = ("--mount", f"type=bind,source={root},target={root}")
        if settings.work_dir:
            mount += ("--mount", f"type=bind,source={root},target={settings.work_dir}")
        own: tuple[str, ...] = ()
        # Podman maps the user's own id to root in the container, so its files already belong to the user.
        if "podman" not in settings.program:
            own = ("--pids-limit", str(MAX_PROCESSES))
            if os.getuid():  # a docker daemon would otherwise write files of root into the workspace
                own += ("--user", f"{os.getuid()}:{os.getgid()}", "-e", "HOME=/tmp")
        return (
            *self._command,
            *("run", "--rm", "-i", "--pull=never", "--name", name, "--label", "tui-agent=session"),
            *("--network", settings.network, *mount, "-w", root, "--entrypoint", "sh"),
            *(*own, *settings.arguments, settings.image, "-c"),
        )

    def run(self, name: str, env: Mapping[str, str], *, has_input: bool = False) -> tuple[str, ...]:
        """Return the first words of a command line that runs a program in the container.

        The caller must append the program and its arguments. The program's working folder is `env["PWD"]`.
        """
        variables = (word for key, value in env.items() for word in ("-e", f"{key}={value}"))
        return (*self._command, "exec", *(["-i"] if has_input else []), "-w", env["PWD"], *variables, name)

    def remove(self, name: str) -> tuple[str, ...]:
        """Return the command line that removes the container with its processes."""
        return (*self._command, "rm", "-f", name)

    def copy(self, source: str, target: str) -> tuple[str, ...]:
        """Return the command line that copies a file.

        `source`, `target`: paths on this machine, or `NAME:PATH` for a path in the container `NAME`.
        """
        return (*self._command, "cp", source, target)

    def inspect_image(self, tag: str) -> tuple[str, ...]:
        """Return the command line that fails if no image has this tag."""
        return (*self._command, "image", "inspect", tag)

    def build_image(self, tag: str, dockerfile: str) -> tuple[str, ...]:
        """Return the command line for building an image. The Dockerfile's folder is the build context."""
        return (*self._command, "build", "-t", tag, "-f", dockerfile, os.path.dirname(dockerfile))  # noqa: PTH120

    def create_container(self, name: str, image: str) -> tuple[str, ...]:
        """Return the command line for creating a container that is never started: only files are copied from it."""
        return (*self._command, "create", "--pull=never", "--name", name, image, "sh")


class ApptainerCommandLine(DockerCommandLine):
    """The command lines of Apptainer and Singularity, which address instances by name."""

    ends_with_supervisor = False

    def supervise(self, name: str, root: str) -> tuple[str, ...]:
        settings = self._settings
        network = ("--net", "--network", settings.network) if settings.network != "host" else ()
        start = (
            *(*self._command, "instance", "start", "--containall", "--writable-tmpfs", *network),
            *("--bind", f"{root}:{root}", *settings.arguments, settings.image, name),
        )
        # Start and supervise in one shell command: the reaper ends everything that a command leaves behind, so it would
        # end an instance that was started by a command of its own.
        supervise = f"{shlex.join(start)} >&2 && exec {shlex.join(self.run(name, {'PWD': root}))}"
        return ("/bin/sh", "-c", f'{supervise} sh -c "$0"')

    def run(self, name: str, env: Mapping[str, str], *, has_input: bool = False) -> tuple[str, ...]:
        variables = (word for key, value in env.items() for word in ("--env", f"{key}={value}"))
        folder = env["PWD"]
        return (*self._command, "exec", "--pwd", folder, *variables, f"instance://{name}")

    def remove(self, name: str) -> tuple[str, ...]:
        return (*self._command, "instance", "stop", name)

    def copy(self, source: str, target: str) -> tuple[str, ...]:
        raise EnvironmentFault(
            "Apptainer cannot copy files into or out of a container.", hint="Use a path inside the workspace."
        )


def explain_failure(settings: ContainerSettings, errors: bytes) -> ConfigError:
    """Explain why a container did not start.

    `errors`: the program's error output.
    """
    low, name = errors.decode("utf-8", "replace").lower(), settings.environment
    if any(sign in low for sign in _NOT_RUNNING):
        hint = f"Start it (such as: systemctl start {settings.program}), or use --environment local."
        return ConfigError(f"The daemon of {settings.program} is not running.", hint=hint)
    if "permission denied" in low and "daemon" in low:
        hint = "Add yourself to the group docker, or use podman."
        return ConfigError(f"You have no permission to use the daemon of {settings.program}.", hint=hint)
    if any(sign in low for sign in _NO_IMAGE):
        hint = f"Run `{settings.command} pull {settings.image}` first, or name another image."
        return ConfigError(f"The image {settings.image} is not on this machine.", hint=hint)
    if '"sh"' in low and "not found" in low:
        hint = "Choose an image with a shell."
        return ConfigError(f"The image {settings.image} has no `sh`.", hint=hint)
    return ConfigError(
        f"{settings.program} could not start a container with the image {settings.image}: {last_line(errors)}",
        hint=f"Correct [environments.{name}] in config.toml.",
    )


def last_line(errors: bytes) -> str:
    """Return the last line that a program printed."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:500] if lines else "it printed no error"
