"""Events of tests, verifiers and evaluation cases."""

from typing import Literal

from tui_agent.protocol.base import CallId, LongText, Payload


class TestFinished(Payload):
    """A test run ended: `command` ran in `folder` of the workspace.

    A count is -1 if the output does not state it. If an evaluation ran the tests on a checkpoint, `part` is the message
    part before the checkpoint. `exit_code` is None if the command gave no result.
    """

    __test__ = False  # the name looks like a test class to pytest

    kind: Literal["test.finished"] = "test.finished"
    framework: str
    command: str
    passed: int
    failed: int
    skipped: int
    exit_code: int | None
    failures: tuple[str, ...] = ()
    call_id: CallId | None = None
    folder: str = ""
    part: int | None = None


class VerifierFinished(Payload):
    """The verifier of an evaluation case ended. A reward of 1.0 or more means that the case was solved.

    `fault` is the reason why there is no valid reward. It is empty if there is one.
    """

    kind: Literal["verifier.finished"] = "verifier.finished"
    verifier: str
    reward: float
    output: LongText = ""
    fault: str = ""


class EvalCaseStarted(Payload):
    """An evaluation case started in this session. `arm` is the configuration under which it runs."""

    kind: Literal["eval.case_started"] = "eval.case_started"
    suite: str
    case: str
    arm: str


class EvalScored(Payload):
    """The result of an evaluation case.

    `agent` is True if the agent ended its work by itself. `patch` is True if files differ from their earlier state.
    `tests` and `verifier` are null if the case has none, or if they could not run. `failure` is the category of the
    failure: model, policy, tool, environment, engine, budget or verifier; empty on success. `instability` is True if
    the model's provider failed for a while, so that the result says nothing about the agent.
    """

    kind: Literal["eval.scored"] = "eval.scored"
    case: str
    passed: bool
    score: float
    failure: str = ""
    detail: str = ""
    agent: bool = True
    patch: bool = True
    tests: bool | None = None
    verifier: bool | None = None
    instability: bool = False
