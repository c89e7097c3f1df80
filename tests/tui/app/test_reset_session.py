"""`/reset-session`: a fresh session that is told what the one before came to; the old one is kept and named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import SessionNotFound
from tui_agent.protocol.commands import SetPolicy
from tui_agent.protocol.events.session import SessionContextLoaded, SettingsChanged
from tui_agent.protocol.ids import SessionId

OLD = "ses_0000000000000001"
SUMMARY = "This session continues an earlier one.\n\n## Turn 1\n- Asked: the weekly report\n"


def stored(tmp_path: Path) -> FakeSession:
    """The golden session, on the disk."""
    (tmp_path / "events.jsonl").write_text("")
    return FakeSession(golden("night_shift"), folder=str(tmp_path))


def fresh(options: SessionOptions) -> FakeSession:
    """What the engine makes of the options."""
    second = FakeSession(golden("night_shift")[:2], session_id="ses_b")
    if options.carry_from:
        summary = SessionContextLoaded(from_session=SessionId(options.carry_from), turns=2, summary=SUMMARY)
        second.feed(summary)
    return second


async def reset(
    driven: Driven, words: str, spawn: Callable[[SessionOptions], FakeSession] = fresh
) -> SessionOptions:
    opened: list[SessionOptions] = []

    def remember(options: SessionOptions) -> FakeSession:
        opened.append(options)
        return spawn(options)

    driven.app.spawn = remember
    await driven.type(words)
    await driven.press("escape", "enter")
    while not opened or any(worker.name in ("reset", "new", "switch") for worker in driven.app.workers):
        await driven.pilot.pause(0.01)
    await driven.pilot.pause()
    return opened[0]


async def test_a_reset_carries_the_open_session_on_and_names_where_it_is_kept(tmp_path: Path) -> None:
    async with open_app(session=stored(tmp_path)) as driven:
        options = await reset(driven, "/reset-session")
        assert (options.session, options.carry_from) == (None, OLD)
        assert driven.app.notice.text == f"Started a new session. /sessions {OLD} opens the old one."
        while "Added a summary" not in driven.text():
            await driven.pilot.pause(0.01)
        (row,) = [row for row in driven.rows() if "Added a summary" in row]
        assert f"Added a summary of 2 turns from {OLD}  open" in row
        assert "weekly report" not in driven.text()
        await driven.press("tab", "ctrl+o")
        assert "Asked: the weekly report" in driven.text()


async def test_another_session_can_be_carried_on(tmp_path: Path) -> None:
    async with open_app(session=stored(tmp_path)) as driven:
        assert (await reset(driven, "/reset-session ses_other")).carry_from == "ses_other"
        while "2 turns from ses_other" not in driven.text():
            await driven.pilot.pause(0.01)


async def test_a_session_in_which_nothing_was_said_is_not_carried_on() -> None:
    async with open_app(golden("night_shift")[:2]) as driven:
        assert (await reset(driven, "/reset-session")).carry_from is None


async def test_after_a_reset_the_next_new_session_carries_nothing(tmp_path: Path) -> None:
    async with open_app(
        session=stored(tmp_path),
        options=SessionOptions(cwd=tmp_path, data_dir=tmp_path, carry_from="ses_first"),
    ) as driven:
        assert (await reset(driven, "/new")).carry_from is None


async def test_a_new_session_is_in_the_folder_of_the_open_one_and_has_the_chosen_policy(
    tmp_path: Path,
) -> None:
    session = stored(tmp_path)
    async with open_app(session=session, options=SessionOptions(cwd=tmp_path, data_dir=tmp_path)) as driven:
        session.feed(SettingsChanged(key="policy", value="accept-edits", previous="ask"))
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "accept-edits")
        assert driven.app.controller is not None
        options = await reset(driven, "/new")
        assert (options.policy, options.cwd) == (None, Path(driven.app.controller.state.workspace))
        assert options.cwd != tmp_path
        page = driven.app.controller.chat.start
        await driven.until(lambda: page.content.folder == str(options.cwd))


async def test_the_policy_of_the_command_line_holds_until_another_is_chosen(tmp_path: Path) -> None:
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path, policy="plan")
    async with open_app(session=stored(tmp_path), options=options) as driven:
        assert (await reset(driven, "/new")).policy == "plan"
    session = stored(tmp_path)
    async with open_app(session=session, options=options) as driven:
        await driven.press("shift+tab")
        (chosen,) = [command for command in session.submitted if isinstance(command, SetPolicy)]
        session.feed(SettingsChanged(key="policy", value=chosen.policy, previous="ask"))
        await driven.settle()
        assert (await reset(driven, "/new")).policy == "accept-edits"


@pytest.mark.slow
async def test_where_there_is_no_such_session_the_open_one_stays(tmp_path: Path) -> None:
    missing = SessionNotFound(
        "No session begins with 'ses_x'.", hint="Run `tui-agent sessions list` to list all sessions."
    )
    async with open_app(session=stored(tmp_path)) as driven:
        await reset(driven, "/reset-session ses_x", lambda options: FakeSession(failure=missing))
        assert "No session begins with 'ses_x'" in driven.text()
        assert driven.app.controller is not None and driven.app.controller.session is driven.session


@pytest.mark.slow_variants
@pytest.mark.parametrize("words", ["/new", "/reset-session"])
async def test_a_fresh_session_has_none_of_the_tasks_and_files_of_the_one_before(
    tmp_path: Path, words: str
) -> None:
    async with open_app(session=stored(tmp_path), size=(80, 24)) as driven:
        assert "Todo none" not in driven.text()
        assert any("F2 todo" in row and " file" in row for row in driven.rows())
        await reset(driven, words)
        await driven.press("escape")  # what is said about it lies over that row
        (strip,) = [row for row in driven.rows() if "F2 todo" in row]
        assert strip.split() == ["Todo", "none", "F2", "todo", "F3", "trace"]
