"""Events of tests, verifiers and evaluation cases."""

from typing import Literal

from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.stored_text import LongText


class TestFinished(Payload):
    """A test run ended: `command` ran in `folder` of the workspace.

    `passed`, `failed`, `skipped`: -1 if unknown. `failed` includes `errors`: tests without a result, and files that
    could not be loaded. `xfailed`: tests that failed as expected. `xpassed`: tests that passed unexpectedly. `part`:
    number of the message part before the checkpoint, if an evaluation ran the tests on a checkpoint. `exit_code`: null
    if the command ended without one. `fault`: reason why the run failed although no test failed; otherwise empty.
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
    errors: int = 0
    xfailed: int = 0
    xpassed: int = 0
    fault: str = ""


class VerifierFinished(Payload):
    """The verifier of an evaluation case ended. A reward of 1.0 or more means that the case was solved.

    `fault`: reason why there is no valid reward; otherwise empty.
    """

    kind: Literal["verifier.finished"] = "verifier.finished"
    verifier: str
    reward: float
    output: LongText = ""
    fault: str = ""


class EvalCaseStarted(Payload):
    """An evaluation case started in this session. `arm`: name of the model or configuration with which the case runs."""

    kind: Literal["eval.case_started"] = "eval.case_started"
    suite: str
    case: str
    arm: str


class EvalScored(Payload):
    """The result of an evaluation case.

    `agent`: True if the agent ended its work by itself. `patch`: True if files were changed. `tests`, `verifier`: null
    if the case has none, or if they could not run. `failure`: category of the failure (model, policy, tool,
    environment, engine, budget or verifier); empty on success. `instability`: True if the model's provider failed for a
    while, so the result does not measure the agent.
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
