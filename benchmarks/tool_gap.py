"""`python -m benchmarks.tool_gap --pi FOLDER`: what the program adds to a model's calls, headless, beside pi.

Both run in turns, against a stand-in model that answers at once: a `hello` (one request), and thirty calls that each
read a small file. The gap is the time from the last byte of an answer to the arrival of the next request, seen by the
stand-in. A call's CPU is the difference of both runs divided by the calls. See `benchmarks.task_bytes` for how to
install pi. Without --pi, only ours is measured.
"""

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import Row, print_table
from benchmarks.task_bytes import headless_run, model, require_pi

CALLS = 30
NAN = float("nan")


@dataclass
class Figures:
    """One program's figures over all rounds; `gaps` are medians of a run."""

    hello_wall: list[float] = field(default_factory=list)
    hello_cpu: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    call_cpu: list[float] = field(default_factory=list)


def script() -> list[dict]:
    """Return the stand-in model's answers: one call each, of our tool or pi's, then a text."""
    steps = [
        {"tools": [[name, {"path": f"note{number}.txt"}] for name in ("read_file", "read")]}
        for number in range(CALLS)
    ]
    return [*steps, {"text": "All read."}]


def run_once(prompt: str, url: str, folder: Path, pi: Path | None) -> tuple[float, float]:
    """Run a program headless once; return wall and CPU seconds of it and of all processes that it waited for."""
    command, environment = headless_run(prompt, url, folder / "home", pi)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        env=environment,
        cwd=folder / "work",
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder: Path, url: str, log: Path, pi: Path | None, found: Figures) -> None:
    """Measure one program once."""
    wall, cpu = run_once("hello", url, folder, pi)
    seen = len(log.read_text().splitlines())
    _, with_calls = run_once("Read the notes. (scenario-task)", url, folder, pi)
    requests = [json.loads(line) for line in log.read_text().splitlines()[seen:]]
    if len(requests) != CALLS + 1:
        raise SystemExit(f"There were {len(requests)} requests instead of {CALLS + 1}.")
    found.hello_wall.append(wall)
    found.hello_cpu.append(cpu)
    found.call_cpu.append((with_calls - cpu) / CALLS)
    found.gaps.append(
        statistics.median(after["t"] - before["done"] for before, after in itertools.pairwise(requests))
    )


def rows(ours: Figures, pi: Figures) -> list[Row]:
    """Return the rows of the table: medians over the rounds."""
    named = (
        ("hello: wall", "s", "hello_wall", 1, 0.75),
        ("hello: CPU", "s", "hello_cpu", 1, 0.75),
        ("gap of a call", "ms", "gaps", 1000, 3),
        ("CPU of a call", "ms", "call_cpu", 1000, 3),
    )
    table = []
    for name, unit, key, scale, ratio in named:
        figure, floor = (statistics.median(getattr(each, key) or [NAN]) * scale for each in (ours, pi))
        table.append(Row(name, unit, figure, floor=floor, at_most_ratio=ratio))
    return table


def main() -> None:
    """Measure in turns and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pi", type=Path, help="the folder in which pi is installed")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if args.pi is not None:
        require_pi(parser, args.pi)
    programs = [(None, Figures()), *([(args.pi.resolve(), Figures())] if args.pi else [])]
    with tempfile.TemporaryDirectory(prefix="tool-gap-") as name, model(script(), Path(name)) as (url, log):
        folders = [Path(name) / str(number) for number in range(len(programs))]
        for folder in folders:
            (folder / "work").mkdir(parents=True)
            (folder / "home").mkdir()
            for number in range(CALLS):
                (folder / "work" / f"note{number}.txt").write_text(f"This is note {number}.\n" * 20)
        for (pi, _), folder in zip(programs, folders, strict=True):
            run_once("hello", url, folder, pi)
        for _ in range(args.rounds):
            for (pi, found), folder in zip(programs, folders, strict=True):
                measure(folder, url, log, pi, found)
    print_table(rows(programs[0][1], programs[-1][1] if args.pi else Figures()), "")


if __name__ == "__main__":
    main()
