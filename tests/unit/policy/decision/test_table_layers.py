"""Tables of programs besides the product's: a user's may allow more, a project's or a plugin's only asks for more care."""

from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.rows import rows
from tui_agent.policy.catalog.catalog import Catalog, Layer, Origin
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import POLICIES, PolicyName

RANK = {"allow": 0, "ask": 1, "deny": 2}


def layer(origin: Origin, text: str) -> Layer:
    return Layer(origin, f"the {origin}'s programs.toml", text)


def judged(script: str, *layers: Layer, policy: PolicyName = "ask", sandboxed: bool = False) -> Decision:
    facts = PolicyFacts("/home/ada/ws", policy, sandboxed=sandboxed)
    return RulePolicy(catalog=Catalog(layers)).decide("run_command", (RunEffect(script=script),), facts)


SHOWLOG = """
about = "Shows a log."
effects = ["reads"]
operands = ["read..."]
reads_below = false
options = { "-n" = "number" }
"""
NEW = f"[programs.showlog]{SHOWLOG}"


@rows(
    "text, script, verdict",
    [
        (NEW, "showlog -n 5 app.log", "allow"),
        (NEW, "showlog -n 5 .env", "deny"),
        (NEW, "showlog --all app.log", "ask"),
        (NEW, "cat app.log | showlog | head", "allow"),
        ("", "showlog app.log", "ask"),
        ("[programs.ls]\nabout = 'Mine.'\nlike = 'ls'\neffects = ['connects']", "ls", "ask"),
        ("[programs.dir2]\nabout = 'As ls.'\nlike = 'ls'", "dir2 -la src", "allow"),
        ("[programs.git]\nabout = 'Mine.'\nlike = 'git'", "git status", "allow"),
        ("[environment]\nharmless = ['MY_WIDTH']", "MY_WIDTH=3 ls", "allow"),
        ("[environment]\nharmless = ['MY_WIDTH']", "MY_OTHER=3 ls", "ask"),
    ],
)
def test_a_users_table_adds_programs_and_stands_in_place_of_the_products(
    text: str, script: str, verdict: str
) -> None:
    assert judged(script, layer("user", text)).verdict == verdict


LOG_CONNECTS = "[programs.git.subcommands.log]\neffects = ['connects']"


@rows("origin", ["plugin", "project"])
def test_a_table_of_others_only_adds_effects_to_known_programs(origin: Origin) -> None:
    connects = layer(origin, "[programs.ls]\neffects = ['connects']")
    assert [judged(script, connects).verdict for script in ("ls -la", "/bin/ls -la", "wc a")] == [
        "ask",
        "ask",
        "allow",
    ]
    found = judged("git --no-pager log -3", layer(origin, LOG_CONNECTS))
    assert (found.verdict, found.classes) == ("ask", ("network",))
    assert judged("git status", layer(origin, LOG_CONNECTS)).verdict == "allow"
    assert judged("rm -r curl", layer(origin, "[programs.rm]\neffects = ['reads']")).verdict == "ask"
    confined = {"policy": "accept-edits", "sandboxed": True}
    assert judged("make test", **confined).verdict == "allow"  # type: ignore[arg-type]
    deploys = layer(origin, "[programs.make]\neffects = ['connects']")
    assert judged("make test", deploys, **confined).verdict == "ask"  # type: ignore[arg-type]
    assert [choice.offered for choice in judged("make test", deploys).choices] == [True, True, False]


def test_a_program_that_only_a_project_knows_stays_unknown() -> None:
    project = layer("project", "[programs.showlog]\neffects = ['reads']")
    assert judged("showlog app.log", project).reason == "it is not known what showlog does"


def test_a_plugins_new_program_counts_until_another_table_adds_an_effect() -> None:
    plugin = layer("plugin", NEW)
    assert judged("showlog app.log", plugin).verdict == "allow"
    for other in ("plugin", "project"):
        more = layer(other, "[programs.showlog]\neffects = ['connects']")
        assert judged("showlog app.log", plugin, more).verdict == "ask"


LINES = ["ls -l x", "git log x", "rm -r x", "pytest -q | ls", "showlog x", "git $X", "xargs ls", "ls; rm x"]


@given(
    st.sampled_from(["ls", "git", "rm", "pytest", "showlog", "xargs"]),
    st.sets(st.sampled_from(list(Effect))),
    st.sampled_from(LINES),
    st.sampled_from(POLICIES),
    st.booleans(),
)
def test_no_project_ever_loosens_a_decision(
    name: str, effects: set[Effect], script: str, policy: PolicyName, sandboxed: bool
) -> None:
    project = layer("project", f"[programs.{name}]\neffects = {[str(effect) for effect in effects]}")
    before = judged(script, policy=policy, sandboxed=sandboxed)
    after = judged(script, project, policy=policy, sandboxed=sandboxed)
    assert RANK[after.verdict] >= RANK[before.verdict]
    if before.verdict == after.verdict == "ask":
        assert before.choices[2].offered or not after.choices[2].offered
