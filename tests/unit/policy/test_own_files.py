"""In a sandbox a command may read, run, change and delete the files that such commands made in its /tmp, and no others."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import ReadEffect, RunEffect
from tui_agent.protocol.settings import PolicyName

OWN = frozenset(
    f"/tmp/{name}"
    for name in ("o", "o.txt", "d", "d/x", "d/CMakeLists.txt", "x", "x.c", "x.py", "l", "l/a", ".env")
)
"""Paths at which there is nothing outside the sandbox."""


def judged(script: str, policy: PolicyName = "accept-edits", rules: tuple[str, ...] = ()) -> Decision:
    facts = PolicyFacts(WORKSPACE, policy, sandboxed=True, private_temp_paths=OWN)
    return RulePolicy(rules).decide("run_command", (RunEffect(script=script),), facts)


OWN_LINES = """
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


@rows("script", OWN_LINES)
def test_files_that_commands_of_the_sandbox_made_are_their_own(script: str) -> None:
    found = judged(script)
    assert found.verdict == "allow"
    assert set(found.private_temp_paths) == OWN  # the sandbox shows it nothing else there
    assert decide(script).verdict == "ask"


def test_reading_them_needs_no_yes_where_writing_does() -> None:
    assert judged("tail -1 /tmp/o.txt", "ask").verdict == "allow"
    assert judged("echo x > /tmp/o.txt", "ask").verdict == "ask"
    assert judged("rm /tmp/o.txt", "ask").verdict == "ask"
    assert judged("rm /tmp/o.txt", "plan").verdict == "deny"


FOREIGN = """
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


@rows("script", FOREIGN)
def test_other_files_and_links_to_them_are_asked_about(script: str) -> None:
    assert judged(script).verdict != "allow"


def test_rules_count_there_too_and_file_tools_see_the_files_of_the_machine() -> None:
    assert judged("cat /tmp/o.txt", rules=("deny read /tmp/**",)).verdict == "deny"
    assert judged("echo x > /tmp/o.txt", rules=("ask edit /tmp/**",)).verdict == "ask"
    assert judged("rm /tmp/o.txt", rules=("deny remove /tmp/**",)).verdict == "deny"
    facts = PolicyFacts(WORKSPACE, "accept-edits", sandboxed=True, private_temp_paths=OWN)
    assert RulePolicy().decide("read_file", (ReadEffect(path="/tmp/o.txt"),), facts).verdict == "ask"


def test_without_a_sandbox_no_file_there_is_its_own() -> None:
    facts = PolicyFacts(WORKSPACE, "accept-edits", private_temp_paths=OWN)
    assert RulePolicy().decide("run_command", (RunEffect(script="cat /tmp/o.txt"),), facts).verdict == "ask"
