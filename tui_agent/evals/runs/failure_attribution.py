"""Attribution of a failed case to its cause, from the session's events and the results of its checks.

Invariant: a failure of the provider is never attributed to the agent.
"""

from collections import Counter
from dataclasses import field

from tui_agent.evals.cases.case import Case
from tui_agent.fast_dataclass import dataclass
from tui_agent.models.provider_faults import TRANSIENT
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.events.session import TrajectoryEnd
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.parts import tool_calls
from tui_agent.session.headless_turn import LIMITS, Outcome

_AGENT_FAULTS = frozenset(("model_error", "error", "stuck", "rejected"))
"""Reasons for the end of a turn (`Outcome.reason`) that make a case fail even if its tests pass."""


@dataclass(slots=True)
class Conduct:
    """Collects facts from a session's events, such as how the main agent's calls ended."""

    model_fault: str = ""
    statuses: dict[CallId, str] = field(default_factory=dict)
    """Maps the id of a finished call to the call's status."""
    environment: set[CallId] = field(default_factory=set)
    """The calls that failed because of files or processes."""
    exited: set[CallId] = field(default_factory=set)
    """The calls whose program exited with an error."""
    is_machine_lost: bool = False
    """True if a call failed after its machine was lost."""
    answers: list[list[CallId]] = field(default_factory=list)
    """For each answer, the ids of its calls."""
    used_tools: Counter[str] = field(default_factory=Counter)
    """The number of successful calls of each tool, including calls in subtasks."""

    def apply(self, event: Envelope) -> None:
        if isinstance(event.payload, ToolFinished) and event.payload.status == "ok":
            self.used_tools[event.payload.name] += 1
        if event.agent != MAIN_AGENT:
            return
        match event.payload:
            case ModelResponded(parts=parts, author="model"):
                # The request succeeded after retries, so an earlier fault did not end the turn.
                self.model_fault = ""
                self.answers.append([call.call_id for call in tool_calls(parts)])
            case ModelFailed(fault=fault) if fault != "cancelled":
                self.model_fault = fault
            case ToolFinished(call_id=call_id, status=status, environment=environment, lost=lost):
                self.statuses[call_id] = status
                self.is_machine_lost |= lost
                if environment:
                    self.environment.add(call_id)
                elif event.payload.data.get("exit_code"):
                    self.exited.add(call_id)

    @property
    def last_statuses(self) -> dict[CallId, str]:
        """The status of each call in the model's newest answer that has tool calls."""
        calls = next((calls for calls in reversed(self.answers) if calls), [])
        return {call: self.statuses.get(call, "") for call in calls}

    def broken_oracle_action(self, case: Case) -> str:
        """Describe the oracle's first action that did not succeed as scripted; return an empty text if there is none."""
        for index, answer in enumerate(case.oracle):
            after = case.oracle[index + 1] if index + 1 < len(case.oracle) else None
            expected = after.expect.tool_result if after is not None and after.expect is not None else None
            may_fail = expected is not None and expected.ok is False
            calls = self.answers[index] if index < len(self.answers) else []
            for call, scripted in zip(calls, answer.calls, strict=False):
                status = self.statuses.get(call, "not run")
                if status != "ok" and not may_fail:
                    return f"action {index + 1} of the reference solution ({scripted.name}) ended with the status {status}"
            if len(calls) != len(answer.calls):
                return f"action {index + 1} of the reference solution was not reached"
        return ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgment on one run of a case.

    - `failure`: category of the cause, such as `provider`; empty if the run passed.
    - `detail`: a phrase about the cause.
    """

    passed: bool
    failure: str = ""
    detail: str = ""
    instability: bool = False
    interrupted: bool = False
    """True if the machine was lost or a provider failed temporarily, so that another attempt can succeed."""
    end: TrajectoryEnd = "solved"


def judge(
    outcome: Outcome,
    conduct: Conduct,
    *,
    tests: bool | None,
    verifier: bool | None,
    check_fault: tuple[str, str] = ("", ""),
    oracle_fault: str | None = None,
    tests_result: str = "the tests failed",
    verifier_result: str = "the verifier failed",
) -> Verdict:
    """Return the verdict on a case that has ended.

    - `tests`, `verifier`: True if passed, None if the case has none.
    - `check_fault`: category and reason if a check gave no result.
    - `oracle_fault`: description of the oracle's mistake (None: a model acted).
    - `tests_result`, `verifier_result`: descriptions of failed tests and of a reward that is too low.
    """
    is_transient = conduct.model_fault in TRANSIENT
    if outcome.reason == "model_error" and (is_transient or conduct.model_fault == "auth"):
        return Verdict(
            False,
            "",
            f"provider: {outcome.detail}",
            instability=True,
            interrupted=is_transient,  # A key that was refused will be refused again.
            end="agent_error",
        )
    if outcome.reason in _AGENT_FAULTS:
        category = "engine" if outcome.reason == "error" else "model"
        return Verdict(
            False,
            category,
            outcome.detail or f"the turn ended with the reason {outcome.reason}",
            end="agent_error",
        )
    # The order decides the cause: a fault of the case or its checks comes before a fault of the machine, then of the
    # limits, and last of the model.
    end = LIMITS.get(outcome.reason, "unsolved")
    if oracle_fault and outcome.reason not in LIMITS:
        return Verdict(False, "tool", oracle_fault, end=end)
    if check_fault[0]:
        return Verdict(False, check_fault[0], check_fault[1], end="env_error")
    if tests is not False and verifier is not False and not oracle_fault:
        return Verdict(True, end="solved")
    if conduct.is_machine_lost:
        return Verdict(
            False, "environment", "the machine with the workspace was lost", interrupted=True, end="env_error"
        )
    if outcome.reason in LIMITS:
        return Verdict(
            False, "budget", outcome.detail or f"the turn ended with the reason {outcome.reason}", end=end
        )
    missed = " and ".join(
        words for words, result in ((tests_result, tests), (verifier_result, verifier)) if result is False
    )
    category, why = _find_cause(conduct) if oracle_fault is None else ("tool", "")
    return Verdict(False, category, f"{missed}{why}", end=end)


def _find_cause(conduct: Conduct) -> tuple[str, str]:
    """Return the category of a failure, and a phrase that explains it. The phrase can be empty."""
    statuses = conduct.last_statuses
    ends = set(statuses.values())
    if ends == {"denied"}:
        return "policy", "; the agent gave up after denied calls"
    if ends and ends <= {"failed", "lost"}:
        if set(statuses) <= conduct.environment:
            return "environment", "; the last calls failed because of files or processes"
        if set(statuses) <= conduct.exited:
            return "model", "; the last commands failed"
        return "tool", "; the agent gave up after failed calls"
    if ends == {"invalid"}:
        return "model", "; the last calls were invalid"
    return "model", ""
