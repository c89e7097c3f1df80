"""Which engine a client gets, and when it ends."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.stubs.fake_session import FakeSession
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import SessionLocked
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.serve import page_app
from tui_agent.serve.hosted_sessions import HostedSessions

STARTED = SessionStarted(
    workspace="/w",
    product="tui-agent",
    settings=SessionSettings(model=ModelInfo(profile="p", provider="x", model="m")),
)
OPTIONS = SessionOptions(cwd=Path("/w"), client="app", model="m")


class Engines:
    """Engines that were started, in order."""

    def __init__(self) -> None:
        self.options: list[SessionOptions] = []
        self.sessions: list[FakeSession] = []
        self.failure: SessionLocked | None = None

    def spawn(self, options: SessionOptions) -> Any:
        fake = FakeSession(session_id=options.session or "", failure=self.failure)
        fake.feed(STARTED)
        self.options.append(options)
        self.sessions.append(fake)
        return fake


async def test_an_engine_serves_all_clients_and_ends_after_the_last_one_when_nothing_runs() -> None:
    engines = Engines()
    async with anyio.create_task_group() as group:
        sessions = HostedSessions(OPTIONS, group, engines.spawn, linger_s=0.01)
        async with sessions.use("ses_a", OPTIONS) as first, sessions.use("ses_a", OPTIONS) as second:
            assert first is second
            assert (engines.options[0].client, engines.options[0].session) == ("web", "ses_a")
            engines.sessions[0].feed(TurnStarted(turn=1))
            await anyio.wait_all_tasks_blocked()
        await anyio.sleep(0.05)
        assert not engines.sessions[0].is_closed and sessions.find("ses_a") is first
        engines.sessions[0].feed(TurnFinished(turn=1, reason="finished"))
        await engines.sessions[0].over.wait()
        await anyio.wait_all_tasks_blocked()
        assert sessions.find("ses_a") is None
        async with sessions.use("ses_a", OPTIONS) as again:
            assert again is not first and len(engines.sessions) == 2
        group.cancel_scope.cancel()


async def test_a_session_that_cannot_be_opened_is_tried_again_by_the_next_client() -> None:
    engines = Engines()
    engines.failure = SessionLocked("Open elsewhere.")
    async with anyio.create_task_group() as group:
        sessions = HostedSessions(OPTIONS, group, engines.spawn)
        with pytest.raises(SessionLocked):
            async with sessions.use("ses_a", OPTIONS):
                pass
        engines.failure = None
        async with sessions.use("ses_a", OPTIONS) as hosted:
            assert hosted.session.id == "ses_a"
        group.cancel_scope.cancel()


def test_the_app_of_a_page_says_that_its_server_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SessionOptions(cwd=tmp_path, engine_socket=tmp_path / "none.sock")
    assert page_app.main([json.dumps(options.to_json())]) == 1
    assert capsys.readouterr().err == (
        "tui-agent: The server that ran this session has ended. Start tui-agent serve again.\n"
    )
