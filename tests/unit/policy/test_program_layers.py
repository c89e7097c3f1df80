"""Tables of programs besides the product's: whose may loosen, whose only tighten, and how a fault is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.errors import ConfigError
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.programs.layers import By, ProgramLayer, merged, user_layer
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.settings import PolicyName

RANK = {"allow": 0, "ask": 1, "deny": 2}


def layer(by: By, text: str) -> ProgramLayer:
    return ProgramLayer(by, f"the {by}'s programs.toml", text)


def judged(
    script: str, *layers: ProgramLayer, policy: PolicyName = "ask", rules: tuple[str, ...] = ()
) -> Decision:
    facts = PolicyFacts("/home/ada/ws", policy)
    return RulePolicy(rules, programs=merged(layers)).decide("run_command", (Runs(script=script),), facts)


def test_the_users_table_tells_of_new_programs_and_stands_in_place_of_the_products() -> None:
    own = layer("user", "[programs.showlog]\ndoes = 'read-only'\noperands = 'read'\noptions = '-n:'")
    assert judged("showlog -n 5 app.log", own).verdict == "allow"
    assert judged("showlog -n 5 .env", own).verdict == "deny"
    assert judged("showlog --all app.log", own).verdict == "ask"
    assert judged("showlog app.log").verdict == "ask"
    assert judged("ls", layer("user", "[programs.ls]\nlike = 'ls'\ndoes = 'arbitrary'")).verdict == "ask"
    assert judged("ls -la src", layer("user", "[programs.dir2]\nlike = 'ls'")).verdict == "allow"
    safe = layer("user", "[environment]\nsafe = ['MY_WIDTH']")
    assert (judged("MY_WIDTH=3 ls", safe).verdict, judged("MY_WIDTH=3 ls").verdict) == ("allow", "ask")


def test_an_entry_that_is_like_itself_is_the_products_with_its_own_keys() -> None:
    own = layer("user", "[programs.git]\nlike = 'git'\nkeeps = 0")
    assert judged("git status", own).verdict == "allow"
    assert judged("git push", own).verdict == "ask"


@pytest.mark.parametrize("by", ["plugin", "project"])
def test_what_others_say_of_a_known_program_only_adds_caution(by: By) -> None:
    assert judged("ls -la", layer(by, "[programs.ls]\ndoes = 'network'")).verdict == "ask"
    assert judged("/bin/ls -la", layer(by, "[programs.ls]\ndoes = 'network'")).verdict == "ask"
    found = judged("git log -3", layer(by, "[programs.git.subs.log]\ndoes = 'network'"))
    assert found.verdict == "ask" and "network" in found.classes
    assert (
        judged("git --no-pager log", layer(by, "[programs.git.subs.log]\ndoes = 'network'")).verdict == "ask"
    )
    assert judged("git status", layer(by, "[programs.git.subs.log]\ndoes = 'network'")).verdict == "allow"
    assert judged("ls -R", layer(by, "[programs.ls]\nturns = { '-R' = 'destructive' }")).verdict == "ask"
    assert judged("ls -l", layer(by, "[programs.ls]\nturns = { '-R' = 'destructive' }")).verdict == "allow"
    assert judged("rm -r curl", layer(by, "[programs.rm]\ndoes = 'read-only'")).verdict == "ask"
    wipes = (
        layer(by, "[programs.wipe]\nruin = 'always'")
        if by == "project"
        else layer(by, "[programs.ls]\nruin = 'always'")
    )
    assert judged("wipe x" if by == "project" else "ls", wipes, policy="bypass").verdict == "deny"
    kept = layer(by, "[programs.pytest]\nkeeps = 0")
    assert [choice.offered for choice in judged("pytest -q", kept).choices] == [True, True, False]


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("project", "[programs.newtool]\ndoes = 'read-only'\noptions = '-a'"),
        ("project", "[programs.rm]\noperands = 'look'"),
        ("project", "[programs.pytest]\nkeeps = 2"),
        ("project", "[programs.git.subs.push]\nother = 'read-only'"),
        ("plugin", "[programs.curl]\nlike = 'ls'"),
        ("plugin", "[programs.sudo]\nwraps = 0"),
        ("plugin", "[environment]\nsafe = ['LD_PRELOAD']"),
        ("project", "[environment]\nsafe = ['LD_PRELOAD']"),
    ],
)
def test_what_could_loosen_is_refused_with_its_place(by: By, text: str) -> None:
    with pytest.raises(ConfigError, match=f"the {by}'s programs.toml"):
        merged([layer(by, text)])


def test_a_project_that_calls_an_unknown_program_harmless_leaves_it_unknown() -> None:
    assert judged("newtool x", layer("project", "[programs.newtool]\ndoes = 'read-only'")).verdict == "ask"


def test_a_plugins_new_program_counts_and_a_second_plugin_only_adds_caution() -> None:
    one = layer("plugin", "[programs.newtool]\ndoes = 'read-only'\noperands = 'read'")
    assert judged("newtool x", one).verdict == "allow"
    assert (
        judged("newtool x", one, layer("plugin", "[programs.newtool]\ndoes = 'workspace'")).verdict == "ask"
    )
    assert judged("newtool x", one, layer("project", "[programs.newtool]\ndoes = 'network'")).verdict == "ask"


def test_the_users_word_stands_over_a_plugins() -> None:
    told = layer("plugin", "[programs.ls]\ndoes = 'network'")
    assert judged("ls", told, layer("user", "[programs.ls]\nlike = 'ls'")).verdict == "allow"
    assert judged("ls", layer("user", "[programs.ls]\nlike = 'ls'"), told).verdict == "allow"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[programs", "is no TOML"),
        ("x = 1", "unknown keys: x"),
        ("programs = 3", "unknown keys"),
        ("[programs.a]\ndoes = 'magic'", "programs.a: 'magic' is no class"),
        ("[programs.a]\ndoes = 3", "programs.a: does must be a text"),
        ("[programs.a]\nkeeps = true", "programs.a: keeps must be a number"),
        ("[programs.a]\nforbid = 'x'", "programs.a: forbid must be a list of texts"),
        ("[programs.a]\nforbid = [1]", "programs.a: forbid must be a list of texts"),
        ("[programs.a]\ndoos = 'x'", "programs.a: unknown keys: doos"),
        ("[programs.a]\noperands = 'all'", "operands must be one of text, none"),
        ("[programs.a]\nlike = 'nothing-there'", "programs.a: like nothing-there: there is no such entry"),
        ("[programs.a]\nlike = 'a'", "there is no such entry"),
        ("[programs.a.subs.b]\ndoes = 'bad'", "programs.a b: 'bad' is no class"),
        ("[programs.a]\nturns = { '-x' = 'bad' }", "programs.a: 'bad' is no class"),
        ("[programs.a]\noptions = 'x'", "programs.a: 'x' is no option"),
        ("[programs]\na = 3", "programs.a: it is no table"),
        ("[environment]\nsafe = 3", "one list of texts"),
    ],
)
def test_a_fault_in_a_table_is_named_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        merged([layer("user", text)])
    assert words in str(caught.value)
    assert str(caught.value).startswith("the user's programs.toml")


def test_no_file_is_no_layer(tmp_path: Path) -> None:
    assert user_layer(tmp_path / "programs.toml") is None


ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "does": st.sampled_from(
            ["read-only", "workspace", "network", "arbitrary", "destructive", "privilege"]
        ),
        "downloads": st.booleans(),
        "keeps": st.just(0),
        "turns": st.dictionaries(
            st.sampled_from(["-l", "-R", "log", "x"]), st.sampled_from(["read-only", "network"])
        ),
    },
)


@given(
    st.sampled_from(["ls", "git", "rm", "pytest", "unknown"]),
    ENTRY,
    st.sampled_from(
        ["ls -l x", "git log x", "rm -R x", "pytest -q | ls", "unknown x", "git $X", "xargs ls", "ls; rm x"]
    ),
    st.sampled_from(["plan", "ask", "accept-edits", "bypass"]),
)
def test_no_project_ever_loosens_a_decision(
    name: str, entry: dict[str, object], script: str, policy: PolicyName
) -> None:
    lines = [f"{key} = {_toml(value)}" for key, value in entry.items()]
    project = layer("project", f"[programs.{name}]\n" + "\n".join(lines))
    before, after = judged(script, policy=policy), judged(script, project, policy=policy)
    assert RANK[after.verdict] >= RANK[before.verdict]
    assert set(before.classes) - {"read-only"} <= set(after.classes)
    if before.verdict == after.verdict == "ask":
        assert before.choices[2].offered or not after.choices[2].offered


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r} = {item!r}" for key, item in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else repr(value)
