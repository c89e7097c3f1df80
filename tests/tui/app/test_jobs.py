"""`/jobs`: what runs in the background, what it prints, and the way to end it."""

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, end_grace_period, open_app
from tests.tui.app.jobs_story import CALL, SERVER, story
from tests.tui.app.replaying import open_replay
from tui_agent.protocol.commands import StopJob
from tui_agent.protocol.events.job import JobFinished, JobProgress, JobStarted
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import JobId
from tui_agent.tui.modals.confirm import LeaveQuestion
from tui_agent.tui.screens.jobs import JobsScreen
from tui_agent.tui.terminal.terminal import farewell


async def opened(driven: Driven) -> JobsScreen:
    driven.app.do("jobs")
    await driven.pilot.pause()
    await driven.pilot.pause()
    page = driven.app.screen
    assert isinstance(page, JobsScreen)
    return page


async def grown(driven: Driven, page: JobsScreen) -> None:
    """What was fed stands on the page."""
    await driven.settle()
    page.follow()
    await driven.pilot.pause()
    await driven.pilot.pause()


async def test_every_job_stands_with_its_state_time_and_last_line() -> None:
    async with open_app(session=story(), size=(160, 45)) as driven:
        await opened(driven)
        shown = driven.text()
        for words in (
            "2 of 5 running",
            SERVER,
            "exit 0",
            "exit 2",
            "stopped by you",
            "[Finished]",
            "2.4 MB",
        ):
            assert words in shown, words


async def test_a_narrow_list_shows_the_commands_rather_than_the_size_of_their_output() -> None:
    session = story()
    session.feed(JobStarted(job_id=JobId("job-6"), command="sleep 600", call_id=CALL))
    session.feed(JobFinished(job_id=JobId("job-6"), end="session"))
    async with open_app(session=session, size=(60, 20)) as driven:
        await opened(driven)
        [row] = [row for row in driven.rows() if "job-6" in row]
        assert "sleep 600" in row and "ended with the session" in row


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_the_output_of_the_chosen_job_is_followed(size: tuple[int, int]) -> None:
    async with open_app(session=story(), size=size) as driven:
        page = await opened(driven)
        await driven.press("down")
        if page.narrow:
            await driven.press("enter")
        assert "localhost:5173" in driven.text()
        driven.session.feed(JobProgress(job_id=JobId("job-4"), text="GET / 200\n", size=2_400_010))
        await grown(driven, page)
        assert "GET / 200" in driven.text()
        assert page.chosen is not None and page.chosen.job_id == "job-4"


async def test_a_job_that_was_chosen_is_ended_and_says_so() -> None:
    async with open_app(session=story()) as driven:
        page = await opened(driven)
        await driven.press("down", "e")
        asked = [one for one in driven.session.submitted if isinstance(one, StopJob)]
        assert [one.job_id for one in asked] == ["job-4"]
        driven.session.feed(JobFinished(job_id=JobId("job-4"), end="stopped", stopped_by="user"))
        await grown(driven, page)
        assert "1 of 5 running" in driven.text()
        await driven.press("e")
        assert "has already ended" in driven.text()


async def test_all_jobs_are_ended_after_a_question_only() -> None:
    async with open_app(session=story()) as driven:
        await opened(driven)
        await driven.press("a")
        assert "Stop 2 background jobs?" in driven.text()
        await driven.press("escape")
        assert not [one for one in driven.session.submitted if isinstance(one, StopJob)]


async def test_the_whole_output_opens_to_be_read() -> None:
    async with open_app(session=story()) as driven:
        await opened(driven)
        await driven.press("down", "enter")
        await driven.pilot.pause()
        assert "ready in 312 ms" in driven.text() and "\x1b" not in driven.text()


