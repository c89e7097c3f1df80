"""Deny wins over ask, ask over allow, in every order and from every source, whatever the profile becomes meanwhile."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_file import bound_rule
from tui_agent.policy.rules.grammar import parse_rule
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Effect, NetworkEffect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.settings import POLICIES, PolicyName

CASES: list[tuple[Effect, tuple[str, ...]]] = [
    (
        WriteEffect(path="src/a.py"),
        ("edit src/**", "edit src/a.py", "edit **", "tool edit_file", "edit s*/a.*"),
    ),
    (WriteEffect(path="src/a.py", removes=True), ("remove src/**", "remove src/a.py", "remove **/a.py")),
    (
        ReadEffect(path="src/a.py"),
        ("read src/**", "read src/a.py", "tool edit_file", "read /home/ada/ws/src/a.py"),
    ),
    (ReadEffect(path="/srv/x"), ("read /srv/**", "read /srv/x")),
    (
        NetworkEffect(host="Docs.Example.org."),
        ("connect *.example.org", "connect docs.example.org", "tool edit_*"),
    ),
    (
        RunEffect(script="git -C sub push origin"),
        ("run git *", "run git -C sub push *", "exact git -C sub push origin"),
    ),
    (
        RunEffect(script="pytest -q; ls"),
        ("run pytest *", "run pytest -q", "exact pytest -q; ls", "run ls", "run ls *"),
    ),
    (
        RunEffect(argv=("npm", "run", "test", "a b")),
        ("run npm *", "run npm run test *", "exact npm run test 'a b'"),
    ),
    (RunEffect(script="cat src/a.py > docs/b"), ("edit docs/**", "read src/**", "run cat *")),
]
SOURCES = st.sampled_from(["user", "project", "session"])
RANK = {"deny": 0, "ask": 1, "allow": 2}


@st.composite
def rulings(draw: st.DrawFn) -> tuple[Effect, list[tuple[str, str]]]:
    """An effect, and rules that all mean it, each from somewhere."""
    effect, rests = draw(st.sampled_from(CASES))
    rule = st.tuples(st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(rests))
    found = draw(st.lists(st.tuples(rule, SOURCES), min_size=1, max_size=6))
    return effect, [(f"{verdict} {rest}", source) for (verdict, rest), source in found]


def judged(
    effect: Effect, rules: list[tuple[str, str]], policy: PolicyName, *, sandboxed: bool = False
) -> str:
    own = [parse_rule(text) for text, source in rules if source == "user"]
    for text, source in rules:
        if source == "project":
            rule = parse_rule(text)
            reaches = rule.verdict != "allow" or (
                rule.kind in ("run", "edit", "read") and rule.rest[0] != "/"
            )
            own.append(bound_rule(rule) if reaches else parse_rule(f"ask {rule.kind} {rule.rest}"))
    granted = tuple(text for text, source in rules if source == "session")
    facts = PolicyFacts("/home/ada/ws", policy, session_rules=granted, sandboxed=sandboxed)
    return RulePolicy(own).decide("edit_file", (effect,), facts).verdict


@settings(max_examples=example_count(500))
@given(rulings(), st.sampled_from(POLICIES), st.booleans(), st.randoms())
def test_deny_wins_and_ask_wins_over_allow_in_any_order(
    ruling: tuple[Effect, list[tuple[str, str]]], policy: PolicyName, sandboxed: bool, random: object
) -> None:
    effect, rules = ruling
    found = judged(effect, rules, policy, sandboxed=sandboxed)
    verdicts = {text.split()[0] for text, _ in rules}
    if "deny" in verdicts:
        assert found == "deny"
    elif "ask" in verdicts:
        assert found != "allow"
    shuffled = list(rules)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert judged(effect, shuffled, policy, sandboxed=sandboxed) == found


@settings(max_examples=example_count(500))
@given(rulings(), st.sampled_from(POLICIES), st.sampled_from(["deny", "ask"]), SOURCES)
def test_one_more_rule_that_denies_or_asks_never_loosens(
    ruling: tuple[Effect, list[tuple[str, str]]], policy: PolicyName, verdict: str, source: str
) -> None:
    effect, rules = ruling
    rest = rules[0][0].partition(" ")[2]
    before, after = (
        judged(effect, rules, policy),
        judged(effect, [*rules, (f"{verdict} {rest}", source)], policy),
    )
    assert RANK[after] <= RANK[before]
    assert RANK[after] <= RANK[verdict]


@settings(max_examples=example_count(300))
@given(rulings())
def test_plan_and_a_reading_delegate_are_never_looser_than_the_others(
    ruling: tuple[Effect, list[tuple[str, str]]],
) -> None:
    effect, rules = ruling
    found = [judged(effect, rules, policy) for policy in POLICIES]
    assert RANK[found[0]] <= min(RANK[verdict] for verdict in found[1:])
    delegate = judged(effect, rules, "read-only-delegate")
    assert delegate != "ask" and (delegate == "deny" or found[0] == "allow")
