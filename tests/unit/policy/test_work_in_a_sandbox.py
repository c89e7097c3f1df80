"""Everyday work in a sandbox runs unasked where edits are accepted; what leads out of the workspace, or takes away, does not."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import confined, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

WORK = """
PYTHONPATH=src pytest -q
PYTHONPATH=. python -m pytest tests/unit -x
FOO=bar make
CC=clang CFLAGS='-O2 -g' make -j4
RUST_LOG=debug cargo test
export API_URL=http://localhost; npm test
mv a b
mv src/a.py src/b.py
jq '.version = "2"' package.json > x.json && mv x.json package.json
cat > f <<< x
cat >> src/a.txt <<< "hello world"
git stash pop
cd tests; ls; cd ..
cd tests && pytest; cd ..
cd src && FOO=1 make
ls > /tmp/out
pytest 2>&1 | tee /tmp/out.log
uv run pytest -q tests
uv run python -m mypkg
""".strip().splitlines()
AWAY = """
PATH=.:$PATH ls
LD_PRELOAD=./x.so ls
GIT_SSH_COMMAND=./x git status
PAGER='rm -rf src' git log
FOO='rm -rf src' make
FOO=$X make
mv a /home/x/b
mv ../a b
mv src /tmp/x
mv a .git/config
mv a $X
cat /tmp/x
rm /tmp/x
ls > /home/x/out
ls > /tmp/../home/x
cd .. && make
cd .. && ls
cd .. && ./x
cd ../other && FOO=1 make
cd ..; rm x
cd tests; cd ..; cd ..; make
git clean -f
git clean -n -i
git clean -e -n -f
rm -f out.txt
cat > .git/hooks/x <<< y
cat > f <<< x && rm -rf src
cat > f <<< "$(rm -rf src)"
""".strip().splitlines()


@pytest.mark.parametrize("script", WORK)
def test_work_in_the_workspace_runs_unasked_and_is_asked_about_where_every_command_is(script: str) -> None:
    assert confined(script).verdict == "allow"
    assert confined(script, "ask").verdict == "ask" or script == "cd tests; ls; cd .."


@rows("script", AWAY)
def test_what_leads_out_or_takes_away_does_not(script: str) -> None:
    assert confined(script).verdict != "allow"


def test_rules_against_removing_and_writing_count_for_what_is_moved() -> None:
    policy = RulePolicy(["deny edit src/keep/**", "ask remove docs/**"])
    facts = PolicyFacts("/home/ada/timesheet", "accept-edits", sandboxed=True)
    said = [
        policy.decide("run_command", (Runs(script=line),), facts).verdict
        for line in ("mv src/keep/a b", "mv src old", "mv docs/a b", "mv a b")
    ]
    assert said == ["deny", "deny", "ask", "allow"]


def test_a_rule_never_allows_a_command_with_variables_in_front() -> None:
    policy = RulePolicy(["allow run pytest *"])
    facts = PolicyFacts("/home/ada/timesheet", "ask")
    assert policy.decide("run_command", (Runs(script="PYTHONPATH=x pytest"),), facts).verdict == "ask"


@pytest.mark.parametrize(
    "script",
    [
        "git clean -n",
        "git clean -ndx",
        "git clean --dry-run -e '*.o'",
        "find . -name package.json -not -path '*/node_modules/*' -exec cat {} \\;",
        "find . -name '*.py' ! -path './vendor/*' | xargs grep -l x",
        "cat - <<'EOF' | wc -l\na\nEOF",
        "cd tests; ls; cd ..",
        "cd /home/ada/timesheet/src && ls",
    ],
)
def test_what_only_tells_something_runs_unasked(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "script",
    [
        "find . ! -name a -exec cat {} \\;",
        "find . -name a -o -not -name b -exec cat {} \\;",
        "find . ! ( -name a ) -exec cat {} \\;",
        "cd .. && cat x",
        "cd ~ && ls",
    ],
)
def test_what_may_show_anything_is_asked_about(script: str) -> None:
    assert verdict(script) == "ask"
