"""Which cause a failed case is attributed to."""

import pytest

from tests.stubs.story import Story, finished, requested, responded, tool_call
from tui_agent.evals.checks.check_results import EXPECTED, CheckResults
from tui_agent.evals.runs.failure_attribution import Conduct, Verdict, judge
from tui_agent.protocol.events.eval import VerifierFinished
from tui_agent.protocol.events.model import FaultKind, ModelFailed
from tui_agent.protocol.events.tool import ToolStatus
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import RequestId
from tui_agent.session.headless_turn import Outcome


def outcome(reason: str, detail: str = "") -> Outcome:
    return Outcome(reason, detail, "run", "ses", "")


def conduct(
    *statuses: ToolStatus,
    fault: FaultKind | None = None,
    environment: bool = False,
    exit_code: int | None = None,
) -> Conduct:
    """A session whose last answer with calls had a call for each status; then an answer, or a model's fault."""
    story, folded = Story(), Conduct()
    events: list[Payload] = [
        requested("r1"),
        responded("r1", *(tool_call(f"c{index}") for index in range(len(statuses)))),
    ]
    for index, status in enumerate(statuses):
        data = {} if exit_code is None else {"exit_code": exit_code}
        changes = {"environment": environment, "data": data}
        events.append(finished(f"c{index}", status).model_copy(update=changes))
    if fault is None:
        events.append(responded("r2", "Done.", first_part=9))
    else:
        events.append(ModelFailed(request_id=RequestId("r2"), fault=fault, message="no"))
    for event in events:
        folded.apply(story(event))
    return folded


@pytest.mark.parametrize(
    ("reason", "made", "tests", "verdict"),
    [
        ("finished", conduct("ok"), True, (True, "", False, "solved")),
        ("finished", conduct("ok"), False, (False, "model", False, "unsolved")),
        ("denied", conduct("denied", "denied"), False, (False, "policy", False, "unsolved")),
        ("finished", conduct("denied", "ok"), False, (False, "model", False, "unsolved")),
        ("finished", conduct("failed"), False, (False, "tool", False, "unsolved")),
        ("finished", conduct("failed", exit_code=1), False, (False, "model", False, "unsolved")),
        ("finished", conduct("failed", environment=True), False, (False, "environment", False, "unsolved")),
        ("finished", conduct("invalid"), False, (False, "model", False, "unsolved")),
        ("part_limit", conduct("ok"), False, (False, "budget", False, "part_limit")),
        ("time_limit", conduct("ok"), True, (True, "", False, "solved")),
        ("time_limit", conduct("ok"), False, (False, "budget", False, "timeout")),
        ("model_error", conduct("ok", fault="rate_limit"), False, (False, "", True, "agent_error")),
        ("model_error", conduct("ok", fault="auth"), True, (False, "", True, "agent_error")),
        ("error", conduct("ok"), True, (False, "engine", False, "agent_error")),
        ("stuck", conduct("ok"), False, (False, "model", False, "agent_error")),
    ],
)
def test_a_failure_is_attributed_to_its_cause(
    reason: str, made: Conduct, tests: bool, verdict: tuple[object, ...]
) -> None:
    found = judge(outcome(reason), made, tests=tests, verifier=None)
    assert (found.passed, found.failure, found.instability, found.end) == verdict
    assert found.interrupted == (made.model_fault == "rate_limit")


def test_a_reward_that_is_too_low_is_told_and_not_the_models_fault_if_none_acted() -> None:
    for name, reward, words in (
        ("check", 0.5, "the verifier gave the reward 0.5; 1 is needed to pass"),
        ("check", 0.0, "the verifier failed"),
        (EXPECTED, 0.0, "a.py is missing"),
    ):
        results = CheckResults((), VerifierFinished(verifier=name, reward=reward, output="a.py is missing"))
        for oracle_fault, cause in ((None, "model"), ("", "tool")):
            found = judge(
                outcome("finished"),
                conduct("ok"),
                tests=None,
                verifier=results.verifier_passed,
                verifier_result=results.verifier_result,
                oracle_fault=oracle_fault,
            )
            assert (found.failure, found.detail) == (cause, words)


def test_a_lost_machine_is_an_interruption_whatever_the_agent_did_next() -> None:
    story, lost = Story(), Conduct()
    call = finished("c0", "failed").model_copy(update={"environment": True, "lost": True})
    for event in (requested("r1"), responded("r1", tool_call("c0")), call, finished("c1", "ok")):
        lost.apply(story(event))
    failed = judge(outcome("finished"), lost, tests=False, verifier=None)
    assert failed == Verdict(
        False, "environment", "the machine with the workspace was lost", interrupted=True, end="env_error"
    )
    assert judge(outcome("finished"), lost, tests=True, verifier=None) == Verdict(True)


def test_a_check_without_a_result_is_not_the_agents_fault() -> None:
    found = judge(
        outcome("finished"), conduct("ok"), tests=True, verifier=False, check_fault=("verifier", "it hung")
    )
    assert found == Verdict(False, "verifier", "it hung", end="env_error")


def test_an_oracle_that_failed_is_the_cause_whatever_the_checks_say() -> None:
    found = judge(
        outcome("finished"),
        conduct("ok"),
        tests=None,
        verifier=False,
        check_fault=("verifier", "no file"),
        oracle_fault="the oracle solve failed: KeyError",
    )
    assert found == Verdict(False, "tool", "the oracle solve failed: KeyError", end="unsolved")
