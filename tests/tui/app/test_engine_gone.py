"""An engine that died or cannot store: nothing typed is lost, and there is a way on."""

import asyncio

import pytest

from tests.stubs.fake_session import FakeSession, FakeTrouble
from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.commands import SendQueued, SubmitPrompt
from tui_agent.protocol.events.plugin import PluginLoaded
from tui_agent.protocol.events.tool import ToolCalled, ToolStarted
from tui_agent.protocol.events.turn import (
    QuestionAsked,
    TurnStarted,
    UserQueued,
    UserShellProgress,
    UserShellStarted,
)
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.tui import main_screen
from tui_agent.tui.modals.question import Question


async def test_a_message_after_the_engines_death_opens_the_session_again_and_is_sent() -> None:
    first, second = FakeSession(golden("streaming")), FakeSession(golden("night_shift"))
    async with open_app(session=first) as driven:
        controller = driven.app.controller
        assert controller is not None and controller.is_running
        first.end()
        await driven.pilot.pause()
        assert not controller.is_running and "engine ended" in driven.text()
        driven.app.spawn = lambda options: second
        second.gate = asyncio.Event()
        await driven.type("my words")
        await driven.press("enter")
        await driven.pilot.pause()
        assert "opening  this session again" in driven.text()
        second.gate.set()
        await driven.until(lambda: bool(second.submitted))
        sent = [command for command in second.submitted if isinstance(command, SubmitPrompt)]
        assert [command.text for command in sent] == ["my words"]
        assert not first.submitted or not isinstance(first.submitted[-1], SubmitPrompt)


async def test_the_notice_that_names_the_plugin_stays_until_it_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, call = FakeSession(golden("night_shift")), CallId("call_90")
    async with open_app(session=session) as driven:
        session.feed(
            PluginLoaded(plugin="hostile", version="1", source="user", contributions=("tool:spin",)),
            TurnStarted(turn=3),
            ToolCalled(call_id=call, name="spin", arguments={}, iteration=1, verb="spin", target=""),
            ToolStarted(call_id=call, writes=True),
        )
        await driven.settle()
        monkeypatch.setattr(main_screen, "NOTICE_S", 0.001)
        session.end()
        await driven.until(lambda: "spin (plugin hostile)" in driven.app.notice.text)
        later: list[bool] = []
        driven.app.set_timer(0.01, lambda: later.append(True))
        await driven.until(lambda: later)
        assert driven.app.notice.display
        await driven.press("escape")
        assert not driven.app.notice.display


async def test_enter_after_the_engines_death_opens_the_session_again_and_sends_the_queued_message() -> None:
    queued = UserQueued(queue_id=RequestId("q_1"), text="my words")
    first, second = FakeSession(golden("night_shift")), FakeSession(golden("night_shift"))
    for session in (first, second):
        session.feed(queued)
    async with open_app(session=first) as driven:
        await driven.settle()
        first.end()
        await driven.until(lambda: "engine ended" in driven.text())
        driven.app.spawn = lambda options: second
        await driven.press("enter")
        await driven.until(lambda: any(isinstance(command, SendQueued) for command in second.submitted))


async def test_after_the_engines_death_another_session_can_be_opened() -> None:
    first, second = FakeSession(golden("streaming")), FakeSession(golden("night_shift"))
    async with open_app(session=first) as driven:
        first.end()
        await driven.pilot.pause()
        driven.app.spawn = lambda options: second
        await driven.type("/new")
        await driven.press("enter")
        await driven.pilot.pause()
        controller = driven.app.controller
        assert controller is not None
        await driven.until(lambda: controller.session is second)
        assert controller.session is second


async def test_what_the_engine_could_not_store_is_said_and_the_turn_counts_as_stopped() -> None:
    session = FakeSession(golden("streaming"))
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None and controller.is_running
        session.storage_fault = FakeTrouble(
            "The event could not be stored: no space is left.", "Free some space."
        )
        controller.panes.beat()
        await driven.pilot.pause()
        assert "no space is left" in driven.text() and "not stored" in driven.text()
        assert not controller.is_running
        await driven.type("again")
        await driven.press("enter")
        assert isinstance(session.submitted[-1], SubmitPrompt)


async def test_a_call_that_ran_when_the_engine_died_and_its_turn_are_shown_as_ended() -> None:
    session = FakeSession(golden("night_shift"))
    async with open_app(session=session, size=(100, 60)) as driven:
        call = CallId("call_90")
        called = ToolCalled(
            call_id=call, name="run_command", arguments={}, iteration=1, verb="run", target="sleep 300"
        )
        session.feed(TurnStarted(turn=3), called, ToolStarted(call_id=call, writes=True))
        await driven.settle()
        assert "running" in next(row for row in driven.rows() if "sleep 300" in row[:60])
        session.end()
        await driven.until(lambda: "engine ended" in driven.text())
        driven.app.hide_notice()
        await driven.pilot.pause()
        row = next(row for row in driven.rows() if "sleep 300" in row[:60])
        assert row[:61].rstrip().endswith("lost")
        assert "send a message to open the session again" in driven.text(), "not cut"
        assert "changed files unknown" in driven.text()
        assert "running" not in driven.text() and "The program ended during this turn" in driven.text()


async def test_a_call_is_shown_as_ended_before_an_engine_that_cannot_store_has_closed_everything() -> None:
    session = FakeSession(golden("night_shift"))
    async with open_app(session=session, size=(100, 60)) as driven:
        controller, call = driven.app.controller, CallId("call_90")
        assert controller is not None
        called = ToolCalled(
            call_id=call, name="run_command", arguments={}, iteration=1, verb="run", target="sleep 300"
        )
        session.feed(TurnStarted(turn=3), called, ToolStarted(call_id=call, writes=True))
        await driven.settle()
        session.storage_fault = FakeTrouble("The event could not be stored.", "Free some space.")
        for _ in range(3):
            controller.panes.beat()
        driven.app.hide_notice()
        await driven.pilot.pause()
        row = next(row for row in driven.rows() if "sleep 300" in row[:60])
        assert row[:61].rstrip().endswith("lost") and "not stored" in driven.text()
        assert driven.text().count("The rest of this turn could not be stored.") == 1


async def test_your_command_that_ran_when_the_engine_died_is_shown_as_ended_with_its_output() -> None:
    session = FakeSession(golden("night_shift"))
    async with open_app(session=session, size=(100, 60)) as driven:
        session.feed(UserShellStarted(command="sleep 300"), UserShellProgress(text="first words"))
        await driven.settle()
        session.end()
        await driven.until(lambda: "engine ended" in driven.text())
        driven.app.hide_notice()
        await driven.pilot.pause()
        assert "lost" in driven.text() and "first words" in driven.text()


async def test_a_question_of_an_engine_that_is_gone_is_not_offered_for_an_answer() -> None:
    session = FakeSession(golden("night_shift"))
    async with open_app(session=session) as driven:
        question = QuestionAsked(question_id=RequestId("q_1"), text="Which format?", form="text")
        session.feed(TurnStarted(turn=3), question)
        await driven.settle()
        assert isinstance(driven.app.screen, Question)
        session.end()
        await driven.until(lambda: "engine ended" in driven.text())
        await driven.pilot.pause()
        assert not isinstance(driven.app.screen, Question)
        assert "Enter answer" not in driven.rows()[-1]
