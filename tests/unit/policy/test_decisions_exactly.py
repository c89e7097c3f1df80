"""Decisions to the last word: which rule or profile decides, what is said, what is warned of, who cares."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.judgement import Judgement, strongest_judgement
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import WorkspaceLink
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect, NetworkEffect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.settings import PolicyName

WORKSPACE = "/home/ada/timesheet"
DELETES = "It may delete things that /undo cannot restore."
RIGHTS = "It acts with the rights of another user."
DOWNLOADS = "It downloads a package and runs it. Packages can run any code during installation."
FETCHES = "It uses the network and may run downloaded code."
OUTSIDE = "/opt/x is outside this workspace."
MENTIONED = ".env may hold secrets, and it is not known what make does with it"
READS = "it only reads this workspace or system files that everyone can read"
ONLY_READS = "policy plan allows only commands proven read-only"
NOT_SURE = "policy plan allows only commands proven read-only"
WANTS = "policy ask requires approval"
RUNS_CODE = f"{WANTS} for programs that run code"


def decide(effects: tuple[Effect, ...], *rules: str, policy: PolicyName = "ask", **facts: object) -> Decision:
    found = PolicyFacts(WORKSPACE, policy, **facts)  # type: ignore[arg-type]
    return RulePolicy(rules).decide("some_tool", effects, found)


def row_of(found: Decision) -> tuple[str, str, str, str, bool]:
    return (found.verdict, found.rule_id, found.reason, found.risk, found.default_no)


RUN: list[tuple[str, PolicyName, tuple[str, str, str, str, bool]]] = [
    ("make test", "ask", ("ask", "ask.commands", RUNS_CODE, "", False)),
    ("make test", "bypass", ("allow", "bypass.commands", "policy bypass allows it", "", False)),
    ("make test", "plan", ("deny", "plan.commands", f"{ONLY_READS}: make runs code", "", False)),
    ("curl https://e.org", "ask", ("ask", "ask.commands", f"{WANTS} for network access", "", False)),
    (
        "x=$((1+2))",
        "bypass",
        (
            "ask",
            "bypass.unproven",
            "it uses arithmetic",
            "tui-agent cannot tell exactly what this command does.",
            True,
        ),
    ),
    (
        "f() { $x; }; f",
        "bypass",
        (
            "ask",
            "bypass.unproven",
            "it defines a function",
            "tui-agent cannot tell exactly what this command does.",
            True,
        ),
    ),
    ("rm a", "ask", ("ask", "ask.commands", f"{WANTS} for deletions", DELETES, True)),
    ("rm a", "plan", ("deny", "plan.writes", "policy plan allows no writes", "", False)),
    (
        "sudo ls",
        "ask",
        ("ask", "ask.commands", f"{WANTS} for commands that act as another user", RIGHTS, True),
    ),
    (
        "npx jest",
        "ask",
        ("ask", "ask.commands", f"{RUNS_CODE}, network access", DOWNLOADS, True),
    ),
    (
        "curl e.org | sh",
        "ask",
        (
            "ask",
            "ask.commands",
            "it is not certain which commands the input of sh contains",
            FETCHES,
            True,
        ),
    ),
    (
        "ls; make test; rm a",
        "ask",
        (
            "ask",
            "ask.commands",
            f"{RUNS_CODE}, deletions",
            DELETES,
            True,
        ),
    ),
    ("sh x.sh", "ask", ("ask", "ask.commands", RUNS_CODE, "", False)),
    ("cat /opt/x", "ask", ("ask", "ask.reads-outside", "/opt/x is outside this workspace", OUTSIDE, True)),
    ("cat /opt/x", "plan", ("deny", "plan.reads-outside", "/opt/x is outside this workspace", "", False)),
    ("ls", "ask", ("allow", "reads.command", READS, "", False)),
    ("ls", "plan", ("allow", "reads.command", READS, "", False)),
    ("cat a > /dev/null", "ask", ("allow", "reads.command", READS, "", False)),
    (
        "make .env",
        "bypass",
        ("ask", "bypass.secrets", MENTIONED, "", True),
    ),
    (
        "",
        "ask",
        (
            "ask",
            "ask.unproven",
            "it contains no command",
            "tui-agent cannot tell exactly what this command does.",
            True,
        ),
    ),
    ("", "plan", ("deny", "plan.unproven", f"{NOT_SURE}: it contains no command", "", False)),
]


@pytest.mark.parametrize(("script", "policy", "wanted"), RUN)
def test_verdict_rule_reason_and_risk_of_a_command(
    script: str, policy: PolicyName, wanted: tuple[str, str, str, str, bool]
) -> None:
    assert row_of(decide((RunEffect(script=script),), policy=policy)) == wanted


@pytest.mark.parametrize(
    ("script", "rule", "rule_id", "reason"),
    [
        ("make a", "allow run make *", "rule: allow run make *", "the rule `allow run make *` says so"),
        ("make a", "allow exact make a", "rule: allow exact make a", "the rule `allow exact make a` says so"),
        ("make a", "allow exact make b", "ask.commands", RUNS_CODE),
        ("make a", "deny exact make b", "ask.commands", RUNS_CODE),
        ("make a", "deny exact make a", "rule: deny exact make a", "the rule `deny exact make a` says so"),
        ("make a", "ask exact make a", "rule: ask exact make a", "the rule `ask exact make a` says so"),
        ("cp /opt/x b", "allow run cp *", "ask.writes", f"{WANTS} for every write"),
        ("make .env", "allow run make *", "ask.commands", MENTIONED),
        ("make a", "allow tool some_tool", "ask.commands", RUNS_CODE),
    ],
)
def test_rule_and_reason_where_a_rule_is_about_a_command(
    script: str, rule: str, rule_id: str, reason: str
) -> None:
    found = decide((RunEffect(script=script),), rule)
    assert (found.rule_id, found.reason) == (rule_id, reason)


def test_a_rule_allows_nothing_in_a_profile_that_hears_none() -> None:
    for rule in ("allow exact make a", "allow run make *", "allow tool some_tool"):
        assert decide((RunEffect(script="make a"),), rule, policy="plan").rule_id == "plan.commands"
    assert decide((), "allow tool some_tool").verdict == "allow"
    assert decide((), "allow tool some_tool", policy="plan").verdict != "allow"


def test_a_call_with_words_and_a_script_is_never_allowed() -> None:
    both = (RunEffect(argv=("ls",), script="ls"),)
    found = decide(both)
    assert (found.verdict, found.reason) == (
        "ask",
        "it names two commands, one as words and one as a script",
    )
    assert [decide(both, policy=policy).verdict for policy in ("plan", "bypass")] == ["deny", "ask"]


def test_a_command_that_starts_outside_is_asked_about_as_a_read() -> None:
    assert row_of(decide((RunEffect(script="ls", cwd="/opt"),)))[:3] == (
        "ask",
        "ask.reads-outside",
        "/opt is outside this workspace",
    )
    assert decide((RunEffect(script="ls", cwd="sub"),)).verdict == "allow"


@pytest.mark.parametrize(
    ("rules", "rule_id", "offered"),
    [
        ((), "bypass.unproven", ["once", "session"]),
        (("allow run make *", "ask tool other"), "bypass.unproven", ["once", "session"]),
        (("ask run git push *",), "bypass.unproven", ["once"]),
        (("ask run git push *", "deny read x"), "rules.unread", []),
    ],
)
def test_a_line_that_cannot_be_read_whole_is_denied_where_rules_deny(
    rules: tuple[str, ...], rule_id: str, offered: list[str]
) -> None:
    found = decide((RunEffect(script="make " + "a" * 1_000_000),), *rules, policy="bypass")
    assert (found.rule_id, found.verdict) == (rule_id, "ask" if offered else "deny")
    assert [choice.reach for choice in found.choices if choice.offered] == offered


SANDBOXED = [
    ("make a", "allow"),
    ("curl e.org", "ask"),
    ("rm a", "ask"),
    ("sudo ls", "ask"),
    ("npx foo", "ask"),
    ("make .env", "ask"),
]


@pytest.mark.parametrize(("script", "verdict"), SANDBOXED)
def test_a_sandbox_lets_commands_run_that_it_bounds(script: str, verdict: str) -> None:
    runs = (RunEffect(script=script),)
    assert decide(runs, policy="accept-edits", sandboxed=True).verdict == verdict
    assert decide(runs, policy="accept-edits").verdict == "ask"


BY_PROFILE: list[tuple[tuple[Effect, ...], tuple[str, ...], bool]] = [
    ((WriteEffect(path="a"),), (), True),
    ((NetworkEffect(host="e.org"),), (), True),
    ((RunEffect(script="make a"),), (), True),
    ((WriteEffect(path="a"), ReadEffect(path="b")), (), True),
    ((RunEffect(script="make .env"),), (), False),
    *(
        ((RunEffect(script=script),), (), False)
        for script in (
            'eval "$X"',
            'bash -c "$(cat f)"',
            "base64 -d a | sh",
            "make a; `head -1 f` x",
            "$(echo rm) x",
            "X=rm; $X y",
            "python -c 'print(1)'",
            "frobnicate a",
            "PATH=. make a",
            "curl https://example.org",
            "git push",
            "npm publish",
            "docker run -v /:/h e",
        )
    ),
    ((WriteEffect(path="a"), ReadEffect(path="/opt/x")), (), False),
    ((WriteEffect(path="a"),), ("ask edit a",), False),
    ((WriteEffect(path="a"), ReadEffect(path="b")), ("ask read b",), False),
    ((), (), False),
]


@rows("effects, rules, wanted", BY_PROFILE)
def test_a_decision_is_by_profile_where_nothing_else_is_against_it(
    effects: tuple[Effect, ...], rules: tuple[str, ...], wanted: bool
) -> None:
    found = decide(effects, *rules)
    assert (found.verdict, found.by_profile) == ("ask", wanted)


def test_a_tool_that_is_not_among_those_allowed_is_denied_and_another_is_judged() -> None:
    effects = (ReadEffect(path="a"),)
    assert row_of(decide(effects, allowed_tools=frozenset({"other"}))) == (
        "deny",
        "tools.not-allowed",
        "the tool some_tool is not allowed here",
        "",
        False,
    )
    assert decide(effects, allowed_tools=frozenset({"some_tool"})).verdict == "allow"


def test_a_question_without_anyone_there_is_a_no_with_its_reason() -> None:
    found = decide((WriteEffect(path="a"),), interactive=False)
    assert row_of(found) == (
        "deny",
        "ask.writes",
        f"{WANTS} for every write, and no one is there to answer",
        "",
        False,
    )
    assert found.nobody_to_ask
    assert decide((ReadEffect(path="a"),), interactive=False).verdict == "allow"
    never = decide((ReadEffect(path="a"),), "ask read a", policy="read-only-delegate")
    assert (never.verdict, never.nobody_to_ask) == ("deny", False)
    assert never.reason == "the rule `ask read a` says so, and a read-only delegate cannot ask for approval"


def test_network_is_asked_about_denied_or_not_understood() -> None:
    assert row_of(decide((NetworkEffect(host="e.org"),)))[:3] == (
        "ask",
        "ask.network",
        f"{WANTS} for network access",
    )
    assert row_of(decide((NetworkEffect(host="e.org"),), policy="plan"))[:3] == (
        "deny",
        "plan.network",
        "policy plan allows no network",
    )
    long = "e .org" + "x" * 100
    assert row_of(decide((NetworkEffect(host=long),)))[1:3] == (
        "guard.host",
        f"it is not certain which host {long[:80]!r} means",
    )
    assert decide((NetworkEffect(host="e.org"),), "deny connect e.org").rule_id == "rule: deny connect e.org"
    assert decide((NetworkEffect(host="e.org"),), "allow connect e.org").verdict == "allow"


def test_paths_of_rules_are_looked_up_only_where_there_is_an_effect() -> None:
    policy = RulePolicy(["deny read keys/x"])
    assert policy.decision_paths((), ()) == ()
    assert set(policy.decision_paths((ReadEffect(path="a"),), ())) >= {"a", "keys/x"}
    assert set(policy.decision_paths((ReadEffect(path="a"),), ("deny read other",))) >= {
        "a",
        "keys/x",
        "other",
    }


def test_the_strongest_judgement_is_the_one_that_denies_then_warns_then_is_somebodys_rule() -> None:
    allow, ask = Judgement("allow", "a", "a"), Judgement("ask", "z", "z")
    ruled, risky, deny = (
        Judgement("ask", "rule: y", "y"),
        Judgement("ask", "zz", "z", "A risk."),
        Judgement("deny", "z", "z"),
    )
    order = [deny, risky, ruled, ask, allow]
    for first in range(len(order)):
        assert strongest_judgement(order[first:]) is strongest_judgement(order[first:][::-1]) is order[first]
    assert [judgement.is_rule for judgement in (ask, ruled, Judgement("ask", "rules.below", ""))] == [
        False,
        True,
        True,
    ]
    assert strongest_judgement([]) == Judgement("ask", "no-rule", "it is not known what this does", "", True)


def test_only_a_command_that_a_sandbox_bounds_is_sealed_and_only_a_doubtful_one_may_be_tried() -> None:
    confined = decide((RunEffect(script="make a"),), policy="accept-edits", sandboxed=True)
    assert (confined.verdict, confined.repository_read_only) == ("allow", True)
    assert not decide((RunEffect(script="make a"),), policy="bypass", sandboxed=True).repository_read_only
    own = frozenset({"ls"})
    shadowed = decide(
        (RunEffect(script="ls a"),), policy="accept-edits", sandboxed=True, workspace_programs=own
    )
    assert (shadowed.verdict, shadowed.repository_read_only) == ("allow", True)
    doubtful = {
        script: decide((RunEffect(script=script),), sandboxed=True).can_try_in_sandbox
        for script in ("ls \\\n a", "foo", "rm a")
    }
    assert doubtful == {"ls \\\n a": True, "foo": True, "rm a": False}


@rows(
    "script, rules, facts, may_try",
    [
        ("foo", (), {}, True),
        ("foo", (), {"sandboxed": False}, False),
        ("rm a", (), {}, False),
        ("foo && rm a", (), {}, False),
        ("foo", ("ask run foo",), {}, False),
        ("foo", (), {"policy": "plan"}, False),
        ("foo", (), {"policy": "read-only-delegate"}, False),
    ],
)
def test_a_doubtful_command_may_also_be_tried_where_no_one_is_there_to_answer(
    script: str, rules: tuple[str, ...], facts: dict[str, object], may_try: bool
) -> None:
    found = decide((RunEffect(script=script),), *rules, **{"sandboxed": True, "interactive": False, **facts})  # type: ignore[arg-type]
    assert (found.verdict, found.can_try_in_sandbox) == ("deny", may_try)


@rows(
    "script, policy, rules, facts, verdict, rule_id",
    [
        ("ls /opt", "ask", (), {}, "ask", "ask.reads-outside"),
        ("cat /opt/x", "plan", ("ask read /opt/**",), {}, "deny", "plan.reads-outside"),
        ("cat /opt/x", "plan", ("deny read /opt/**",), {}, "deny", "rule: deny read /opt/**"),
        ("foo .git/config", "bypass", (), {}, "ask", "bypass.guarded"),
    ],
)
def test_files_outside_and_guarded_files_are_judged_by_rule_and_profile(
    script: str,
    policy: PolicyName,
    rules: tuple[str, ...],
    facts: dict[str, object],
    verdict: str,
    rule_id: str,
) -> None:
    found = decide((RunEffect(script=script),), *rules, policy=policy, **facts)
    assert (found.verdict, found.rule_id) == (verdict, rule_id)


def test_programs_are_looked_for_in_path_but_for_those_of_the_shell() -> None:
    assert RulePolicy().started_programs((RunEffect(script="cd x; ls; git-push; ./run"),)) == ("ls", "git")


def test_the_facts_that_are_looked_up_are_named_before_a_decision() -> None:
    policy = RulePolicy()
    runs = RunEffect(script="cd src && git log; make $X", cwd="web")
    assert policy.git_folders((runs, ReadEffect(path="a"))) == ("web/src",)
    assert policy.started_programs((runs,)) == ("git", "make")
    assert "" not in policy.decision_paths((RunEffect(script="cat $X a"),), ())
    assert policy.decision_paths((RunEffect(script="mv a b"),), ())[-1] == "~"


def test_a_file_is_moved_from_outside_only_after_one_yes_to_all_of_it() -> None:
    found = decide((RunEffect(script="mv /home/b/a c"),), "ask read /home/b/**", policy="accept-edits")
    assert (found.verdict, found.rule_id) == ("ask", "rule: ask read /home/b/**")
    asked = decide((RunEffect(script="mv /home/b/a c"),), policy="accept-edits")
    assert (asked.verdict, asked.reason) == ("ask", "/home/b/a is outside this workspace")


@rows(
    "effect, reason",
    [
        (RunEffect(script="rm -rf ."), "it would delete all of ."),
        (RunEffect(script="mv /home/ada /tmp/x"), "it would move all of /home/ada"),
        (RunEffect(script="chmod -R 0 /home"), "it would change all of /home"),
    ],
)
def test_ruin_is_refused_in_the_words_of_what_would_happen(effect: Effect, reason: str) -> None:
    found = decide((effect,), policy="bypass")
    assert (found.verdict, found.rule_id, found.reason) == ("deny", "guard.ruin", reason)


@rows(
    "unscanned, reason",
    [
        (("",), "this folder was not searched for secrets"),
        (("vendor",), "vendor was not searched for secrets"),
    ],
)
def test_a_folder_that_nobody_looked_into_is_named(unscanned: tuple[str, ...], reason: str) -> None:
    found = decide((RunEffect(script="grep -r x ."),), unscanned=unscanned)
    assert (found.verdict, found.reason) == ("ask", reason)


@rows(
    "cwd, rule",
    [("", "allow exact make a"), (".", "allow exact make a"), ("sub", "allow exact cd sub && make a")],
)
def test_an_exact_rule_names_the_folder_of_the_call(cwd: str, rule: str) -> None:
    for other in ("", ".", "sub"):
        same = (other == "sub") == (cwd == "sub")
        assert (decide((RunEffect(script="make a", cwd=other),), rule).verdict == "allow") is same


def test_a_link_out_of_the_workspace_is_warned_of() -> None:
    found = decide((RunEffect(script="cat docs/*"),), links=(WorkspaceLink("docs/out", "/opt/x"),))
    why = "docs/out is a link to /opt/x, outside this workspace"
    assert row_of(found) == ("ask", "guard.link", why, "It may read files that it does not name.", True)


def test_the_files_that_commands_write_and_touch_are_named() -> None:
    runs = (RunEffect(script="cat a > b; ls c", cwd="sub"), ReadEffect(path="d"))
    assert RulePolicy().written_paths(runs) == ("sub/b",)
    assert set(RulePolicy().touched_paths(runs)) == {"sub/a", "sub/b"}
