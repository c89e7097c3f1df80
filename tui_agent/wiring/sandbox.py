"""Composition of the sandbox for a workspace's commands."""

import os
from pathlib import Path

from tui_agent.config.paths import find, private_data
from tui_agent.policy.places.sandbox_places import (
    guarded_outside,
    guarded_places,
    steering_names,
)
from tui_agent.policy.places.visibility import may_hold_secrets
from tui_agent.wiring.base import Ground
from tui_agent.workspace.sandbox import detection as detect
from tui_agent.workspace.sandbox.confinement import Confinement
from tui_agent.workspace.sandbox.detection import Found
from tui_agent.workspace.sandbox.mounts import Bounds

OFF = Found(why_not="It is turned off in config.toml ([sandbox] mode).")


def look(base: Ground) -> None:
    """Start the detection of sandbox programs in the background, unless the sandbox is turned off."""
    if base.config.sandbox.mode == "auto":
        detect.begin()


def confinement(base: Ground, workspace: Path) -> Confinement:
    """Return the sandbox for a workspace's commands, or the reason why there is none. Waits for the detection."""
    config, paths = base.config, base.config.paths
    home = os.path.expanduser("~")  # noqa: PTH111 - an unknown home stays as written
    guarded = guarded_places(home)
    own_folders = (str(paths.config_dir), str(config.data_dir), str(config.cache_dir))
    bounds = Bounds(
        root=os.path.realpath(workspace),
        home=home,
        hidden=(*guarded.hidden, str(paths.secrets), *map(str, _private_paths(base))),
        kept=guarded.kept,
        absent=guarded.absent,
        own=own_folders,
        writable=tuple(map(str, config.sandbox.writable)),
        trees=guarded.trees,
        guarded=guarded_outside(own_folders),
        secret=may_hold_secrets,
        readable=config.sandbox.readable,
        steering=steering_names(),
    )
    detected = detect.found() if config.sandbox.mode == "auto" else OFF
    return Confinement(detected, bounds, config.data_dir / "sandbox")


def _private_paths(base: Ground) -> tuple[Path, ...]:
    """Return the private paths of all data folders that may be in use.

    Stored sessions contain files of the past, including those with secrets.
    """
    usual = {name: value for name, value in os.environ.items() if name != "TUI_AGENT_HOME"}
    cwd = base.options.cwd
    folders = (base.config.data_dir, find(cwd, os.environ).data_dir, find(cwd, usual).data_dir)
    return tuple(path for folder in dict.fromkeys(folders) for path in private_data(folder))
