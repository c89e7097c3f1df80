"""Cost of checkpoints: `python -m benchmarks.checkpoints [FILES]` prints JSON.

A made tree of small files, once in a git repository and once without one: the first checkpoint, opening again, then
look and commit of one edit, and a look at everything when nothing changed. Medians of several rounds.
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
from pathlib import Path

import anyio

from tui_agent.checkpoints.git_shadow import GitShadow

ROUNDS = 7
NO_CONFIG = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def make_tree(root: Path, count: int) -> None:
    """Python-like files of 30 to 2,000 bytes in folders of fifty."""
    draw = random.Random(1)
    for number in range(count):
        folder = root / f"area_{number % 50}" / f"part_{number // 50 % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"value_{number} = {number}\n" * draw.randint(2, 120)
        (folder / f"module_{number}.py").write_text(text)


def make_repository(root: Path) -> None:
    """Everything committed, as a clone has it."""
    who = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "core.fsync=none"]
    for args in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "all"], ["gc", "-q"]):
        subprocess.run(
            ["git", "-c", "gc.auto=0", *args], cwd=root, check=True, env={**os.environ, **NO_CONFIG}
        )


async def timed(act: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await act()
    return (time.perf_counter() - begun) * 1e3


async def one_edit(shadow: GitShadow, path: Path, number: int) -> None:
    await anyio.Path(path).write_text(f"edited = {number}\n")
    changes = await shadow.look([path.relative_to(path.parents[2]).as_posix()])
    await shadow.commit(changes, part=number, author="agent", message="Edit a module")


async def figures(workspace: Path, store: Path) -> dict[str, float]:
    shadow = GitShadow(workspace, store)
    found = {"begin_ms": await timed(lambda: shadow.begin(""))}
    path = workspace / "area_3" / "part_4" / "module_203.py"
    edits = [await timed(lambda number=number: one_edit(shadow, path, number)) for number in range(ROUNDS)]
    looks = [await timed(shadow.look) for _ in range(ROUNDS)]
    again = GitShadow(workspace, store)
    found["begin_again_ms"] = await timed(lambda: again.begin(shadow.head))
    found["edit_ms"] = statistics.median(edits)
    found["look_ms"] = statistics.median(looks)
    plan = await again.plan(shadow.head)
    assert not plan.acts
    found["settle_ms"] = await timed(again.settle)
    found["store_mb"] = await again.size() / 1e6
    return {name: round(value, 1) for name, value in found.items()}


def main(count: int = 50_000) -> dict[str, dict[str, float]]:
    """Figures in the unit that their name ends with."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        make_tree(workspace, count)
        os.sync()
        plain = anyio.run(figures, workspace, Path(folder) / "plain.git")
        make_repository(workspace)
        os.sync()
        return {"plain": plain, "repository": anyio.run(figures, workspace, Path(folder) / "borrowed.git")}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1])) if len(sys.argv) > 1 else main()))
