"""Nothing that an everyday program can be misused for runs unasked: not as it is, and not inside another command."""

import shlex

import pytest

from tests.unit.policy.judging import decide
from tests.unit.policy.misused import ALL, BY_KIND
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

INSIDE = {
    "behind": "git status && {line}",
    "subshell": "( {line} )",
    "branch": "if true; then {line}; fi",
    "output": 'echo "$({line})"',
    "shell": "bash -c {quoted}",
    "limit": "timeout 5 sh -c {quoted}",
    "function": "f() {{ {line}; }}; f",
    "background": "{line} & wait",
}


def test_there_are_enough_of_each_kind() -> None:
    assert {kind: len(found) >= 60 for kind, found in BY_KIND.items()} == dict.fromkeys(BY_KIND, True)
    assert len(dict.fromkeys(line for _, line in ALL)) == len(ALL) > 500


@pytest.mark.parametrize("policy", ["plan", "ask"])
def test_none_of_them_runs_unasked(policy: str) -> None:
    allowed = [line for _, line in ALL if decide(line, policy).verdict == "allow"]  # type: ignore[arg-type]
    assert allowed == []


@pytest.mark.parametrize("form", list(INSIDE))
def test_none_of_them_runs_unasked_inside_another_command(form: str) -> None:
    whole = [INSIDE[form].format(line=line, quoted=shlex.quote(line)) for _, line in ALL]
    assert [one for one in whole if decide(one).verdict == "allow"] == []


def test_none_of_them_is_let_through_by_a_profile_that_accepts_edits_where_nothing_confines_commands() -> (
    None
):
    facts = PolicyFacts("/home/ada/timesheet", "accept-edits", sandboxed=False)
    allowed = [
        line
        for _, line in ALL
        if RulePolicy().decide("run_command", (Runs(script=line),), facts).verdict == "allow"
    ]
    assert allowed == []
