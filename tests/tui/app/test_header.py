"""The header of the main screen: the folder, the git branch, and that a session is a fork."""

import asyncio
from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.stubs.rows import rows
from tests.tui.app.branching import walk
from tests.tui.app.driving import NOWHERE, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.tui.panes.header import Header
from tui_agent.tui.screen_layout import shape
from tui_agent.tui.theme.first_frame import named_theme
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import Looks, Palette


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
        await driven.until(lambda: "▌ ~/shop (main)  " in driven.rows()[0])
        assert " fork " not in driven.rows()[0]
        await driven.press("f3")
        assert "▌ ~/shop (main)  " in driven.rows()[0], "a page shows it too"


async def test_the_header_follows_a_branch_that_a_command_changes(repository: Path) -> None:
    async with open_app(session=in_folder(repository), size=(120, 40)) as driven:
        await driven.until(lambda: "~/shop (main)  " in driven.rows()[0])
        (repository / ".git" / "HEAD").write_text("ref: refs/heads/fix/dates\n")
        await driven.until(lambda: "~/shop (fix/dates)  " in driven.rows()[0])
        (repository / ".git" / "HEAD").write_text("a" * 40 + "\n")
        await driven.until(lambda: "~/shop (detached)  " in driven.rows()[0])


async def test_outside_a_repository_the_header_shows_the_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with open_app(session=in_folder(tmp_path), size=(120, 40)) as driven:
        assert driven.rows()[0].startswith("  ▌ ~  night-shift-hours")


async def test_a_small_terminal_shows_what_fits_beside_the_title(repository: Path) -> None:
    async with open_app(session=in_folder(repository), size=(80, 24)) as driven:
        await driven.until(lambda: driven.app.header.branch == "main")
        assert driven.rows()[0].startswith("  ▌ shop (main)  night-shift-…  ")
        await driven.pilot.resize_terminal(60, 20)
        await driven.until(lambda: driven.rows()[0].startswith("  ▌ ~/shop (main)  night-shift-hou…  "))
        await driven.pilot.resize_terminal(46, 16)
        await driven.until(lambda: driven.rows()[0].startswith("  ▌ night-shift-hours  "))


async def test_the_header_says_that_a_session_is_a_fork(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        assert "/home/ada/timesheet  " in walked.rows()[0] and " fork " not in walked.rows()[0]
        await walked.slash("/tree")
        await walked.keys("end", "enter")
        assert "▌ /home/ada/timesheet fork  " in walked.rows()[0]
        await walked.pilot.resize_terminal(80, 24)
        await walked.until(lambda: "▌ timesheet fork  night-shi…  " in walked.rows()[0])


@rows(
    "branch, shown",
    [
        ("main", "▌ timesheet (main) fork  night-…"),
        ("a-branch-name", "▌ timesheet (a-branch-n…) fork"),
        ("feature/very-long-name", "▌ timesheet (feature/ve…) fork"),
    ],
)
def test_a_small_header_of_a_fork_prefers_folder_and_branch_to_the_title(branch: str, shown: str) -> None:
    class SmallHeader(Header):
        shape = shape(80, 24)  # type: ignore[assignment]
        looks = Looks(Palette(named_theme("night", {})), UNICODE, motion=False)  # type: ignore[assignment]

    header = SmallHeader()
    header.state = SessionStateView(title="night-shift-hours", workspace="/home/ada/timesheet", is_fork=True)
    header.branch = branch
    assert "".join(text for text, _ in header.left_parts(36)).strip() == shown


async def test_the_header_does_not_call_a_session_new_while_it_is_opened_again() -> None:
    for options, title in (({"continue_latest": True}, "opening the session"), ({}, "new session")):
        session = FakeSession(golden("night_shift"))
        session.gate = asyncio.Event()
        async with open_app(session=session, options=SessionOptions(cwd=NOWHERE, **options)) as driven:
            assert title in driven.rows()[0]
            session.gate.set()


async def test_the_tasks_are_not_called_none_while_their_session_is_being_opened() -> None:
    session = FakeSession(golden("night_shift"))
    session.gate = asyncio.Event()
    options = SessionOptions(cwd=NOWHERE, continue_latest=True)
    async with open_app(session=session, options=options, size=(80, 24)) as driven:
        assert "Todo" in driven.text() and "Todo none" not in driven.text()
        session.gate.set()
        await driven.until(lambda: "Todo 5/5 done" in driven.text())
