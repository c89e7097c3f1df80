"""Composition of the sandbox for a workspace's commands."""

import os
from pathlib import Path

from tui_agent.config.paths import find_paths, private_folders
from tui_agent.policy.places.sandbox_places import guarded_outside, guarded_places, steering_names
from tui_agent.policy.places.visibility import may_hold_secrets
from tui_agent.ports.environment import Sandbox
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.sandbox import detection
from tui_agent.workspace.sandbox.confinement import Confinement
from tui_agent.workspace.sandbox.detection import SandboxSupport
from tui_agent.workspace.sandbox.mounts import Bounds

TURNED_OFF = SandboxSupport(why_not="It is turned off in config.toml ([sandbox] mode).")


def start_detection(base: StartupContext) -> None:
    """Start the detection of sandbox programs in the background, unless the sandbox is turned off."""
    if base.config.sandbox.mode == "auto":
        detection.start_detection()


def build_confinement(base: StartupContext, workspace: Path) -> Confinement:
    """Return the sandbox for a workspace's commands, or the reason why none can be used."""
    config, paths = base.config, base.config.paths
    home = os.path.expanduser("~")  # noqa: PTH111 - an unknown home stays as written
    guarded = guarded_places(home)
    own_folders = (str(paths.config_dir), str(config.data_dir), str(config.cache_dir))
    bounds = Bounds(
        root=os.path.realpath(workspace),
        home=home,
        hidden=(*guarded.hidden, str(paths.secrets), str(paths.mcp_logins), *map(str, _private_paths(base))),
        read_only=guarded.kept,
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
    usual = {name: value for name, value in os.environ.items() if name != "TUI_AGENT_HOME"}
    cwd = base.options.cwd
    folders = (base.config.data_dir, find_paths(cwd, os.environ).data_dir, find_paths(cwd, usual).data_dir)
    return tuple(path for folder in dict.fromkeys(folders) for path in private_folders(folder))
