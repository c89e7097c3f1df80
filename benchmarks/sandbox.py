"""Time that the sandbox adds to a command, and to a command with hidden secret files.

    python -m benchmarks.sandbox [--rounds 25]

The same commands run in turns inside and outside the sandbox. Trust the ratios: other work of the machine affects both.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.policy.places.sandbox_places import guarded_places
from tui_agent.ports.environment import ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.sandbox import detection
from tui_agent.workspace.sandbox.command_setup import Confinement
from tui_agent.workspace.sandbox.mounts import Bounds

COMMANDS = (":", "git status --short", "python3 -c pass")
COVERED = (0, 10, 50, 200)
"""Files with secrets in the workspace, each in a folder of its own."""


async def main(rounds: int) -> None:
    """Print the medians of each command and their ratio."""
    found = detection.detect_sandbox()
    if not found.kind:
        print(found.why_not)
        return
    with tempfile.TemporaryDirectory() as folder:
        env = _environment(found, folder, 0)
        for command in COMMANDS:
            outside, confined = await _measured(env, command, rounds)
            print(
                f"{command:20} outside {outside:7.1f} ms   confined {confined:7.1f} ms"
                f"   ×{confined / outside:.2f}   +{confined - outside:.1f} ms"
            )
        await env.aclose()
        await _covering([_environment(found, folder, count) for count in COVERED], rounds)


async def _covering(environments: list[LocalEnvironment], rounds: int) -> None:
    """Measure a command in workspaces with more and more secret files, which the sandbox hides."""
    taken: list[list[float]] = [[] for _ in environments]
    looked: list[list[float]] = [[] for _ in environments]
    for _ in range(rounds + 1):
        for env, times, looks in zip(environments, taken, looked, strict=True):
            began = time.perf_counter()
            env.scan()
            looks.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            await env.exec(ExecSpec(script=":"), lambda data: None)
            times.append((time.perf_counter() - began) * 1000)
    none = statistics.median(taken[0][1:])
    for count, times, looks in zip(COVERED, taken, looked, strict=True):
        confined = statistics.median(times[1:])
        print(
            f"{count:4} files covered    confined {confined:7.1f} ms   +{confined - none:5.1f} ms"
            f"   of it looking for them {statistics.median(looks[1:]):5.1f} ms"
        )
    for env in environments:
        await env.aclose()


def _environment(found: detection.SandboxSupport, folder: str, covered: int) -> LocalEnvironment:
    root = Path(folder).resolve() / f"work-{covered}"
    root.mkdir(exist_ok=True)
    for number in range(covered):
        (root / f"part-{number}").mkdir()
        (root / f"part-{number}" / ".env").write_text("A=1\n")
    guarded = guarded_places(str(Path.home()))
    bounds = Bounds(
        str(root),
        str(Path.home()),
        guarded.hidden,
        read_only=guarded.read_only,
        absent=guarded.absent,
        is_secret=may_hold_secrets,
    )
    return LocalEnvironment(root, confinement=Confinement(found, bounds, Path(folder) / "records"))


async def _measured(env: LocalEnvironment, command: str, rounds: int) -> tuple[float, float]:
    """Return the medians in milliseconds outside and inside the sandbox."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for outside in (True, False):
            began = time.perf_counter()
            await env.exec(ExecSpec(script=command, unsandboxed=outside), lambda data: None)
            taken[outside].append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[True]), statistics.median(taken[False])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=25)
    asyncio.run(main(parser.parse_args().rounds))
