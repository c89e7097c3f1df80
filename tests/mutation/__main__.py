"""`python -m tests.mutation [TARGET ...] [--sample N] [--seed N]`: break the code, and count who notices.

Prints a line for each mutant that no test noticed, and the share of those that were; ends with status 1 below 90 %.
"""

import argparse
import random
import sys

from tests.mutation.equivalent import equivalents
from tests.mutation.mutants import mutants
from tests.mutation.targets import TARGETS, Target
from tests.mutation.trial import ROOT, try_out

ENOUGH = 0.9
SLOWER = 5.0
"""How many times as long as without a fault the tests may take before that counts as noticed."""
LEAST_S = 60.0


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.split("\n", 1)[0])
    options.add_argument("target", nargs="*", help=f"of {', '.join(each.name for each in TARGETS)}")
    options.add_argument("--sample", type=int, default=40, help="mutants of each target (0: all)")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    chosen = [each for each in TARGETS if not given.target or each.name in given.target]
    shares = [_break(target, given.sample, random.Random(given.seed)) for target in chosen]
    return 0 if shares and min(shares) >= ENOUGH else 1


def _break(target: Target, sample: int, dice: random.Random) -> float:
    """The share of a target's mutants that its tests noticed."""
    whole = try_out(target.modules[0], None, target.tests, 1_800.0)
    if whole.noticed:
        sys.exit(f"{target.name}: its tests fail without any fault (status {whole.status})")
    sources = {path: (ROOT / path).read_text("utf-8") for path in target.modules}
    same = {(path, one): why for path in sources for one, why in equivalents(path, sources[path]).items()}
    for (path, one), why in same.items():
        print(f"{path}:{one.line}: {one.what}: left out: {why}", flush=True)
    every = [(path, one) for path in sources for one in mutants(sources[path])]
    found = [each for each in every if each not in same]
    tried = dice.sample(found, sample) if 0 < sample < len(found) else found
    limit = max(LEAST_S, SLOWER * whole.seconds)
    left = [(path, one) for path, one in tried if not try_out(path, one, target.tests, limit).noticed]
    for path, one in sorted(left, key=lambda each: (each[0], each[1].line)):
        print(f"{path}:{one.line}: {one.what}", flush=True)
    share = 1 - len(left) / len(tried)
    said = f"{len(tried) - len(left)} of {len(tried)} mutants noticed ({share:.0%}), of {len(found)} possible"
    print(f"{target.name}: {said}; the tests take {whole.seconds:.0f} s", flush=True)
    return share


if __name__ == "__main__":
    sys.exit(main())
