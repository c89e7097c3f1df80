"""Judge every corpus of command lines: `python -m benchmarks.policy_corpora [--policy ask] [--sandboxed] [--list]`.

Prints how many lines of each class are allowed, asked about and denied, and the time of a decision. A line is wrong if it
is everyday and not allowed, or from another corpus and allowed. `--judge module:Class` measures another policy. Lines
that should run unasked are judged in a clean workspace, the others in one with secrets, links and hostile names.

The first decision is timed in new processes, without the import of the policy's module. All times are CPU times.
"""

import argparse
import importlib
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from tests.corpora.lines import CorpusLine, corpus_names, read_corpus
from tests.corpora.workspaces import HARMLESS_CLASSES, HARMLESS_LINES, UNASKED, clean_facts, hostile_facts
from tui_agent.ports.policy import Policy
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName

JUDGE = "tui_agent.policy.decision.policy:RulePolicy"
PROFILES: tuple[PolicyName, ...] = ("plan", "ask", "accept-edits")
FIRST_LINE = "git diff HEAD~1 --stat | head -20"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A line of a corpus, the verdict, and the milliseconds that the verdict took."""

    corpus: str
    line: CorpusLine
    verdict: str
    milliseconds: float

    @property
    def wrong(self) -> bool:
        """Return True if the line's corpus expects another verdict."""
        if self.line.class_name in HARMLESS_CLASSES or self.line.text in HARMLESS_LINES:
            return False
        return (self.verdict == "allow") != (self.corpus in UNASKED)


def load_policy(judge: str) -> Policy:
    """Return a new policy of the class that `judge` names as `module:Class`."""
    module, _, name = judge.partition(":")
    policy: Policy = getattr(importlib.import_module(module), name)()
    return policy


def judge_corpus(policy: Policy, corpus: str, profile: PolicyName, sandboxed: bool) -> list[Judgement]:
    """Judge every line of a corpus and return the judgements."""
    judgements = []
    facts = (clean_facts if corpus in UNASKED else hostile_facts)(profile, sandboxed=sandboxed)
    for line in read_corpus(corpus):
        start = time.process_time()
        decision = policy.decide("run_command", (RunEffect(script=line.text),), facts)
        took = (time.process_time() - start) * 1000
        judgements.append(Judgement(corpus, line, decision.verdict, took))
    return judgements


def time_first_decision(judge: str) -> tuple[float, float]:
    """Return the milliseconds of importing the policy and of its first decision, in this process."""
    start = time.process_time()
    importlib.import_module(judge.partition(":")[0])
    imported = time.process_time()
    policy = load_policy(judge)
    policy.decide("run_command", (RunEffect(script=FIRST_LINE),), clean_facts("ask"))
    return (imported - start) * 1000, (time.process_time() - imported) * 1000


def median_first_times(judge: str, starts: int) -> list[float]:
    """Return the medians of `time_first_decision` over `starts` new processes."""
    command = [sys.executable, "-m", "benchmarks.policy_corpora", "--judge", judge, "--first"]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(starts)]
    return [
        statistics.median(times)
        for times in zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    ]


def print_row(corpus: str, class_name: str, judgements: list[Judgement]) -> None:
    """Print the counts of one class, or of a whole corpus."""
    verdicts = Counter(judgement.verdict for judgement in judgements)
    wrong = sum(judgement.wrong for judgement in judgements)
    counts = (len(judgements), verdicts["allow"], verdicts["ask"], verdicts["deny"], wrong)
    print(f"{corpus:<18} {class_name:<26}" + "".join(f"{count:>8}" for count in counts))


def print_table(judgements: list[Judgement]) -> None:
    """Print a row for each class of each corpus, and a total for each corpus."""
    titles = "".join(f"{title:>8}" for title in ("lines", "allowed", "asked", "denied", "wrong"))
    print(f"{'corpus':<18} {'class':<26}{titles}")
    for corpus, members in groupby(judgements, key=lambda judgement: judgement.corpus):
        of_corpus = list(members)
        for class_name in dict.fromkeys(judgement.line.class_name for judgement in of_corpus):
            in_class = [judgement for judgement in of_corpus if judgement.line.class_name == class_name]
            print_row(corpus, class_name, in_class)
        print_row(corpus, "all", of_corpus)


def print_wrong(judgements: list[Judgement]) -> None:
    """Print each wrong line with its position in its corpus."""
    for judgement in judgements:
        if judgement.wrong:
            place = f"{judgement.corpus}.txt:{judgement.line.number}"
            print(f"{place} {judgement.line.class_name} {judgement.verdict} {judgement.line.text!r}")


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", default=JUDGE, metavar="MODULE:CLASS")
    parser.add_argument("--policy", choices=PROFILES, default="ask")
    parser.add_argument("--sandboxed", action="store_true", help="judge as if a sandbox confined commands")
    parser.add_argument("--corpus", action="append", help="judge only this corpus (may be repeated)")
    parser.add_argument("--list", action="store_true", help="print the wrong lines, too")
    parser.add_argument("--starts", type=int, default=5, help="processes that time a first decision")
    parser.add_argument("--first", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Judge all corpora; print the table, the wrong lines with --list, and the times."""
    arguments = parse_arguments()
    if arguments.first:
        print(*time_first_decision(arguments.judge))
        return
    policy = load_policy(arguments.judge)
    judgements: list[Judgement] = []
    for corpus in arguments.corpus or corpus_names():
        judgements += judge_corpus(policy, corpus, arguments.policy, arguments.sandboxed)
    print_table(judgements)
    if arguments.list:
        print_wrong(judgements)
    times = sorted(judgement.milliseconds for judgement in judgements)
    print(f"decision: median {statistics.median(times):.3f} ms, p99 {times[int(len(times) * 0.99)]:.3f} ms")
    import_ms, decision_ms = median_first_times(arguments.judge, arguments.starts)
    print(f"first decision: median {decision_ms:.1f} ms, after an import of {import_ms:.1f} ms")


if __name__ == "__main__":
    main()
