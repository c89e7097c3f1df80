"""What each profile says about files, hosts and tools, and what no profile allows."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
    digest_effects,
)
from tui_agent.protocol.settings import POLICIES, PolicyName

WORKSPACE = "/home/ada/timesheet"


def facts(policy: PolicyName = "ask", **more: object) -> PolicyFacts:
    return PolicyFacts(WORKSPACE, policy, **more)  # type: ignore[arg-type]


def decide(effect: Effect, policy: PolicyName = "ask", *rules: str, **more: object) -> Decision:
    return RulePolicy(rules).decide("some_tool", (effect,), facts(policy, **more))


def verdicts(effect: Effect) -> list[str]:
    """In the order plan, ask, accept-edits, bypass."""
    return [decide(effect, policy).verdict for policy in POLICIES]


@rows(
    "effect, expected",
    [
        (InternalEffect(subject="todos"), "allow allow allow allow"),
        (ReadEffect(path="src/a.py"), "allow allow allow allow"),
        (ReadEffect(path=".", recursive=True), "allow allow allow allow"),
        (ReadEffect(path=f"{WORKSPACE}/src/a.py"), "allow allow allow allow"),
        (ReadEffect(path="/etc/hosts"), "deny ask ask allow"),
        (ReadEffect(path="../other/a.py"), "deny ask ask allow"),
        (ReadEffect(path="/home/ada/timesheet-old/a.py"), "deny ask ask allow"),
        (WriteEffect(path="src/a.py"), "deny ask allow allow"),
        (WriteEffect(path="new.py", creates=True), "deny ask allow allow"),
        (WriteEffect(path="src/a.py", removes=True), "deny ask ask allow"),
        (WriteEffect(path="../other/a.py"), "deny ask ask allow"),
        (WriteEffect(path="/tmp/x"), "deny ask ask allow"),
        (WriteEffect(path="/etc/hosts"), "deny deny deny deny"),
        (WriteEffect(path="/usr/bin/ls"), "deny deny deny deny"),
        (WriteEffect(path="/home/ada/.bashrc"), "deny deny deny deny"),
        (NetworkEffect(host="example.org"), "deny ask ask allow"),
        (RunEffect(argv=("ls", "-la")), "allow allow allow allow"),
        (RunEffect(script="git status"), "allow allow allow allow"),
        (RunEffect(script="pytest -q"), "deny ask ask allow"),
        (RunEffect(), "deny ask ask ask"),
    ],
)
def test_each_profile_says(effect: Effect, expected: str) -> None:
    assert " ".join(verdicts(effect)) == expected


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".ENV",
        "deploy/.env.production",
        "certs/server.pem",
        "id_rsa",
        "/home/ada/.ssh/config",
        "~/.aws/credentials",
        ".netrc",
        "credentials",
        "models.toml",
        "src/../.env",
        "/proc/self/environ",
        "/proc/1/environ",
    ],
)
def test_secrets_are_neither_read_nor_written_in_any_profile(path: str) -> None:
    assert set(verdicts(ReadEffect(path=path))) == {"deny"}
    assert set(verdicts(WriteEffect(path=path))) == {"deny"}


@pytest.mark.parametrize(
    "path", [".env.example", "id_ed25519.pub", "src/environment.py", "credentials/model.py"]
)
def test_look_alikes_are_no_secrets(path: str) -> None:
    assert decide(ReadEffect(path=path)).verdict == "allow"


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        "sub/.git/config",
        ".tui_agent/policy.toml",
        ".tui_agent/plugins/evil/__init__.py",
        ".mcp.json",
        "/home/ada/.config/tui-agent/config.toml",
    ],
)
def test_what_decides_what_runs_is_never_written(path: str) -> None:
    policy = RulePolicy(["allow edit **", f"allow edit {path}"], own=["/home/ada/.config/tui-agent"])
    for profile in POLICIES:
        assert policy.decide("write_file", (WriteEffect(path=path),), facts(profile)).verdict == "deny"


def test_a_fork_may_write_in_its_own_folder_below_its_session_and_nowhere_else_there() -> None:
    data = "/home/ada/.local/share/tui-agent/sessions"
    policy = RulePolicy(own=[data])
    own = PolicyFacts(f"{data}/ses_1/workspace", "accept-edits")
    assert policy.decide("write_file", (WriteEffect(path="a.py"),), own).verdict == "allow"
    for path in ("../events.jsonl", f"{data}/ses_2/workspace/a.py", f"{data}/ses_1/lock"):
        assert policy.decide("write_file", (WriteEffect(path=path),), own).verdict == "deny"
    elsewhere = PolicyFacts(f"{data}/ses_1", "bypass")
    assert policy.decide("write_file", (WriteEffect(path="events.jsonl"),), elsewhere).verdict == "deny"
    outside = PolicyFacts("/srv/app", "bypass")
    assert (
        policy.decide("write_file", (WriteEffect(path=f"{data}/ses_1/workspace/a.py"),), outside).verdict
        == "deny"
    )


def test_the_projects_notes_may_be_written_and_nothing_else_in_the_data_folder() -> None:
    data = "/home/ada/.local/share/tui-agent"
    policy = RulePolicy(own=[f"{data}/sessions"], notes=f"{data}/notes/app-1")
    facts = PolicyFacts("/srv/app", "ask")
    verdicts = {
        path: policy.decide("write_note", (WriteEffect(path=f"{data}/{path}"),), facts).verdict
        for path in (
            "notes/app-1/a.md",
            "notes/app-1/.git/config",
            "notes/b-2/a.md",
            "state.json",
            "notes/app-1/../x",
        )
    }
    assert verdicts == dict.fromkeys(verdicts, "deny") | {"notes/app-1/a.md": "ask"}


def test_files_of_the_version_control_may_be_read() -> None:
    assert decide(ReadEffect(path=".git/HEAD")).verdict == "allow"
    assert decide(WriteEffect(path=".gitignore"), "accept-edits").verdict == "allow"


def test_the_file_behind_a_link_decides() -> None:
    link = {"notes.txt": "/home/ada/.ssh/id_rsa", "out": "/etc"}
    assert decide(ReadEffect(path="notes.txt"), resolved=link).verdict == "deny"
    assert decide(ReadEffect(path="out"), resolved=link).verdict == "ask"
    assert decide(WriteEffect(path="out"), "accept-edits", resolved=link).verdict == "deny"


def test_the_given_name_counts_as_well_as_the_file_behind_it() -> None:
    assert decide(ReadEffect(path=".env"), resolved={".env": f"{WORKSPACE}/plain.txt"}).verdict == "deny"


def test_a_workspace_below_a_system_folder_is_still_a_workspace() -> None:
    there = PolicyFacts("/usr/src/app", "accept-edits")
    assert RulePolicy().decide("edit_file", (WriteEffect(path="a.py"),), there).verdict == "allow"


def test_the_strongest_effect_decides() -> None:
    effects = (ReadEffect(path="a"), WriteEffect(path="a"))
    assert RulePolicy().decide("edit_file", effects, facts("ask")).verdict == "ask"
    assert RulePolicy().decide("edit_file", (*effects, ReadEffect(path=".env")), facts()).verdict == "deny"


def test_no_effects_at_all_are_asked_about() -> None:
    assert RulePolicy().decide("mystery", (), facts("bypass")).verdict == "ask"


def test_a_tool_outside_the_allowed_ones_is_denied() -> None:
    found = decide(ReadEffect(path="a"), "bypass", allowed_tools=frozenset({"grep"}))
    assert (found.verdict, found.rule_id) == ("deny", "tools.not-allowed")
    assert decide(ReadEffect(path="a"), allowed_tools=frozenset({"some_tool"})).verdict == "allow"


def test_without_anyone_to_ask_a_question_is_a_no() -> None:
    found = decide(WriteEffect(path="a.py"), interactive=False)
    assert found.verdict == "deny"
    assert "no one is there to answer" in found.reason


def test_reasons_say_policy_and_cause() -> None:
    assert decide(WriteEffect(path="a.py")).reason == "policy ask requires approval for every write"
    assert decide(WriteEffect(path="a.py"), "plan").reason == "policy plan allows no writes"
    outside = decide(ReadEffect(path="/etc/hosts"))
    assert outside.default_no
    assert outside.risk.endswith(" is outside this workspace.")


def test_a_changed_call_has_another_digest() -> None:
    one = digest_effects("run_command", (RunEffect(script="ls"),))
    assert one == digest_effects("run_command", (RunEffect(script="ls"),))
    assert one != digest_effects("run_command", (RunEffect(script="ls "),))
    assert one != digest_effects("run_command", (RunEffect(argv=("ls",)),))
    assert one != digest_effects("run_command", (RunEffect(script="ls", cwd="src"),))


@pytest.mark.parametrize(
    ("rule", "policy", "verdict", "rule_id"),
    [
        ("ask connect x.org", "ask", "ask", "rule: ask connect x.org"),
        ("ask connect x.org", "bypass", "ask", "rule: ask connect x.org"),
        ("ask connect x.org", "plan", "deny", "plan.network"),
        ("deny connect x.org", "bypass", "deny", "rule: deny connect x.org"),
        ("deny connect x.org", "plan", "deny", "rule: deny connect x.org"),
    ],
)
def test_a_rule_about_a_host_is_heard_unless_the_profile_is_stricter(
    rule: str, policy: PolicyName, verdict: str, rule_id: str
) -> None:
    found = decide(NetworkEffect(host="x.org"), policy, rule)
    assert (found.verdict, found.rule_id) == (verdict, rule_id)


def test_the_classes_of_a_call_are_those_of_its_effects() -> None:
    assert (
        decide(ReadEffect(path="a")).classes == decide(InternalEffect(subject="a")).classes == ("read-only",)
    )
    assert decide(WriteEffect(path="a")).classes == ("workspace",)
    assert decide(NetworkEffect(host="x.org")).classes == ("network",)
