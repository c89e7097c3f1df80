"""Times whole commands, in turns, so that what else the machine does falls on all of them alike."""

import os
import resource
import statistics
import subprocess
import time
from pathlib import Path
from typing import NamedTuple


class Times(NamedTuple):
    """Medians of wall and CPU time in milliseconds."""

    wall_ms: float
    cpu_ms: float


def command_times(
    commands: list[list[str]], *, rounds: int, env: dict[str, str] | None = None, cwd: Path | None = None
) -> list[Times]:
    """The medians of each command over `rounds`, one warm-up before. Raises where one fails."""
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
