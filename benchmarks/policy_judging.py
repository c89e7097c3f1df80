"""Time that the policy adds to a tool call: `python -m benchmarks.policy_judging [--rounds 20]`.

One measurement does what the gate does for a call: it resolves the paths and programs that the decision depends on,
decides, and for commands describes the effects. Every command line is new. There are 40 rules of a user's file and 5 of
the session. Loaded modules are exempt from garbage collection, as in the engine's process.
"""

import argparse
import gc
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.rules.grammar import parse_rule
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Effect, ReadEffect, RunEffect, WriteEffect
from tui_agent.workspace.local.environment import LocalEnvironment

RULES = [
    *(f"allow run tool{number} *" for number in range(10)),
    *(f"deny edit vendor/part{number}/**" for number in range(10)),
    *(f"deny run deploy{number} *" for number in range(10)),
    *(f"deny connect host{number}.example.org" for number in range(5)),
    *(f"ask read private{number}/**" for number in range(5)),
]
GRANTED = (
    "allow edit src/**",
    "allow run pytest *",
    "allow run make *",
    "allow run npm run test *",
    "allow edit docs/**",
)
COMMANDS = (
    "git status --short",
    "git diff HEAD~1 -- src/module_{n}.py",
    "rg -n 'def main' src tests | head -{n}",
    "pytest -q tests/test_{n}.py 2>&1 | tail -5",
    "ls -la src/module_{n} && wc -l src/module_{n}/*.py",
    "sed -n '{n},40p' src/module_{n}.py",
    "cat src/module_{n}.py | grep -c import",
    "make build TARGET=x{n}",
    "npm run test -- --grep case{n}",
    'for f in a b c; do echo $f; python tools/check.py "$f" {n}; done',
    "find src -name '*{n}.py' -newer setup.py | xargs grep -l TODO",
    "mkdir -p build/x{n} && cp src/module_{n}.py build/x{n}/",
)

KINDS = 5
PARTS = 5_000
LONG = (
    "; ".join(["true"] * PARTS),
    " && ".join(["ls -la src"] * PARTS),
    " | ".join(["cat"] * PARTS),
    "\n".join(f"x{number}=a; cat $x{number}" for number in range(PARTS // 2)),
    "; ".join(f"rm src/file{number}.py" for number in range(PARTS)),
    "; ".join("for f in a b c; do cat $f; done" for _ in range(PARTS // 2)),
    "cat " + " ".join(f"src/file{number}.py" for number in range(PARTS)),
)
LONGEST = (
    "; ".join(["ls"] * 490),
    "; ".join(f"rm src/file{number}.py" for number in range(240)),
    "; ".join(["find . -name '*.py' -exec grep -l x {} +"] * 120),
)
"""As long as lines may be that are read part by part."""


def calls() -> Iterator[tuple[str, tuple[Effect, ...]]]:
    """Yield calls of five kinds endlessly: a read, an edit, and a usual, a very long and the longest command."""
    for number in itertools.count(1):
        yield "read_file", (ReadEffect(path=f"src/module_{number}.py"),)
        yield "edit_file", (WriteEffect(path=f"src/module_{number}.py"),)
        yield "run_command", (RunEffect(script=COMMANDS[number % len(COMMANDS)].format(n=number)),)
        yield "5,000 parts", (RunEffect(script=f"{LONG[number % len(LONG)]} #{number}"),)
        yield "longest read", (RunEffect(script=f"{LONGEST[number % len(LONGEST)]} #{number}"),)


def judgement(
    policy: RulePolicy, env: LocalEnvironment, tool: str, effects: tuple[Effect, ...]
) -> tuple[float, float]:
    """Judge one call; return the wall time and the CPU time in milliseconds."""
    start, used = time.perf_counter(), time.thread_time()
    resolved = env.resolve_all(sorted(policy.decision_paths(effects, GRANTED)))
    own = env.find_workspace_programs(policy.started_programs(effects))
    facts = PolicyFacts(env.root, "ask", resolved, GRANTED, workspace_programs=own)
    policy.decide(tool, effects, facts)
    if isinstance(effects[0], RunEffect):
        policy.describe_effects(effects, frozenset(), facts)
    return (time.perf_counter() - start) * 1000, (time.thread_time() - used) * 1000


def measure(rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return (wall, CPU) milliseconds of each judgement, by kind of call."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "src").mkdir()
        env = LocalEnvironment(root)
        policy = RulePolicy([parse_rule(text) for text in RULES], own=(str(root / "own"),))
        found: dict[str, list[tuple[float, float]]] = {}
        for at, (tool, effects) in enumerate(itertools.islice(calls(), KINDS * (rounds + 1) * len(COMMANDS))):
            if at == KINDS * len(COMMANDS):
                gc.freeze()
            took = judgement(policy, env, tool, effects)
            if at >= KINDS * len(COMMANDS):  # the first round loads the parser and the table
                found.setdefault(tool, []).append(took)
        return found


def main() -> None:
    """Print a row for each kind of call, and one for all calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    found = measure(parser.parse_args().rounds)
    found["all"] = [took for several in found.values() for took in several]
    print(f"{'call':<13} {'median ms':>10} {'CPU ms':>8} {'p99 CPU ms':>11} {'most':>8}")
    for tool, took in found.items():
        wall, used = (sorted(several) for several in zip(*took, strict=True))
        least = f"{statistics.median(wall):>10.3f} {statistics.median(used):>8.3f}"
        print(f"{tool:<13} {least} {used[int(len(used) * 0.99)]:>11.3f} {used[-1]:>8.3f}")


if __name__ == "__main__":
    main()
