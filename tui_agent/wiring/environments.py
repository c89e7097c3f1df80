"""Composition of the environment for a session's commands, with the sandbox of the local environment.

Invariant: if an environment cannot start, the session does not start, and an error says what to do.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import anyio

from tui_agent.config.paths import find_paths, private_folders
from tui_agent.config.settings.environment_settings import ApptainerSettings, DockerSettings, RemoteSettings
from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.errors import ConfigError, EnvironmentFault
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.policy.places.sandbox_places import guarded_outside, guarded_places, steering_names
from tui_agent.ports.environment import Environment, Sandbox
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT, EnvStarted
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.remote.machine import RemoteMachine
from tui_agent.workspace.sandbox import detection
from tui_agent.workspace.sandbox.command_setup import Confinement
from tui_agent.workspace.sandbox.detection import SandboxSupport
from tui_agent.workspace.sandbox.mounts import Bounds

TURNED_OFF = SandboxSupport(why_not="It is turned off in config.toml ([sandbox] mode).")


class Environments:
    """The environments of one session.

    - `active`: runs commands. The same as `local` by default.
    - `local`: this machine, for files, hooks and servers.
    - `recorded`: name of the environment in the session's log; empty for a new session.
    """

    def __init__(self, base: StartupContext, loaded: LoadedPlugins, workspace: Path, recorded: str) -> None:
        key_names = (profile.api_key_env for profile in base.config.models.values())
        secrets = base.keys.collect_secrets(key_names)
        self._shown = tuple(name for name in base.config.sandbox.variables if name in secrets)
        self._hidden = secrets.keys() - set(self._shown)
        confinement = build_confinement(base, workspace)
        self.local = LocalEnvironment(workspace, hidden=self._hidden, confinement=confinement)
        self.workspace = workspace
        self._base = base
        self._recorded = recorded
        name = base.options.environment or recorded or base.config.environment
        factories: dict[str, Callable[[], Environment]] = {
            LOCAL_ENVIRONMENT: lambda: self.local,
            "docker": partial(self._create_container, "docker", base.config.environments.docker),
            "apptainer": partial(self._create_container, "apptainer", base.config.environments.apptainer),
            "e2b": partial(self._create_remote, "e2b", base.config.environments.e2b),
            "modal": partial(self._create_remote, "modal", base.config.environments.modal),
            **{
                offered.name: partial(_make_offered, offered.owner, offered.make, workspace)
                for offered in loaded.environments
            },
        }
        if name not in factories:
            raise ConfigError(
                f"There is no environment {name!r}{self._origin(name)}.",
                hint=f"Choose one with --environment: {', '.join(sorted(factories))}.",
            )
        self.active = factories[name]()

    async def start(self) -> None:
        """Start the environment for commands.

        Raise `ConfigError` if the environment cannot start, and `EnvironmentFault` if another attempt can succeed.
        """
        try:
            await self.active.start()
        except (ConfigError, EnvironmentFault) as error:
            if not self._origin(self.active.name):
                raise
            raise type(error)(
                f"{error.message} The commands of this session ran in {self.active.name}.",
                hint=f"{error.hint} --environment local continues the session on this machine.".lstrip(),
            ) from error

    def started_event(self) -> EnvStarted:
        """Return the event about where commands run."""
        sandbox, is_local = self.active.sandbox, self.active is self.local
        return EnvStarted(
            environment=self.active.name,
            root=self.active.root,
            sandbox=sandbox.kind,
            no_sandbox_reason=sandbox.unavailable_reason,
            exposed_variables=self._shown if is_local else (),
            details="" if is_local else " ".join(sandbox.lines),
        )

    async def aclose(self) -> int:
        """Close the environments, and return how many processes had to be killed."""
        try:
            return await self.active.aclose()
        finally:
            if self.active is not self.local:
                await self.local.aclose()

    def _origin(self, name: str) -> str:
        is_resumed = name == self._recorded and self._base.options.environment is None
        return ", in which this session ran its commands" if is_resumed else ""

    def _create_remote(self, name: str, table: RemoteSettings) -> Environment:
        options = self._base.options
        return create_remote(name, self.local, table, options.image or table.image, options.work_dir)

    def _create_container(self, name: str, table: DockerSettings | ApptainerSettings) -> Environment:
        from tui_agent.workspace.containers.command_lines import ContainerSettings  # noqa: PLC0415 - only if used
        from tui_agent.workspace.containers.environment import ContainerEnvironment  # noqa: PLC0415

        image, work_dir = self._base.options.image or table.image, self._base.options.work_dir
        settings = ContainerSettings(table.command, image, table.network, table.arguments, name, work_dir)
        # `docker` can pass its own variables on to the commands, so it gets no API keys.
        environ = {name: value for name, value in os.environ.items() if name not in self._hidden}
        return ContainerEnvironment.create(self.local, settings, environ)


async def start_environments(
    base: StartupContext, loaded: LoadedPlugins, workspace: Path, recorded: str
) -> Environments:
    """Start and return the environments of a session.

    Raise `ConfigError` if the chosen environment is unknown or cannot start.
    """
    environments = Environments(base, loaded, workspace, recorded)
    try:
        await environments.start()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await environments.aclose()
        raise
    return environments


def create_remote(
    name: str,
    local: LocalEnvironment,
    table: RemoteSettings,
    image: str,
    work_dir: str = "",
    mounts: Mapping[Path, str] = MappingProxyType({}),
) -> Environment:
    """Return the environment `e2b` or `modal`, not started, for a workspace of this machine."""
    from tui_agent.workspace.remote.environment import RemoteEnvironment  # noqa: PLC0415 - only if used

    return RemoteEnvironment(name, local, create_machine(name, table, image), work_dir, mounts)


def create_machine(name: str, table: RemoteSettings, image: str) -> RemoteMachine:
    """Return a machine, not started, of the provider `e2b` or `modal`."""
    if name == "e2b":
        from tui_agent.workspace.remote.e2b_machine import E2BMachine  # noqa: PLC0415 - only if used

        return E2BMachine(image, table.network, table.lifetime_seconds)
    from tui_agent.workspace.remote.modal_machine import ModalMachine  # noqa: PLC0415 - only if used

    return ModalMachine(image, table.network, table.lifetime_seconds)


def _make_offered(owner: str, make: Callable[[Path], Environment], workspace: Path) -> Environment:
    with guard_plugin(f"The environment of the plugin {owner}", ConfigError):
        return make(workspace)


def start_detection(base: StartupContext) -> None:
    """Start the detection of sandbox programs in the background, unless the sandbox is turned off."""
    if base.config.sandbox.mode == "auto":
        detection.start_detection()


def build_confinement(base: StartupContext, workspace: Path) -> Confinement:
    """Return the sandbox for a workspace's commands. If no sandbox can be used, the object has the reason."""
    config, paths = base.config, base.config.paths
    home = os.path.expanduser("~")  # noqa: PTH111 - an unknown home stays as written
    guarded = guarded_places(home)
    own_folders = (str(paths.config_dir), str(config.data_dir), str(config.cache_dir))
    bounds = Bounds(
        root=os.path.realpath(workspace),
        home=home,
        hidden=(*guarded.hidden, str(paths.secrets), str(paths.mcp_logins), *map(str, _private_paths(base))),
        read_only=guarded.read_only,
        absent=guarded.absent,
        renamed=guarded.renamed,
        own_folders=own_folders,
        writable=tuple(map(str, config.sandbox.writable)),
        guarded_folders=guarded.trees,
        is_guarded=guarded_outside(own_folders),
        is_secret=may_hold_secrets,
        readable=config.sandbox.readable,
        steering=steering_names(),
    )
    detected = detection.detect_sandbox() if config.sandbox.mode == "auto" else TURNED_OFF
    return Confinement(detected, bounds, config.data_dir / "sandbox")


def find_sandbox(base: StartupContext, workspace: Path) -> Sandbox:
    """Return the sandbox of a new session, or the reason why there is none."""
    name = base.config.environment
    if name != LOCAL_ENVIRONMENT:
        return Sandbox(unavailable_reason=f"Commands run in the environment {name}, not in the sandbox.")
    return build_confinement(base, workspace).sandbox


def _private_paths(base: StartupContext) -> tuple[Path, ...]:
    """Return the private folders, such as the sessions, in each possible data folder of tui-agent."""
    # A session with its own `TUI_AGENT_HOME` must not expose the user's other sessions to its commands.
    usual = {name: value for name, value in os.environ.items() if name != "TUI_AGENT_HOME"}
    cwd = base.options.cwd
    folders = (base.config.data_dir, find_paths(cwd, os.environ).data_dir, find_paths(cwd, usual).data_dir)
    return tuple(path for folder in dict.fromkeys(folders) for path in private_folders(folder))
