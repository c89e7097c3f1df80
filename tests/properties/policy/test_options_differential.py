"""Calls that our reading finds harmless are run by the real programs, and do nothing; and each option of the catalog takes
its words as the real program does."""

import random
import shutil

import pytest

from tests.properties.policy.option_words import find_mismatches, make_probes
from tests.properties.policy.program_calls import make_line
from tests.properties.policy.program_runs import BWRAP, is_harmless, run_calls
from tests.stubs.left_out import only_where
from tests.stubs.rows import rows

pytestmark = only_where(BWRAP is not None, "bubblewrap is not installed")
CALLS = 800
"""`tests/soak/test_options_differential_for_long.py` runs two hundred thousand."""
PROBED = (
    "git log", "git diff", "git blame", "git show", "git grep", "git branch", "xargs", "od", "sed", "sort", "jq", "grep", "rg", "tail", "gawk", "mawk",
)  # fmt: skip
EVIL = [
    "gawk 'BEGIN{0system(\"EVIL\")}'", "mawk 'BEGIN{0system(\"EVIL\")}'", "awk 'BEGIN{print \"a\",\n\"b\" > \"new\"}'", "awk '{print ENVIRON[\"TOKEN\"]}' README.md", "sed 'w new' README.md", "sed '1e EVIL' README.md",
    "sed 'r /tmp/outside/key' README.md", "git log -1 -U --output=new", "git log --min-parents --output=new", "git blame --abbrev --contents=/tmp/outside/key README.md", "git ls-files | xargs --max-lines EVIL wc", "git ls-files | xargs -i sh wc",
    "fdfind . src -x tee", "fdfind -u . -x cat", "od -c -w .env", "find . -name x -o -delete", "find src -execdir ./x.sh ';'", "find . -name '*env' -print0 | xargs -0 cat", "find -L . -name key -exec cat {} +", "jq -n env",
    "tar tf a.tar --checkpoint=1 --checkpoint-action=exec=./x.sh", "sort README.md -onew", "sort --compress-program=./x.sh -S 1b README.md names.txt",
]  # fmt: skip


@pytest.mark.slow
def test_what_is_harmless_does_nothing_when_it_is_run() -> None:
    chance = random.Random(1)
    lines: dict[str, None] = {}
    while len(lines) < CALLS:
        line = make_line(chance)
        if line not in lines and is_harmless(line):
            lines[line] = None
    outcomes = run_calls([*lines])
    assert [
        (line, outcome.faults) for line, outcome in zip(lines, outcomes, strict=True) if outcome.faults
    ] == []


@rows("line", EVIL)
def test_what_does_harm_is_doubted(line: str) -> None:
    assert not is_harmless(line)


def test_the_sandbox_notices_what_does_harm() -> None:
    known = [line for line in EVIL if shutil.which(line.split()[0])]
    outcomes = run_calls(known)
    missed = [line for line, outcome in zip(known, outcomes, strict=True) if not outcome.faults]
    assert missed == []


@pytest.mark.slow
def test_a_call_that_does_not_end_is_noticed() -> None:
    (outcome,) = run_calls(
        ["jq -n 'repeat(1) | empty'" if shutil.which("jq") else "sed -n ':a;ba' README.md"], seconds=3
    )
    assert outcome.faults == ("it did not end",)


@pytest.mark.slow
def test_every_option_takes_its_words_as_the_catalog_says() -> None:
    counts, mismatches = find_mismatches(make_probes(PROBED))
    assert mismatches == []
    assert counts["as listed"] > 300
