"""One script under each profile, and what the sandbox changes for the profile that relies on it."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import NEVER_ASKS, RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes
from tui_agent.protocol.settings import PolicyName

WORKSPACE = "/home/ada/timesheet"
ORDER: tuple[PolicyName, ...] = ("plan", "ask", "accept-edits", "bypass", "read-only-delegate")
SHORT = {"+": "allow", "?": "ask", "-": "deny"}

SCRIPT: list[tuple[Effect, str, str]] = [
    # what the agent does, without a sandbox, in one
    (Internal(what="todos"), "+++++", "+++++"),
    (Reads(path="src/entry.py"), "+++++", "+++++"),
    (Runs(script="git status && git log -3 | head"), "+++++", "+++++"),
    (Runs(script="rg -n TODO src | wc -l"), "+++++", "+++++"),
    (Reads(path="/srv/shared/notes.md"), "-??+-", "-??+-"),
    (Writes(path="src/entry.py"), "-?++-", "-?++-"),
    (Writes(path="src/old.py", removes=True), "-??+-", "-??+-"),
    (Runs(script="pytest -q tests"), "-??+-", "-?++-"),
    (Runs(script="make 2>&1 | tail -5"), "-??+-", "-?++-"),
    (Runs(script="sed -i s/a/b/ src/entry.py"), "-??+-", "-?++-"),
    (Runs(script="python tools/report.py > out.txt"), "-??+-", "-?++-"),
    (Runs(script="cp src/entry.py /home/ada/entry.py"), "-??+-", "-??+-"),
    (Runs(script="rm -r build"), "-??+-", "-??+-"),
    (Runs(script="pytest; rm -r build"), "-??+-", "-??+-"),
    (Runs(script="make $TARGET"), "-??+-", "-??+-"),
    (Runs(script="pip install requests"), "-??+-", "-??+-"),
    (Runs(script="curl https://example.org"), "-??+-", "-??+-"),
    (Runs(script="sudo make"), "-??+-", "-??+-"),
    (Connects(host="example.org"), "-??+-", "-??+-"),
    (Runs(script="if then"), "-???-", "-???-"),
    (Runs(script="eval $(cat script)"), "-???-", "-???-"),
    (Reads(path=".env"), "-----", "-----"),
    (Writes(path=".git/hooks/pre-commit"), "-----", "-----"),
    (Runs(script="pytest > .git/config"), "-----", "-----"),
    (Runs(script="rm -rf ~"), "-----", "-----"),
    (Runs(script="rm -rf /"), "-----", "-----"),
    (Runs(script="cd .. && rm -rf timesheet"), "-----", "-----"),
    (Runs(script="make && rm -rf ."), "-----", "-----"),
]


def judged(effect: Effect, policy: PolicyName, *rules: str, sandboxed: bool = False) -> Decision:
    facts = PolicyFacts(WORKSPACE, policy, sandboxed=sandboxed)
    return RulePolicy(rules).decide("some_tool", (effect,), facts)


@rows("effect, without, within", SCRIPT)
def test_one_script_under_each_profile(effect: Effect, without: str, within: str) -> None:
    for sandboxed, marks in ((False, without), (True, within)):
        found = [judged(effect, policy, sandboxed=sandboxed).verdict for policy in ORDER]
        assert found == [SHORT[mark] for mark in marks], sandboxed


OWN = [
    ("git status", "git", "-?++-"),
    ("cd src && rg -n TODO | head", "head", "-?++-"),
    ("find . -name '*.py' -exec wc -l {} +", "wc", "-?++-"),
    ("timeout 5 git log", "git", "-?++-"),
    ("git status", "rg", "+++++"),
    ("/usr/bin/git status", "rg", "+++++"),
]


@pytest.mark.parametrize(("line", "name", "marks"), OWN)
def test_a_program_of_the_workspace_is_not_known_by_its_name(line: str, name: str, marks: str) -> None:
    for policy, mark in zip(ORDER, marks, strict=True):
        facts = PolicyFacts(WORKSPACE, policy, sandboxed=True, own_programs=frozenset({name}))
        found = RulePolicy().decide("some_tool", (Runs(script=line),), facts)
        assert found.verdict == SHORT[mark], policy
        if found.verdict == "ask":
            assert found.reason == f"{name} is a program of this workspace here"


def test_programs_that_a_line_starts_by_name_are_told() -> None:
    lines = (
        Runs(script="cd a; timeout 5 git log | ./head; xargs -r rg x; find . -exec wc {} +"),
        Runs(argv=("ls",)),
    )
    assert set(RulePolicy().programs(lines)) == {"timeout", "git", "xargs", "rg", "find", "wc", "ls"}


def test_a_delegate_that_only_reads_is_never_asked_about() -> None:
    found = judged(Reads(path="src/entry.py"), "read-only-delegate", "ask read src/**")
    assert (found.verdict, found.choices) == ("deny", ())
    assert found.reason.endswith(NEVER_ASKS)
    assert judged(Reads(path="src/entry.py"), "plan", "ask read src/**").verdict == "ask"


def test_no_rule_gives_a_delegate_that_only_reads_more() -> None:
    rules = ("allow edit **", "allow run pytest *", "allow exact pytest", "allow connect example.org")
    for effect in (Writes(path="a"), Runs(script="pytest"), Connects(host="example.org")):
        assert judged(effect, "read-only-delegate", *rules).verdict == "deny"


def test_the_sandbox_lifts_no_rule() -> None:
    assert judged(Runs(script="pytest"), "accept-edits", "ask run pytest *", sandboxed=True).verdict == "ask"
    assert (
        judged(Runs(script="pytest"), "accept-edits", "deny run pytest *", sandboxed=True).verdict == "deny"
    )
    line = Runs(script="make > docs/out.md")
    assert judged(line, "accept-edits", sandboxed=True).verdict == "allow"
    assert judged(line, "accept-edits", "ask edit docs/**", sandboxed=True).verdict == "ask"
    assert judged(line, "bypass", "ask edit docs/**").verdict == "ask"


def test_a_command_that_names_secrets_is_asked_about_in_a_sandbox_too() -> None:
    assert judged(Runs(script="pytest --env-file .env"), "accept-edits", sandboxed=True).verdict == "ask"


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        ("ask edit src/**", Writes(path="src/entry.py")),
        ("ask edit src/**", Writes(path="src/entry.py", removes=True)),
        ("ask read /srv/**", Reads(path="/srv/a")),
        ("ask connect example.org", Connects(host="example.org")),
        ("ask run make *", Runs(script="make")),
    ],
)
def test_a_rule_that_asks_lifts_nothing_that_plan_denies(rule: str, effect: Effect) -> None:
    assert judged(effect, "plan").verdict == "deny"
    assert judged(effect, "plan", rule).verdict == "deny"
    assert judged(effect, "ask", rule).verdict == "ask"
