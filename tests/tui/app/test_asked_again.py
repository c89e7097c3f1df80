"""What was asked when the program was killed: the app asks again by itself, unless its user begins something else."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.stubs.killed import asked
from tests.tui.app.driving import NOWHERE, Driven, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import Command, ContinueTurn, DecidePermission
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.modals.approval import Approval


def asking_anew(session: FakeSession) -> Callable[[Command], None]:
    """An engine that asks its question again when it is let go on."""
    questions = [one.payload for one in session.records if isinstance(one, Envelope)]
    (question,) = [one for one in questions if isinstance(one, PermissionRequested)]

    def react(command: Command) -> None:
        if isinstance(command, ContinueTurn):
            anew = question.model_copy(update={"request_id": RequestId("req_anew")})
            session.feed(TurnStarted(turn=2, is_continuation=True), anew)

    return react


async def answered(driven: Driven) -> None:
    """Say yes, once the question listens: it is deaf at first to keys that were typed blindly."""
    question = driven.app.screen
    assert isinstance(question, Approval)
    await driven.until(lambda: not question.in_grace_period)
    await driven.press("y", "enter")


async def test_the_app_lets_the_turn_go_on_and_the_answer_goes_to_the_new_question(tmp_path: Path) -> None:
    records = await asked(tmp_path)
    session = FakeSession(records)
    session.react = asking_anew(session)
    async with open_app(session=session) as driven:
        await driven.until(lambda: isinstance(driven.app.screen, Approval))
        assert [type(one) for one in session.submitted] == [ContinueTurn]
        await driven.settle()
        assert "The last run did not end properly." in driven.text()
        await driven.until(lambda: "this once" in driven.text())
        await answered(driven)
        answer = session.submitted[-1]
        assert isinstance(answer, DecidePermission)
        assert (answer.request_id, answer.decision) == ("req_anew", "allow")


@pytest.mark.parametrize("typed", ["something else", "/undo"])
async def test_what_the_user_begins_instead_keeps_the_turn_from_going_on(tmp_path: Path, typed: str) -> None:
    records = await asked(tmp_path)
    session = FakeSession(records)
    options = SessionOptions(cwd=NOWHERE, data_dir=tmp_path / "data")
    async with open_app(session=session, options=replace(options, prompt=typed)) as driven:
        await driven.until(lambda: bool(session.submitted))
        await driven.pilot.pause()
        assert not any(isinstance(one, ContinueTurn) for one in session.submitted)
        assert not isinstance(driven.app.screen, Approval)


async def test_enter_on_the_empty_line_asks_again_what_is_still_open(tmp_path: Path) -> None:
    records = await asked(tmp_path)
    session = FakeSession(records)
    async with open_app(session=session) as driven:
        await driven.until(lambda: bool(session.submitted))
        await driven.press("enter")
        assert [type(one) for one in session.submitted] == [ContinueTurn, ContinueTurn]


async def test_an_answer_to_an_engine_that_is_gone_opens_the_session_and_is_asked_for_anew(
    tmp_path: Path,
) -> None:
    second = FakeSession(await asked(tmp_path))
    end = next(
        at
        for at, one in enumerate(second.records)
        if isinstance(one, Envelope) and isinstance(one.payload, PermissionRequested)
    )
    first = FakeSession(second.records[: end + 1])
    second.react = asking_anew(second)
    async with open_app(session=first) as driven:
        await driven.until(lambda: isinstance(driven.app.screen, Approval))
        first.end()
        await driven.pilot.pause()
        driven.app.spawn = lambda options: second
        stale = driven.app.screen
        await answered(driven)
        await driven.until(lambda: isinstance(driven.app.screen, Approval) and driven.app.screen is not stale)
        assert not any(isinstance(one, DecidePermission) for one in first.submitted)
        assert [type(one) for one in second.submitted] == [ContinueTurn]
