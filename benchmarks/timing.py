"""Timing of commands that run in turns, so that other work of the machine affects all of them equally."""

import os
import resource
import statistics
import subprocess
import time
from pathlib import Path
from typing import NamedTuple


class Times(NamedTuple):
    """Median wall time and CPU time in milliseconds."""

    wall_ms: float
    cpu_ms: float


def command_times(
    commands: list[list[str]], *, rounds: int, env: dict[str, str] | None = None, cwd: Path | None = None
) -> list[Times]:
    """Return the medians of each command over `rounds`, after one warm-up. Raises if a command fails."""
    found: list[list[Times]] = [[] for _ in commands]
    for number in range(rounds + 1):
        for at, command in enumerate(commands):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(
                command,
                env=env or dict(os.environ),
                cwd=cwd,
                check=True,
                capture_output=True,
                stdin=subprocess.DEVNULL,
            )
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if number:
                found[at].append(Times(wall * 1000, used * 1000))
    return [
        Times(
            statistics.median(each.wall_ms for each in runs), statistics.median(each.cpu_ms for each in runs)
        )
        for runs in found
    ]
