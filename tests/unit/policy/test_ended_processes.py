"""Approvals for commands that end processes or leave one behind, and what they say."""

import pytest

from tests.unit.policy.judging import confined, decide
from tui_agent.policy.decision.call_classes import READ_ONLY

_ENDS = "policy accept-edits requires approval for commands that end processes"


@pytest.mark.parametrize(
    "script", ["kill 123", "kill -9 123", "kill -SIGTERM 123", "pkill node", "killall node", "P=$$; kill $P"]
)
def test_ending_a_process_is_not_called_a_deletion(script: str) -> None:
    decision = confined(script)
    assert (decision.verdict, decision.reason) == ("ask", _ENDS)
    assert decision.risk == "It ends processes, perhaps ones that you still need."
    assert decision.classes == ("ends-processes",)


@pytest.mark.parametrize(
    "script",
    [
        "kill $!",
        'kill -TERM "$!"',
        "P=$!; kill $P",
        "P=$!; sleep 2; kill -9 $P 2>/dev/null",
        "A=$!; B=$!; kill $A $B",
        "kill %1",
        "kill %%",
    ],
)
def test_ending_a_background_job_of_the_same_line_needs_no_approval(script: str) -> None:
    assert (decide(script, "ask").verdict, decide(script, "ask").classes) == ("allow", (READ_ONLY,))


@pytest.mark.parametrize(
    "script",
    [
        "kill $P",
        'kill "$P"',
        "kill $! 123",
        "kill 0",
        "kill -- -$!",
        "kill -9 -$!",
        "kill $!0",
        "kill ${P:-1}",
        "P=$!; kill 1$P",
        "P=$!; [ -e a ] && P=1; kill $P",
        "P=$!; read P; kill $P",
        "kill $(cat server.pid)",
        "kill $(pgrep node)",
        "kill $PPID",
        "kill %1 1",
        "kill '%1; x'",
    ],
)
def test_ending_any_other_process_needs_approval(script: str) -> None:
    assert (decide(script, "ask").verdict, confined(script).verdict) == ("ask", "ask")


@pytest.mark.parametrize(
    "script",
    [
        "P=$!; printf -v P 4242; kill $P",
        "P=$!; printf -vP 4242; kill $P",
        "P=$!; command printf -v P 4242; kill $P",
        "P=$!; builtin printf -v P 4242; kill $P",
        "P=$!; trap 'P=4242' DEBUG; kill $P",
        "trap 'P=4242' DEBUG; P=$!; kill $P",
        "trap 'P=4242' ERR; P=$!; false; kill $P",
        "[ -e a ] && trap 'P=4242' DEBUG; P=$!; kill $P",
        "for X in 1 2; do P=$!; kill $P; trap 'P=4242' DEBUG; done",
        "X=trap; $X 'P=4242' DEBUG; P=$!; kill $P",
        "$(echo trap) 'P=4242' DEBUG; P=$!; kill $P",
        "declare -n Q=P; cd src; P=$!; Q=4242; kill $P",
        "eval \"trap 'P=4242' DEBUG\"; cd src; P=$!; kill $P",
        "P=$!; wait -p P -n; kill $P",
        "P=$!; mapfile -t P < a; kill $P",
        "P=$!; getopts x P; kill $P",
        "P=$!; let P=4242; kill $P",
        "P=$!; ((P=4242)); kill $P",
        "P=$!; read -r $(cat a) < b; kill $P",
        "P=$!; X=$(cat a); read -r $X < b; kill $P",
        "P=$!; X=$(cat a); export $X; kill $P",
        "P=$!; X=$(cat a); export $X=1; kill $P",
        "P=$!; X=$(cat a); unset $X; kill $P",
        "P=$!; test -v 'a[P=4242]'; kill $P",
        "P=$!; [ -v 'a[P=4242]' ]; kill $P",
        "P=$!; [ -R 'a[P=4242]' ] || true; kill $P",
        "P=$!; [[ -v a[P=4242] ]]; kill $P",
        "P=$!; [[ 'P=4242' -eq 1 ]]; kill $P",
        "shopt -s expand_aliases; alias x='P=4242'; P=$!; x; kill $P",
    ],
)
def test_a_variable_that_anything_else_in_the_line_may_set_names_no_background_job(script: str) -> None:
    assert "ends-processes" in confined(script).classes


def test_a_trap_in_a_subshell_leaves_the_variable_of_a_background_job_alone() -> None:
    assert confined("P=$!; (trap 'P=4242' DEBUG); kill $P").verdict == "allow"


def test_a_server_that_its_own_line_ends_is_asked_about_only_for_the_network_and_the_process_left() -> None:
    decision = confined("venv/bin/app & P=$!; sleep 2; curl -s localhost:80; kill $P")
    expected = (
        "policy accept-edits requires approval for network access, commands that leave a process behind"
    )
    assert (decision.verdict, decision.reason) == ("ask", expected)


@pytest.mark.parametrize("script", ["prog & sleep 2", "venv/bin/app --port 80 & sleep 2"])
def test_a_process_left_behind_is_the_reason_although_the_program_is_unknown(script: str) -> None:
    decision = confined(script)
    expected = "policy accept-edits requires approval for commands that leave a process behind"
    assert (decision.verdict, decision.reason) == ("ask", expected)


def test_an_unknown_program_is_the_reason_without_a_sandbox() -> None:
    assert "it is not known what prog does" in decide("prog & sleep 2", "accept-edits").reason