@pytest.mark.parametrize(("size", "shown"), [((120, 40), True), ((60, 20), True), ((20, 5), False)])
async def test_the_header_counts_what_runs(size: tuple[int, int], shown: bool) -> None:
    async with open_app(session=story(), size=size) as driven:
        assert ("2 jobs" in driven.rows()[0]) is shown


async def test_no_job_runs_where_the_engine_is_gone() -> None:
    async with open_app(session=story(), size=(160, 45)) as driven:
        driven.session.end()
        while "engine ended" not in driven.text():
            await driven.pilot.pause(0.01)
        assert "2 jobs" not in driven.rows()[0]
        await opened(driven)
        assert "0 of 5 running" in driven.text() and "ended with the program" in driven.text()


async def test_without_a_job_the_page_says_when_there_is_one() -> None:
    async with open_app([], size=(80, 24)) as driven:
        page = await opened(driven)
        assert "No background jobs yet." in driven.text() and "a long build." in driven.text()
        await driven.press("enter", "e", "a")
        assert page.is_attached and "a long build." in driven.text()


@pytest.mark.slow
async def test_a_replay_shows_the_jobs_as_they_were() -> None:
    records = story().records
    early = next(at for at, one in enumerate(records) if one.seq and "job.finished" in one.model_dump_json())
    async with open_replay(list(records), size=(100, 30), to_seq=early - 1) as shown:
        await shown.press("j")
        await shown.pilot.pause()
        assert "4 passed" in shown.text() and "running" in shown.text() and "exit 0" not in shown.text()
    async with open_replay(list(records), size=(100, 30), to_seq=len(records) - 1) as shown:
        await shown.press("j")
        await shown.pilot.pause()
        assert "exit 0" in shown.text() and "stopped by you" in shown.text()


async def test_leaving_says_that_the_jobs_end() -> None:
    async with open_app(session=story()) as driven:
        driven.app.leave()
        await driven.pilot.pause()
        assert driven.app.ended_jobs == 2
    assert "2 background jobs ended with the session." in farewell("", "", jobs=2)


async def test_another_session_is_opened_only_if_the_jobs_may_end() -> None:
    async with open_app(session=story()) as driven:
        other, controller = FakeSession([]), driven.app.controller
        assert controller is not None
        driven.app.spawn = lambda _: other
        for key in ("n", "y"):
            await driven.type("/new")
            await driven.press("enter")
            await driven.until(lambda: isinstance(driven.app.screen, LeaveQuestion))
            assert "2 background jobs are running." in driven.text() and not driven.session.is_closed
            end_grace_period(driven.app.screen)
            await driven.press(key)
            await driven.until(lambda: not isinstance(driven.app.screen, LeaveQuestion))
            await driven.until(lambda: not controller.sessions.under_way)
            assert (controller.session is other) == (key == "y")


async def test_the_footer_names_only_keys_that_do_something() -> None:
    async with open_app([], size=(120, 40)) as driven:
        await opened(driven)
        assert driven.rows()[-1].split("F1")[0].split() == ["Esc", "back"]
        assert "No background jobs yet." in driven.text() and "state" not in driven.text()
    async with open_app(session=story(), size=(120, 40)) as driven:
        page = await opened(driven)
        assert "E stop it" in driven.rows()[-1] and "A stop all" in driven.rows()[-1]
        await driven.press("end")
        assert "E stop it" not in driven.rows()[-1] and "Enter whole output" in driven.rows()[-1]
        for number in (4, 5):
            driven.session.feed(JobFinished(job_id=JobId(f"job-{number}"), end="exited", exit_code=0))
        await grown(driven, page)
        assert "A stop all" not in driven.rows()[-1]


async def test_a_long_time_stands_apart_from_the_size() -> None:
    session = story()
    session.feed(UserMessageReceived(text="go on"), after=61 * 60.0 + 4)
    async with open_app(session=session, size=(80, 24)) as driven:
        await opened(driven)
        [row] = [row for row in driven.rows() if "job-5" in row]
        assert row.endswith("31 B   1 h 01 min")
