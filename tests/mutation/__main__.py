"""`python -m tests.mutation [TARGET ...] [--sample N] [--seed N]`: break the code, and count who notices.

Prints a line for each mutant that no test noticed, or that only a limit of time ended, and the share of those noticed;
ends with status 1 below 90 %.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.mutation.covering import Covered
from tests.mutation.equivalent import equivalents
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.targets import TARGETS, Target
from tests.mutation.trial import Outcome, Spoiled, cover, try_out
from tests.mutation.watching import ROOT

ENOUGH = 0.9
SLOWER = 8.0
"""How many times as long as without a fault a test may take before that counts as noticed."""
LEAST_S = 15.0


def main(words: Sequence[str] | None = None, targets: Sequence[Target] = TARGETS) -> int:
    options = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.split("\n", 1)[0])
    options.add_argument("target", nargs="*", help=f"of {', '.join(each.name for each in targets)}")
    options.add_argument("--sample", type=int, default=60, help="mutants of each target (0: all)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--module", default="", help="only those modules of a target whose path holds this")
    options.add_argument("--verbose", action="store_true", help="a line for every mutant")
    given = options.parse_args(words)
    chosen = [each for each in targets if not given.target or each.name in given.target]
    try:
        shares = [_break(target, given) for target in chosen]
    except Spoiled as fault:
        sys.exit(str(fault))
    return 0 if shares and min(shares) >= ENOUGH else 1


def _break(target: Target, given: argparse.Namespace) -> float:
    """The share of a target's mutants that its tests noticed."""
    began = time.monotonic()
    covered = cover(target.modules, target.tests)
    print(f"{target.name}: {len(covered.seconds)} tests pass in {time.monotonic() - began:.0f} s", flush=True)
    sources = {path: (ROOT / path).read_text("utf-8") for path in target.modules if given.module in path}
    same = {(path, one) for path in sources for one in equivalents(path, sources[path])}
    found = [(path, one) for path in sources for one in mutants(sources[path]) if (path, one) not in same]
    dice = random.Random(given.seed)
    tried = dice.sample(found, given.sample) if 0 < given.sample < len(found) else found
    outcomes: list[Outcome] = []
    for path, one in sorted(tried, key=lambda each: (each[0], each[1].line)):
        tests = covered.tests_of(path, sources[path], one)
        outcome = try_out(path, one, _limits(covered, tests))
        outcomes.append(outcome)
        if given.verbose or outcome.how != "failed":
            print(_line(path, one, outcome, len(tests)), flush=True)
    _check(covered, target, outcomes)
    return _told(target, outcomes, len(found), len(same), time.monotonic() - began)


def _limits(covered: Covered, tests: Iterable[str]) -> dict[str, float]:
    return {test: LEAST_S + SLOWER * covered.seconds[test] for test in tests}


def _line(path: str, one: Mutant, outcome: Outcome, tests: int) -> str:
    by = f" by {outcome.test}" if outcome.test else "" if tests else ": no test runs it"
    return f"{path}:{one.line}: {one.what}: {outcome.how}{by}"


def _check(covered: Covered, target: Target, outcomes: Iterable[Outcome]) -> None:
    """A test that fails when it runs alone, without any fault, has noticed nothing. Raises `Spoiled`."""
    for test in sorted({each.test for each in outcomes if each.test}):
        if try_out(target.modules[0], None, _limits(covered, [test])).noticed:
            raise Spoiled(f"{target.name}: {test} fails alone, without any fault")


def _told(target: Target, outcomes: list[Outcome], possible: int, same: int, seconds: float) -> float:
    counts = Counter(each.how for each in outcomes)
    programs = len(outcomes) - counts["no program"]
    noticed = sum(each.noticed for each in outcomes)
    share = noticed / programs if programs else 1.0
    print(
        f"{target.name}: {noticed} of {programs} mutants noticed ({share:.0%}): {counts['failed']} by a test that "
        f"failed, {counts['hung']} by its limit of time, {counts['died']} by the end of its process; "
        f"{counts['no program']} cannot be imported; of {possible} possible, {same} more are equivalent; "
        f"{seconds:.0f} s",
        flush=True,
    )
    return share


if __name__ == "__main__":
    sys.exit(main())
