"""The header of the main screen: the folder, the git branch, and that a session is a fork."""

from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.branching import walk
from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionStarted


def in_folder(workspace: Path) -> FakeSession:
    """A recorded session that works in this folder."""
    records = [
        record.model_copy(update={"payload": record.payload.model_copy(update={"workspace": str(workspace)})})
        if isinstance(record, Envelope) and isinstance(record.payload, SessionStarted)
        else record
        for record in golden("streaming")
    ]
    return FakeSession(records)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository `~/shop` on the branch `main`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "shop"
    (work / ".git" / "objects").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return work


async def test_the_header_shows_the_folder_and_the_branch(repository: Path) -> None:
    async with open_app(session=in_folder(repository), size=(120, 40)) as driven:
        await driven.until(lambda: "~/shop main  " in driven.rows()[0])
        assert " fork " not in driven.rows()[0]


async def test_a_small_terminal_shows_no_more_of_the_folder_than_fits(repository: Path) -> None:
    async with open_app(session=in_folder(repository), size=(80, 24)) as driven:
        await driven.until(lambda: driven.app.header.branch == "main")
        assert "~/shop" not in driven.rows()[0] and "ask" in driven.rows()[0]


async def test_the_header_says_that_a_session_is_a_fork(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        assert "/home/ada/timesheet  " in walked.rows()[0] and " fork " not in walked.rows()[0]
        await walked.slash("/tree")
        await walked.keys("end", "enter")
        assert " fork  " in walked.rows()[0]
