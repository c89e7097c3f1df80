"""One turn without a screen, against a session that is fed by hand."""

import hashlib

import pytest

from tests.stubs.fake_session import FakeSession
from tui_agent.cli.console.exit_codes import turn_exit_status
from tui_agent.cli.run.command import finish
from tui_agent.cli.run.part_printer import result_lines
from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.protocol.commands import Command, SubmitPrompt
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import CommandRejected, RunFinished, RunStarted, SessionStarted
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId, CommandId, RequestId, RunId
from tui_agent.protocol.parts import ReasoningPart, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.protocol.stored_text import BlobText
from tui_agent.session.headless_turn import Outcome, run_turn

MODEL = ModelInfo(profile="demo", provider="scripted", model="demo")


def begun(run: str = "run_000000000001", *, new: bool = True) -> list[Payload]:
    start = SessionStarted(workspace="/w", product="p", settings=SessionSettings(model=MODEL))
    held = RunStarted(run_id=RunId(run), pid=1, client="headless", product="p", model=MODEL)
    return [start, held] if new else [held]


def answered(*texts: str | BlobText, request: str = "req_1") -> ModelResponded:
    return ModelResponded(
        request_id=RequestId(request),
        first_part=0,
        parts=(ReasoningPart(text="hm"), *(TextPart(text=text) for text in texts)),
        finish="stop",
        usage=Usage(),
        cost_usd=None,
        duration_ms=1.0,
    )


def turn(*middle: Payload, number: int = 1, reason: str = "finished", detail: str = "") -> list[Payload]:
    return [
        UserMessageReceived(text="do it"),
        TurnStarted(turn=number),
        *middle,
        TurnFinished.model_validate({"turn": number, "reason": reason, "detail": detail}),
    ]


def answering(session: FakeSession, *payloads: Payload) -> None:
    """The session answers the next prompt with these events."""

    def react(command: Command) -> None:
        assert isinstance(command, SubmitPrompt)
        session.feed(*payloads, cause=CommandId(f"cmd_{len(session.submitted)}"))

    session.react = react


def kinds(records: list[Record]) -> list[str]:
    return [str(record.payload.kind) for record in records if isinstance(record, Envelope)]


async def test_the_answer_is_the_main_agents_last_words() -> None:
    session = FakeSession()
    session.feed(*begun())
    answering(session, *turn(answered("first"), answered("Hello", " there")))
    outcome = await run_turn(session, "do it", lambda record: None)
    assert outcome == Outcome("finished", "", "run_000000000001", session.id, "Hello there")
    assert session.submitted[0].kind == "submit_prompt"


async def test_words_of_delegates_and_calls_without_words_do_not_replace_the_answer() -> None:
    session = FakeSession()
    session.feed(*begun())

    def react(command: Command) -> None:
        ours = CommandId("cmd_1")
        session.feed(*turn(answered("mine"))[:-1], cause=ours)
        session.feed(
            answered("theirs"), TurnFinished(turn=9, reason="error"), agent=AgentId("scout"), cause=ours
        )
        session.feed(answered(), turn()[-1], cause=ours)

    session.react = react
    outcome = await run_turn(session, "x", lambda record: None)
    assert (outcome.answer, outcome.reason) == ("mine", "finished")


async def test_a_long_answer_is_read_from_its_blob() -> None:
    session = FakeSession()
    whole = "word " * 4000
    digest = hashlib.sha256(whole.encode()).hexdigest()
    session.blobs[digest] = whole.encode()
    session.feed(*begun())
    answering(session, *turn(answered(BlobText(blob_sha256=digest, size=len(whole), preview="word"))))
    assert (await run_turn(session, "x", lambda record: None)).answer == whole.strip()


async def test_a_new_session_shows_every_event_in_order() -> None:
    session, seen = FakeSession(), list[Record]()
    session.feed(*begun())
    answering(session, *turn(answered("a")))
    await run_turn(session, "x", seen.append)
    assert [record.seq for record in seen] == list(range(6))
    assert kinds(seen)[:3] == ["session.started", "run.started", "user.message"]


async def test_a_session_that_goes_on_shows_only_this_runs_events() -> None:
    session, seen = FakeSession(), list[Record]()
    session.feed(*begun("run_00000000000a"), *turn(answered("old")))
    session.feed(*begun("run_00000000000b", new=False))
    answering(session, *turn(answered("new"), number=2))
    outcome = await run_turn(session, "x", seen.append)
    assert (outcome.run_id, outcome.answer) == ("run_00000000000b", "new")
    assert kinds(seen)[0] == "run.started"
    assert kinds(seen).count("turn.finished") == 1


async def test_a_refused_prompt_is_an_error_with_the_reason() -> None:
    session = FakeSession()
    session.feed(*begun())
    answering(session, CommandRejected(command="submit_prompt", reason="No model is set.", hint="Set one."))
    with pytest.raises(UsageError, match=r"No model is set\. Set one\."):
        await run_turn(session, "x", lambda record: None)


