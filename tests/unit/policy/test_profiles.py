"""One script under each profile, and what the sandbox changes for the profile that relies on it."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import NEVER_ASKS, RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.settings import PolicyName

WORKSPACE = "/home/ada/timesheet"
ORDER: tuple[PolicyName, ...] = ("plan", "ask", "accept-edits", "bypass", "read-only-delegate")
SHORT = {"+": "allow", "?": "ask", "-": "deny"}

SCRIPT: list[tuple[Effect, str, str]] = [
    # what the agent does, without a sandbox, in one
    (InternalEffect(subject="todos"), "+++++", "+++++"),
    (ReadEffect(path="src/entry.py"), "+++++", "+++++"),
    (RunEffect(script="git status && git log -3 | head"), "+++++", "+++++"),
    (RunEffect(script="rg -n TODO src | wc -l"), "+++++", "+++++"),
    (ReadEffect(path="/srv/shared/notes.md"), "-??+-", "-??+-"),
    (WriteEffect(path="src/entry.py"), "-?++-", "-?++-"),
    (WriteEffect(path="src/old.py", removes=True), "-??+-", "-??+-"),
    (RunEffect(script="pytest -q tests"), "-??+-", "-?++-"),
    (RunEffect(script="make 2>&1 | tail -5"), "-??+-", "-?++-"),
    (RunEffect(script="sed -i s/a/b/ src/entry.py"), "-??+-", "-?++-"),
    (RunEffect(script="python tools/report.py > out.txt"), "-??+-", "-?++-"),
    (RunEffect(script="cp src/entry.py /home/ada/entry.py"), "-??+-", "-??+-"),
    (RunEffect(script="rm -r build"), "-??+-", "-??+-"),
    (RunEffect(script="pytest; rm -r build"), "-??+-", "-??+-"),
    (RunEffect(script="make $TARGET"), "-??+-", "-??+-"),
    (RunEffect(script="pip install requests"), "-??+-", "-??+-"),
    (RunEffect(script="curl https://example.org"), "-??+-", "-??+-"),
    (RunEffect(script="sudo make"), "-??+-", "-??+-"),
    (NetworkEffect(host="example.org"), "-??+-", "-??+-"),
    (RunEffect(script="if then"), "-???-", "-???-"),
    (RunEffect(script="eval $(cat script)"), "-???-", "-???-"),
    (ReadEffect(path=".env"), "-----", "-----"),
    (WriteEffect(path=".git/hooks/pre-commit"), "-----", "-----"),
    (RunEffect(script="pytest > .git/config"), "-----", "-----"),
    (RunEffect(script="rm -rf ~"), "-----", "-----"),
    (RunEffect(script="rm -rf /"), "-----", "-----"),
    (RunEffect(script="cd .. && rm -rf timesheet"), "-----", "-----"),
    (RunEffect(script="make && rm -rf ."), "-----", "-----"),
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
        facts = PolicyFacts(WORKSPACE, policy, sandboxed=True, workspace_programs=frozenset({name}))
        found = RulePolicy().decide("some_tool", (RunEffect(script=line),), facts)
        assert found.verdict == SHORT[mark], policy
        if found.verdict == "ask":
            assert found.reason == f"{name} is a program in this workspace"


def test_programs_that_a_line_starts_by_name_are_told() -> None:
    lines = (
        RunEffect(script="cd a; timeout 5 git log | ./head; xargs -r rg x; find . -exec wc {} +"),
        RunEffect(argv=("ls",)),
    )
    assert set(RulePolicy().started_programs(lines)) == {"timeout", "git", "xargs", "rg", "find", "wc", "ls"}


def test_a_delegate_that_only_reads_is_never_asked_about() -> None:
    found = judged(ReadEffect(path="src/entry.py"), "read-only-delegate", "ask read src/**")
    assert (found.verdict, found.choices) == ("deny", ())
    assert found.reason.endswith(NEVER_ASKS)
    assert judged(ReadEffect(path="src/entry.py"), "plan", "ask read src/**").verdict == "ask"


def test_no_rule_gives_a_delegate_that_only_reads_more() -> None:
    rules = ("allow edit **", "allow run pytest *", "allow exact pytest", "allow connect example.org")
    for effect in (WriteEffect(path="a"), RunEffect(script="pytest"), NetworkEffect(host="example.org")):
        assert judged(effect, "read-only-delegate", *rules).verdict == "deny"


def test_the_sandbox_lifts_no_rule() -> None:
    assert (
        judged(RunEffect(script="pytest"), "accept-edits", "ask run pytest *", sandboxed=True).verdict
        == "ask"
    )
    assert (
        judged(RunEffect(script="pytest"), "accept-edits", "deny run pytest *", sandboxed=True).verdict
        == "deny"
    )
    line = RunEffect(script="make > docs/out.md")
    assert judged(line, "accept-edits", sandboxed=True).verdict == "allow"
    assert judged(line, "accept-edits", "ask edit docs/**", sandboxed=True).verdict == "ask"
    assert judged(line, "bypass", "ask edit docs/**").verdict == "ask"


def test_a_command_that_names_secrets_is_asked_about_in_a_sandbox_too() -> None:
    assert judged(RunEffect(script="pytest --env-file .env"), "accept-edits", sandboxed=True).verdict == "ask"


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        ("ask edit src/**", WriteEffect(path="src/entry.py")),
        ("ask edit src/**", WriteEffect(path="src/entry.py", removes=True)),
        ("ask read /srv/**", ReadEffect(path="/srv/a")),
        ("ask connect example.org", NetworkEffect(host="example.org")),
        ("ask run make *", RunEffect(script="make")),
    ],
)
def test_a_rule_that_asks_lifts_nothing_that_plan_denies(rule: str, effect: Effect) -> None:
    assert judged(effect, "plan").verdict == "deny"
    assert judged(effect, "plan", rule).verdict == "deny"
    assert judged(effect, "ask", rule).verdict == "ask"
