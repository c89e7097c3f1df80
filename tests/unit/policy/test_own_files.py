"""In a sandbox a command may read, run, change and take away what such commands made in its /tmp; what is there outside, not."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Reads, Runs
from tui_agent.protocol.settings import PolicyName

OWN = frozenset(
    f"/tmp/{name}"
    for name in ("o", "o.txt", "d", "d/x", "d/CMakeLists.txt", "x", "x.c", "x.py", "l", "l/a", ".env")
)
"""At these paths nothing is outside."""


def judged(script: str, policy: PolicyName = "accept-edits", rules: tuple[str, ...] = ()) -> Decision:
    facts = PolicyFacts(WORKSPACE, policy, sandboxed=True, own_files=OWN)
    return RulePolicy(rules).decide("run_command", (Runs(script=script),), facts)


MINE = """
echo hi > /tmp/o.txt; tail -1 /tmp/o.txt
make 2>&1 | tee /tmp/l; tail /tmp/l
pytest -q > /tmp/o 2>&1; grep -n FAILED /tmp/o
gcc -o /tmp/x src/x.c && /tmp/x --help
mkdir -p /tmp/d && cd /tmp/d && cmake /home/ada/timesheet && make
cp src/a /tmp/o && diff /tmp/o src/b
mv /tmp/o src/a
rm -f /tmp/o.txt
rm -rf /tmp/d /tmp/x
python /tmp/x.py
ln -s /home/ada/timesheet/src /tmp/l
ls -la /tmp/d
""".strip().splitlines()


@pytest.mark.parametrize("script", MINE)
def test_what_only_commands_of_the_sandbox_made_is_theirs(script: str) -> None:
    found = judged(script)
    assert found.verdict == "allow"
    assert set(found.own) == OWN  # whoever runs it shows it nothing else there
    assert decide(script).verdict == "ask"


def test_reading_it_needs_no_yes_where_writing_does() -> None:
    assert judged("tail -1 /tmp/o.txt", "ask").verdict == "allow"
    assert judged("echo x > /tmp/o.txt", "ask").verdict == "ask"
    assert judged("rm /tmp/o.txt", "ask").verdict == "ask"
    assert judged("rm /tmp/o.txt", "plan").verdict == "deny"


NOT_MINE = """
cat /tmp/theirs
echo x > /tmp/theirs
echo x >> /tmp/theirs; cat src/a
tee /tmp/theirs
rm /tmp/theirs
rm -f /tmp/o.txt /tmp/theirs
rm -f /tmp/o.txt src/a
rm -f /tmp/o.txt; rm -rf src
cp /tmp/theirs src/a
mv src /tmp/x
cat /tmp/*
cat /tmp/o*
rm -rf /tmp/*
rm -rf /tmp/d*
find /tmp/d -delete
cat /tmp/o/../theirs
cat /tmp/.env
sudo cat /tmp/o
curl -o /tmp/x https://example.org/x
ln -s src /tmp/l; rm -rf /tmp/l/a
ln -s src /tmp/l; rm -rf /tmp/l
ln -s src /tmp/l; ln -sf /etc /tmp/l; cat /tmp/l/x
ln -s /home/ada/other /tmp/l; cat /tmp/l
cd src; ln -s ../home/ada/other /tmp/l; cat /tmp/l
cd a/b; ln -s ../other ../../l; cat ../../l
echo 'rm -rf src' > /tmp/x; sh /tmp/x
""".strip().splitlines()


@rows("script", NOT_MINE)
def test_what_lies_there_outside_or_leads_on_is_asked_about(script: str) -> None:
    assert judged(script).verdict != "allow"


def test_rules_count_there_too_and_file_tools_see_the_machines_own() -> None:
    assert judged("cat /tmp/o.txt", rules=("deny read /tmp/**",)).verdict == "deny"
    assert judged("echo x > /tmp/o.txt", rules=("ask edit /tmp/**",)).verdict == "ask"
    assert judged("rm /tmp/o.txt", rules=("deny remove /tmp/**",)).verdict == "deny"
    facts = PolicyFacts(WORKSPACE, "accept-edits", sandboxed=True, own_files=OWN)
    assert RulePolicy().decide("read_file", (Reads(path="/tmp/o.txt"),), facts).verdict == "ask"


def test_without_a_sandbox_nothing_there_is_anybodys_own() -> None:
    facts = PolicyFacts(WORKSPACE, "accept-edits", own_files=OWN)
    assert RulePolicy().decide("run_command", (Runs(script="cat /tmp/o.txt"),), facts).verdict == "ask"
