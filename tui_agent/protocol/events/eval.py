"""Events of tests, verifiers and evaluation cases."""

from typing import Literal

from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId


class TestFinished(Payload):
    """A test run ended: `command` ran in `folder` of the workspace. A count is -1 if the output does not state it."""

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


class VerifierFinished(Payload):
    """The verifier of an evaluation case gave a reward (1.0 or more is success).

    No part of this version records this event; it is reserved for evaluations.
    """

    kind: Literal["verifier.finished"] = "verifier.finished"
    verifier: str
    reward: float
    output: LongText = ""


class EvalCaseStarted(Payload):
    """An evaluation case started in this session.

    No part of this version records this event; it is reserved for evaluations.
    """

    kind: Literal["eval.case_started"] = "eval.case_started"
    suite: str
    case: str
    arm: str


class EvalScored(Payload):
    """The score of an evaluation case, with the category of its failure (empty on success).

    No part of this version records this event; it is reserved for evaluations.
    """

    kind: Literal["eval.scored"] = "eval.scored"
    case: str
    passed: bool
    score: float
    failure: str = ""