async def test_a_session_that_ends_in_the_turn_is_an_error() -> None:
    session = FakeSession()
    session.feed(*begun())
    session.react = lambda command: session.end()
    with pytest.raises(TuiAgentError, match="ended during the turn"):
        await run_turn(session, "x", lambda record: None)


async def test_a_budget_tells_its_detail_and_its_status() -> None:
    session = FakeSession()
    session.feed(*begun())
    answering(session, *turn(reason="part_limit", detail="5 of 5 parts are used."))
    outcome = await run_turn(session, "x", lambda record: None)
    assert (outcome.status, turn_exit_status(outcome.reason), outcome.detail) == (
        "part_limit",
        3,
        "5 of 5 parts are used.",
    )


def decided(call: str, *, allowed: bool) -> PermissionDecided:
    return PermissionDecided(
        call_id=CallId(call),
        request_id=None,
        decision="allow" if allowed else "deny",
        decided_by="engine",
        policy="ask",
        rule_id="ask.commands",
        reason="Nobody is there to ask.",
        digest="",
        effects=(),
    )


def called(*calls: str) -> ModelResponded:
    parts = tuple(ToolCallPart(call_id=CallId(call), name="run_command", arguments={}) for call in calls)
    return answered("I try.").model_copy(update={"parts": parts})


ONE_DENIED = "1 call was denied: Nobody is there to ask."


@pytest.mark.parametrize(
    ("calls", "exit_status", "warning"),
    [
        ("a-", 4, ""),
        ("a- b-", 4, ""),
        ("a-b-", 4, ""),
        ("a+ b-", 4, ""),
        ("a+-", 4, ""),  # allowed in the sandbox, which refused something
        ("a-b+", 0, ONE_DENIED),
        ("a+b-", 0, ONE_DENIED),
        ("a- b+", 0, ONE_DENIED),
        ("a-b- c-d+", 0, "3 calls were denied: Nobody is there to ask."),
        ("a-b", 0, ONE_DENIED),  # an invalid call has no decision
        ("a-b!", 4, ""),  # not run because of the denied one
        ("a+b-c!", 0, ONE_DENIED),
        ("ab!", 0, ""),
        ("a+", 0, ""),
        ("a+-+", 0, ""),
    ],
)
async def test_only_a_turn_whose_last_calls_were_all_denied_is_denied(
    calls: str, exit_status: int, warning: str
) -> None:
    """`calls` has one word per answer: each call's letter, then its decisions; ! means that the call was not run."""
    middle: list[Payload] = []
    for answer in calls.split():
        middle.append(called(*filter(str.isalpha, answer)))
        call = ""
        for letter in answer:
            call = letter if letter.isalpha() else call
            if letter == "!":
                middle.append(
                    ToolFinished(call_id=CallId(call), name="t", status="interrupted", part=None, content=())
                )
            elif letter != call:
                middle.append(decided(call, allowed=letter == "+"))
    session = FakeSession()
    session.feed(*begun())
    answering(session, *turn(*middle, answered("That is all.")))
    outcome = await run_turn(session, "x", lambda record: None)
    assert (turn_exit_status(outcome.reason), outcome.warning) == (exit_status, warning)
    assert outcome.reason == ("denied" if exit_status else "finished")
    assert outcome.trajectory_end == "finished"


async def test_the_warning_says_which_of_several_denied_calls_a_reason_belongs_to() -> None:
    first = decided("a", allowed=False)
    second = decided("b", allowed=False).model_copy(update={"reason": "It is a secret."})
    session = FakeSession()
    session.feed(*begun())
    middle = (called("a", "b"), first, second, called("c"), decided("c", allowed=True))
    answering(session, *turn(*middle, answered("That is all.")))
    outcome = await run_turn(session, "x", lambda record: None)
    assert outcome.warning == "2 calls were denied, the last one: It is a secret."


def test_a_finished_turn_prints_its_warning_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Outcome("finished", "", "run_0123456789ab", "ses_1", "Done.", ONE_DENIED)
    assert finish(outcome, as_json=True) == 0
    assert capsys.readouterr() == ("", f"tui-agent: {ONE_DENIED}\n")


async def test_what_happens_while_the_session_closes_is_shown_too() -> None:
    class Closing(FakeSession):
        async def aclose(self) -> None:
            self.feed(RunFinished(run_id=RunId("run_000000000001"), reason="done"))
            await super().aclose()

    session, seen = Closing(), list[Record]()
    session.feed(*begun())
    answering(session, *turn(answered("a")))
    await run_turn(session, "x", seen.append)
    assert kinds(seen)[-1] == "run.finished"
    assert session.is_closed


def test_the_result_lines_are_found_by_scripts() -> None:
    lines = result_lines(Outcome("finished", "", "run_0123456789ab", "ses_1", "x")).splitlines()
    assert lines == ["status: success", "run_id: run_0123456789ab", "session: ses_1"]
