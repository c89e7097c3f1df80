"""A script that the same line writes from literal text is judged by that text, as one that a shell is given directly."""

import time

import pytest

from tests.unit.policy.judging import WORKSPACE, classes, confined
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

TAKING = [
    "echo 'rm -rf src' > x.sh && sh x.sh",
    "printf 'rm -rf src\\n' > x.sh; bash ./x.sh",
    "echo 'rm -rf src' > x.sh; chmod +x x.sh; ./x.sh",
    "cat > x.sh <<'E'\nrm -rf src\nE\nsh x.sh",
    "cat > x.sh <<'E'\nrm -rf src\nE\nbash -e x.sh a b",
    "echo 'rm -rf src' | tee x.sh; sh x.sh",
    "echo ls > x.sh; echo 'rm -rf src' >> x.sh; sh x.sh",
    "echo 'rm -rf src' > x.sh; . ./x.sh",
    "echo 'rm -rf src' > x.sh; source x.sh",
    "mkdir a; cd a; echo 'rm -rf src' > x.sh; cd ..; sh a/x.sh",
    "echo 'import shutil; shutil.rmtree(\"src\")' > a.py; python a.py",
    "cat > a.js <<'E'\nfs.rmSync('src')\nE\nnode a.js",
    "echo 'rm -rf src' > x.sh; timeout 5 sh x.sh",
]


@pytest.mark.parametrize("line", TAKING)
def test_what_it_takes_away_is_asked_about(line: str) -> None:
    assert "destructive" in classes(line)
    assert confined(line).verdict == "ask"


@pytest.mark.parametrize(
    "line",
    ["echo 'pytest -q' > x.sh && sh x.sh", "cat > a.py <<'E'\nprint(1)\nE\npython a.py", "sh x.sh", "cat a > x.sh; sh x.sh",
     "echo 'rm -rf src' > notes.txt; sh x.sh", "echo 'rm -rf src' > x.sh; echo ls > x.sh; sh x.sh"],
)  # fmt: skip
def test_what_takes_nothing_away_runs_in_a_sandbox(line: str) -> None:
    assert confined(line).verdict == "allow"


def test_rules_against_commands_count_for_its_text() -> None:
    policy, facts = RulePolicy(["deny run git push *"]), PolicyFacts(WORKSPACE, "bypass")
    line = "echo 'git push' > x.sh && sh x.sh"
    assert policy.decide("run_command", (Runs(script=line),), facts).verdict == "deny"


def test_a_script_that_is_written_and_run_again_and_again_is_read_for_a_while_only() -> None:
    confined("ls")
    line = "; ".join(f"echo 'ls {n}' >> x.sh; sh x.sh" for n in range(200))
    started = time.process_time()
    assert confined(line).verdict == "ask"
    assert time.process_time() - started < 0.5
