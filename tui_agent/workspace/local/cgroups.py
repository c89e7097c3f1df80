"""The control groups (Linux) below which this program may make groups of its own.

Invariant: looks only; nothing is made here. What is named need not work: the keeper tries, and says what is in force.
"""

import os
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")


def own_groups(mounts: Path = _MOUNTS, own: Path = _OWN) -> list[str]:
    """The folders of this process's own groups that it may write to: of the unified hierarchy, and of an older one
    that counts processes."""
    try:
        places = _places(mounts.read_text().splitlines())
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        place = places.get("pids" if "pids" in controllers.split(",") else controllers)
        if place is not None and controllers in ("", "pids"):
            folder = Path(place + path.rstrip("/")) if path != "/" else Path(place)
            if os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
                found.append(str(folder))
    return found


def _places(lines: list[str]) -> dict[str, str]:
    """Where hierarchies are mounted: `` for the unified one, `pids` for the one that counts processes."""
    found: dict[str, str] = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2":
            found.setdefault("", before.split(" ")[4])
        elif kind == "cgroup" and "pids" in options.split(","):
            found.setdefault("pids", before.split(" ")[4])
    return found
