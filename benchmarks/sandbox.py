"""What the sandbox adds to a command: the same commands confined and outside, in turns.

    python -m benchmarks.sandbox [--rounds 25]

Trust the ratios: both sides carry what else the machine does.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tui_agent.environments.local import LocalEnvironment
from tui_agent.environments.sandbox import detect
from tui_agent.environments.sandbox.bounds import Bounds
from tui_agent.environments.sandbox.confine import Confinement
from tui_agent.policy.confined import guarded_places
from tui_agent.ports.environment import ExecSpec

COMMANDS = (":", "git status --short", "python3 -c pass")


async def main(rounds: int) -> None:
    """Print the medians of each command and their ratio."""
    found = detect.found()
    if not found.kind:
        print(found.why_not)
        return
    with tempfile.TemporaryDirectory() as folder:
        root = _workspace(folder)
        guarded = guarded_places(str(Path.home()))
        bounds = Bounds(str(root), str(Path.home()), guarded.hidden, kept=guarded.kept, absent=guarded.absent)
        env = LocalEnvironment(root, confinement=Confinement(found, bounds, Path(folder) / "records"))
        for command in COMMANDS:
            outside, confined = await _measured(env, command, rounds)
            print(
                f"{command:20} outside {outside:7.1f} ms   confined {confined:7.1f} ms"
                f"   ×{confined / outside:.2f}   +{confined - outside:.1f} ms"
            )
        await env.aclose()


def _workspace(folder: str) -> Path:
    root = Path(folder).resolve() / "work"
    root.mkdir()
    return root


async def _measured(env: LocalEnvironment, command: str, rounds: int) -> tuple[float, float]:
    """Medians in ms: outside, confined."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for outside in (True, False):
            began = time.perf_counter()
            await env.exec(ExecSpec(script=command, outside=outside), lambda data: None)
            taken[outside].append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[True]), statistics.median(taken[False])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=25)
    asyncio.run(main(parser.parse_args().rounds))
