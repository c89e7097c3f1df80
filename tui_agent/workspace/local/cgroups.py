"""Control groups (Linux) in which this process may create subgroups.

Invariant: only reads. A listed group may still fail; the reaper tries it and reports what is in force.
"""

import os
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")


def own_groups(mounts: Path = _MOUNTS, own: Path = _OWN) -> list[str]:
    """Return the writable cgroup folders of this process: unified, and the older `pids` hierarchy."""
    try:
        mount_points = _read_mount_points(mounts.read_text().splitlines())
        lines = own.read_text().splitlines()
    except OSError:
        return []
    folders = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        mount_point = mount_points.get("pids" if "pids" in controllers.split(",") else controllers)
        if mount_point is not None and controllers in ("", "pids"):
            folder = Path(mount_point + path.rstrip("/")) if path != "/" else Path(mount_point)
            if os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
                folders.append(str(folder))
    return folders


def _read_mount_points(lines: list[str]) -> dict[str, str]:
    """Return where hierarchies are mounted: `` for the unified one, `pids` for the one counting processes."""
    mount_points: dict[str, str] = {}
    for line in lines:
        mount, _, file_system = line.partition(" - ")
        kind, _, options = file_system.split(" ", 2)
        if kind == "cgroup2":
            mount_points.setdefault("", mount.split(" ")[4])
        elif kind == "cgroup" and "pids" in options.split(","):
            mount_points.setdefault("pids", mount.split(" ")[4])
    return mount_points
