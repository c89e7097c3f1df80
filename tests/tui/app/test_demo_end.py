"""How a demo ends in the app: back to before its turn, files too, and forward again; typing skips it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import NOWHERE, Driven, golden, open_app
from tui_agent.config.options import SessionOptions
from tui_agent.folds.base import current_branch
from tui_agent.protocol.commands import Command, Redo, Revert
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.settings import AgentState

RECORDS = golden("night_shift")
TURN_2 = max(
    record.seq for record in RECORDS if isinstance(record, Envelope) and record.payload.kind == "user.message"
)


def engine(session: FakeSession) -> Callable[[Command], None]:
    """What an engine records when it goes back and forward."""

    def react(command: Command) -> None:
        if not isinstance(command, Revert | Redo):
            return
        last = len(session.records) - 1
        back = isinstance(command, Revert)
        to_seq = command.to_seq if isinstance(command, Revert) else RECORDS[-1].seq
        session.feed(
            AgentStateChanged(state=AgentState.RUNNING, reason="going back"),
            SessionHeadMoved(to_seq=to_seq, from_seq=last, reason="revert" if back else "redo", files=True),
            CheckpointRestored(source="c" * 40, commit="c" * 40, paths=("a.py",)),
            AgentStateChanged(state=AgentState.IDLE),
        )

    return react


@asynccontextmanager
async def demo(client: str = "demo") -> AsyncIterator[Driven]:
    """The app on a demo whose turn has not ended yet."""
    session = FakeSession(RECORDS[: TURN_2 + 2])
    session.react = engine(session)
    options = SessionOptions(cwd=NOWHERE, data_dir=NOWHERE, client=client)  # type: ignore[arg-type]
    async with open_app(session=session, options=options) as driven:
        assert driven.app.controller is not None
        driven.app.controller.demo_end.read_s = 0.0
        yield driven


async def ends(driven: Driven) -> None:
    """The turn's end comes, and whatever is begun by it goes on to its own."""
    driven.session.records.extend(RECORDS[len(driven.session.records) :])
    driven.session.wake()
    await driven.settle()
    while any(worker.name == "demo end" for worker in driven.app.workers):
        await driven.pilot.pause(0.01)
    await driven.settle()


async def test_the_demos_turn_goes_back_with_its_files_and_comes_again() -> None:
    async with demo() as driven:
        await ends(driven)
        assert driven.session.submitted == [
            Revert(to_seq=TURN_2 - 1, id=driven.session.submitted[0].id),
            Redo(id=driven.session.submitted[1].id),
        ]
        assert "Redid everything up to event" in driven.text() and "Fixed." in driven.text()
        kept = [record.seq for record in current_branch(driven.session.records)]
        assert kept[: len(RECORDS)] == list(range(len(RECORDS)))


async def test_typing_skips_it() -> None:
    async with demo() as driven:
        await driven.type("w")
        await ends(driven)
        assert driven.session.submitted == []


@pytest.mark.parametrize("client", ["app", "editor"])
async def test_a_turn_that_is_no_demo_stays(client: str) -> None:
    async with demo(client) as driven:
        await ends(driven)
        assert driven.session.submitted == []
