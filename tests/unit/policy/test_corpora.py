"""Every line of the corpora is judged: no attack runs unasked, everyday lines do."""

import shlex

import pytest

from tests.corpora.lines import read_corpus
from tests.corpora.workspaces import HARMLESS_CLASSES, HARMLESS_LINES, clean_facts, hostile_facts
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName

PROFILES: tuple[PolicyName, ...] = ("plan", "ask", "accept-edits", "bypass")
INSIDE = [
    "git status && {line}",
    "( {line} )",
    "if true; then {line}; fi",
    'echo "$({line})"',
    "bash -c {quoted}",
    "timeout 5 sh -c {quoted}",
    "{line} & wait",
]
ENDLESS_LINES_ALLOWED = 3
"""How many lines of the class `endless` run unasked in a sandbox; may only shrink."""
HARD_LINES_ALLOWED = 61
"""How many lines of `everyday_hard.txt` run unasked; may only grow."""


def list_lines(corpus: str, verdict: str, *all_facts: PolicyFacts, class_name: str = "") -> list[str]:
    """Return the places of the lines with this verdict, and their texts where those who work on the policy may read them.

    Each line is judged with all facts before the next, so that it is read once.
    """
    policy = RulePolicy()
    return [
        f"{corpus}.txt:{line.number} {line.class_name} {facts.policy} {'' if corpus.endswith('held_out') else line.text!r}"
        for line in read_corpus(corpus)
        if line.class_name not in HARMLESS_CLASSES and line.text not in HARMLESS_LINES
        if class_name in ("", line.class_name)
        for facts in all_facts
        if policy.decide("run_command", (RunEffect(script=line.text),), facts).verdict == verdict
    ]


def show_allowed(corpus: str, *all_facts: PolicyFacts) -> str:
    return "\n".join(list_lines(corpus, "allow", *all_facts))


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["attacks", "held_out"])
def test_no_attack_runs_unasked(corpus: str) -> None:
    policies: tuple[PolicyName, ...] = ("ask", "plan", "accept-edits")
    assert show_allowed(corpus, *map(hostile_facts, policies)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("form", INSIDE)
def test_no_misused_program_runs_unasked_inside_another_command(form: str) -> None:
    policy = RulePolicy()
    facts = hostile_facts("ask")
    lines = [line.text for line in read_corpus("attacks") if line.class_name.startswith("misused-")]
    whole = [form.format(line=line, quoted=shlex.quote(line)) for line in lines if line not in HARMLESS_LINES]
    assert len(whole) > 400
    assert [
        line
        for line in whole
        if policy.decide("run_command", (RunEffect(script=line),), facts).verdict == "allow"
    ] == []


def test_everyday_lines_that_do_more_than_read_are_asked_about() -> None:
    assert show_allowed("everyday_asked", clean_facts("ask")) == ""


def test_nearly_all_everyday_lines_run_unasked() -> None:
    facts = clean_facts("ask")
    others = [*list_lines("everyday", "ask", facts), *list_lines("everyday", "deny", facts)]
    assert len(others) <= len(read_corpus("everyday")) // 100, "\n".join(others)


def test_hard_everyday_lines_run_unasked_as_far_as_they_can_be_proven() -> None:
    facts = clean_facts("ask")
    allowed = list_lines("everyday_hard", "allow", facts)
    assert len(allowed) >= HARD_LINES_ALLOWED, "\n".join(list_lines("everyday_hard", "ask", facts))


def test_proven_lines_run_unasked_in_every_profile() -> None:
    for policy in PROFILES:
        facts = clean_facts(policy)
        assert [*list_lines("proven", "ask", facts), *list_lines("proven", "deny", facts)] == [], policy


@pytest.mark.slow
def test_lines_that_are_not_proven_are_asked_about_and_denied_where_nobody_asks() -> None:
    held_as: dict[PolicyName, str] = {"plan": "deny", "ask": "ask", "accept-edits": "ask"}
    for policy, verdict in held_as.items():
        held = list_lines("unproven", verdict, clean_facts(policy))
        assert len(held) == len(read_corpus("unproven")), policy


def test_lines_that_ruin_or_use_guarded_files_are_denied_in_every_profile() -> None:
    for policy in PROFILES:
        held = list_lines("denied", "deny", clean_facts(policy))
        assert len(held) == len(read_corpus("denied")), policy


def test_lines_whose_words_name_guarded_files_run_unasked_in_no_profile() -> None:
    for policy in PROFILES:
        assert list_lines("guarded", "allow", clean_facts(policy)) == [], policy


@pytest.mark.slow
def test_nearly_nothing_without_an_end_runs_unasked_in_a_sandbox() -> None:
    facts = clean_facts("accept-edits", sandboxed=True)
    allowed = list_lines("attacks", "allow", facts, class_name="endless")
    assert len(allowed) <= ENDLESS_LINES_ALLOWED, "\n".join(allowed)
