"""Cost of checkpoints: `python -m benchmarks.checkpoints [FILES]`, or `--disk [MB]`; prints JSON.

Creates a tree of small files and measures it first without and then with a git repository: the first checkpoint,
opening the store again, one edit, and a search for changes when there are none. Figures are medians.

`--disk`: creates a tree of MB megabytes (2,000) of incompressible source files and large files, makes 1,000 edits with a
checkpoint after each and maintenance after every fifty, and prints the size of the store. Only written lines count as
changed bytes.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio

from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints
from tui_agent.workspace.checkpoints.store_state import measure_folder

ROUNDS = 7
NO_CONFIG = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def make_tree(root: Path, count: int) -> None:
    """Create files that look like Python, of 30 to 2,000 bytes."""
    draw = random.Random(1)
    for number in range(count):
        folder = root / f"area_{number % 50}" / f"part_{number // 50 % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"value_{number} = {number}\n" * draw.randint(2, 120)
        (folder / f"module_{number}.py").write_text(text)


def make_repository(root: Path) -> None:
    """Create a git repository in `root` with one commit of all files."""
    who = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@localhost",
        "-c",
        "core.fsync=none",
        "-c",
        "core.compression=0",
    ]
    for args in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "all"], ["gc", "-q"]):
        subprocess.run(
            ["git", "-c", "gc.auto=0", *args], cwd=root, check=True, env={**os.environ, **NO_CONFIG}
        )


async def timed(act: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await act()
    return (time.perf_counter() - begun) * 1e3


async def one_edit(shadow: GitCheckpoints, path: Path, number: int) -> None:
    await anyio.Path(path).write_text(f"edited = {number}\n")
    changes = await shadow.find_changes([path.relative_to(path.parents[2]).as_posix()])
    await shadow.commit(changes, part=number, author="agent", message="Edit a module")


async def figures(workspace: Path, store: Path) -> dict[str, float]:
    shadow = GitCheckpoints(workspace, store)
    found = {"begin_ms": await timed(lambda: shadow.begin(""))}
    path = workspace / "area_3" / "part_4" / "module_203.py"
    edits = [await timed(partial(one_edit, shadow, path, number)) for number in range(ROUNDS)]
    looks = [await timed(shadow.find_changes) for _ in range(ROUNDS)]
    again = GitCheckpoints(workspace, store)
    found["begin_again_ms"] = await timed(lambda: again.begin(shadow.head))
    found["edit_ms"] = statistics.median(edits)
    found["look_ms"] = statistics.median(looks)
    plan = await again.plan_restore(shadow.head)
    assert not plan.actions
    found["settle_ms"] = await timed(again.run_maintenance)
    found["store_mb"] = measure_folder(store) / 1e6
    return {name: round(value, 1) for name, value in found.items()}


def main(count: int = 50_000) -> dict[str, dict[str, float]]:
    """Return the figures; the end of each name is its unit."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        make_tree(workspace, count)
        os.sync()
        plain = anyio.run(figures, workspace, Path(folder) / "plain.git")
        make_repository(workspace)
        os.sync()
        return {"plain": plain, "repository": anyio.run(figures, workspace, Path(folder) / "borrowed.git")}


EDITS, TURN = 1_000, 50
SOURCE, LARGE = 20_000, 4_000_000
"""Bytes of a source file, at most, and of a large one."""
QUOTA = 64.0


def make_noise(root: Path, megabytes: int) -> list[Path]:
    """Create random files, half of the bytes in source files and half in large files; return the source files."""
    draw = random.Random(2)
    sources = []
    for number in range(megabytes * 1_000_000 // 2 // (SOURCE // 2)):
        path = root / f"area_{number % 100}" / f"part_{number // 100 % 20}" / f"source_{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        length = draw.randint(1, SOURCE // 64)
        path.write_text("".join(f"{draw.randbytes(31).hex()}\n" for _ in range(length)))
        sources.append(path)
    for number in range(megabytes * 1_000_000 // 2 // LARGE):
        path = root / f"area_{number % 100}" / f"large_{number}.bin"
        path.write_bytes(draw.randbytes(LARGE))
    return sources


async def edited(root: Path, store: Path, sources: list[Path]) -> dict[str, float]:
    """Make all edits; return the changed bytes and the growth of the store in MB."""
    shadow = GitCheckpoints(root, store)
    draw = random.Random(3)
    await shadow.begin("")
    first, most, changed = measure_folder(store), 0, 0
    for number in range(EDITS):
        path = draw.choice(sources)
        lines = path.read_text().splitlines()
        for _ in range(draw.randint(1, 5)):
            lines[draw.randrange(len(lines))] = draw.randbytes(31).hex()
            changed += 63
        await anyio.Path(path).write_text("\n".join(lines) + "\n")
        changes = await shadow.find_changes(None if number % 10 == 0 else [path.relative_to(root).as_posix()])
        await shadow.commit(changes, part=number, author="agent", message="Edit a file")
        if number % TURN == TURN - 1:
            most = max(most, measure_folder(store) - first)
            await shadow.run_maintenance()
    taken = measure_folder(store) - first
    assert not await shadow.find_changes()
    return {
        "first_mb": round(first / 1e6, 1),
        "changed_mb": round(changed / 1e6, 2),
        "grown_mb": round(taken / 1e6, 1),
        "grown_before_upkeep_mb": round(most / 1e6, 1),
        "allowed_mb": round(1.2 * changed / 1e6 + QUOTA, 1),
    }


def disk(megabytes: int = 2_000) -> dict[str, dict[str, float]]:
    """Return the figures of `--disk` in MB."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        sources = make_noise(workspace, megabytes)
        found["plain"] = anyio.run(edited, workspace, Path(folder) / "plain.git", sources)
        make_repository(workspace)
        found["repository"] = anyio.run(edited, workspace, Path(folder) / "borrowed.git", sources)
    return found


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--disk"]:
        print(json.dumps(disk(*map(int, words[1:]))))
    else:
        print(json.dumps(main(*map(int, words))))
