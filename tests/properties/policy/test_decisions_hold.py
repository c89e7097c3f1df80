"""The policy never raises, never changes its mind, and never allows what cannot be read."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import Refusal
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import (
    Effect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
    digest_effects,
)
from tui_agent.protocol.settings import POLICIES

PIECES = [
    "ls", "cat", "rm", "git", "-rf", "-la", "push", "a.py", ".env", "~", "/", "$X", "${X:-a}", "$(", ")", "`", "'", '"',
    "\\", "\n", ";", "&&", "||", "|", "&", ">", "<", "<<EOF\n", "EOF\n", "(", ")", "{", "}", "[[", "]]", "if", "then",
    "fi", "for", "in", "do", "done", "case", "esac", "*", "?", "#", "=", "x=1", " ", "\t", "é", "\0", "\u202e", "$((", "))",
]  # fmt: skip

SCRIPTS = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
)
PATHS = st.one_of(
    st.text(max_size=30), st.lists(st.sampled_from(["..", "a", "/", ".env", "~"]), max_size=6).map("/".join)
)
EFFECTS: st.SearchStrategy[Effect] = st.one_of(
    st.builds(lambda path, deep: ReadEffect(path=path, recursive=deep), PATHS, st.booleans()),
    st.builds(lambda path, removes: WriteEffect(path=path, removes=removes), PATHS, st.booleans()),
    st.builds(lambda host: NetworkEffect(host=host), st.text(max_size=20)),
    st.builds(
        lambda script, cwd: RunEffect(script=script, cwd=cwd), SCRIPTS, st.sampled_from(["", "src", "/etc"])
    ),
    st.builds(lambda argv: RunEffect(argv=tuple(argv)), st.lists(st.sampled_from(PIECES), max_size=6)),
)
FACTS = st.sampled_from(POLICIES)


def clean(effects: list[Effect]) -> tuple[Effect, ...]:
    return tuple(effects)


@settings(max_examples=example_count(400))
@given(st.lists(EFFECTS, max_size=3).map(clean), FACTS)
def test_any_call_gets_one_decision_whatever_the_order_of_rules(
    effects: tuple[Effect, ...], policy: str
) -> None:
    facts = PolicyFacts("/home/ada/ws", policy)  # type: ignore[arg-type]
    judge = RulePolicy(["allow edit src/**", "deny run git push *"])
    decision = judge.decide("some_tool", effects, facts)
    assert decision == RulePolicy(["deny run git push *", "allow edit src/**"]).decide(
        "some_tool", effects, facts
    )
    assert decision.verdict in ("allow", "ask", "deny")
    assert decision.reason
    assert bool(judge.explain("some_tool", effects, facts)) == bool(effects)
    judge.decision_paths(effects, ())


@settings(max_examples=example_count(400))
@given(SCRIPTS, FACTS)
def test_a_text_outside_the_subset_is_never_allowed_unasked(script: str, policy: str) -> None:
    if policy != "bypass" and isinstance(parse_script(script), Refusal):
        facts = PolicyFacts("/home/ada/ws", policy)  # type: ignore[arg-type]
        found = RulePolicy(["allow run ls *", "allow run cat *"]).decide(
            "t", (RunEffect(script=script),), facts
        )
        assert found.verdict != "allow"


@settings(max_examples=example_count(200))
@given(st.lists(EFFECTS, min_size=1, max_size=3).map(clean), FACTS)
def test_one_more_denied_effect_denies_the_call_in_any_place(
    effects: tuple[Effect, ...], policy: str
) -> None:
    facts = PolicyFacts("/home/ada/ws", policy)  # type: ignore[arg-type]
    secret = ReadEffect(path=".env")
    for mixed in ((*effects, secret), (secret, *effects)):
        assert RulePolicy().decide("some_tool", mixed, facts).verdict == "deny"


@given(st.lists(EFFECTS, min_size=1, max_size=3).map(clean), SCRIPTS)
def test_a_changed_call_has_another_digest(effects: tuple[Effect, ...], script: str) -> None:
    changed = (*effects[:-1], RunEffect(script=script + "x"))
    assert (digest_effects("t", effects) == digest_effects("t", changed)) == (effects == changed)


@given(st.lists(EFFECTS, min_size=1, max_size=2).map(clean))
def test_a_question_becomes_a_no_where_nobody_can_answer(effects: tuple[Effect, ...]) -> None:
    asked = RulePolicy().decide("t", effects, PolicyFacts("/home/ada/ws", "ask"))
    alone = RulePolicy().decide("t", effects, PolicyFacts("/home/ada/ws", "ask", interactive=False))
    assert alone.verdict == ("deny" if asked.verdict == "ask" else asked.verdict)
