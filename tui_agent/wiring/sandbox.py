"""Composition: what a start knows, to the sandbox that its commands run in."""

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

OFF = Found(why_not="It is switched off in the configuration ([sandbox] mode).")


def look(base: Ground) -> None:
    """Start to look what there is, unless it is not wanted."""
    if base.config.sandbox.mode == "auto":
        detect.begin()


def confinement(base: Ground, workspace: Path) -> Confinement:
    """The sandbox for commands of a workspace, or why there is none. Waits for what `look` began."""
    config, paths = base.config, base.config.paths
    home = os.path.expanduser("~")  # noqa: PTH111 - a home that is nowhere stays as it is written
    guarded = guarded_places(home)
    own = (str(paths.config_dir), str(config.data_dir), str(config.cache_dir))
    bounds = Bounds(
        root=os.path.realpath(workspace),
        home=home,
        hidden=(*guarded.hidden, str(paths.secrets), *map(str, _private(base))),
        kept=guarded.kept,
        absent=guarded.absent,
        own=own,
        writable=tuple(map(str, config.sandbox.writable)),
        trees=guarded.trees,
        guarded=guarded_outside(own),
        secret=may_hold_secrets,
        readable=config.sandbox.readable,
        steering=steering_names(),
    )
    found = detect.found() if config.sandbox.mode == "auto" else OFF
    return Confinement(found, bounds, config.data_dir / "sandbox")


def _private(base: Ground) -> tuple[Path, ...]:
    """Of the data folder of this start and of those that others use: what is kept of sessions holds files as they were,
    those with secrets too."""
    usual = {name: value for name, value in os.environ.items() if name != "TUI_AGENT_HOME"}
    cwd = base.options.cwd
    folders = (base.config.data_dir, find(cwd, os.environ).data_dir, find(cwd, usual).data_dir)
    return tuple(path for folder in dict.fromkeys(folders) for path in private_data(folder))
