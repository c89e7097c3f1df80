"""Another session in place of the open one: what is sent meanwhile is meant for the new one, and nothing is lost."""

import asyncio
from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import GOLDEN, NOWHERE, Driven, golden, open_app
from tests.tui.app.sessions_story import Programs, told
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import SessionLocked
from tui_agent.protocol.commands import Command, Rename, SetPolicy, SubmitPrompt
from tui_agent.tui.screens.sessions.screen import SessionsScreen


def knowing(*ids: str) -> Programs:
    """A command line that knows these sessions."""
    return Programs([told(1, "one", "x", 60, id=name) for name in ids])


def held_back(**options: object) -> FakeSession:
    """A session that opens when its gate does."""
    session = FakeSession(golden("night_shift"), session_id="ses_b", **options)  # type: ignore[arg-type]
    session.gate = asyncio.Event()
    return session


def said(commands: list[Command]) -> list[str]:
    return [one.text for one in commands if isinstance(one, SubmitPrompt)]


async def send(driven: Driven, text: str) -> None:
    await driven.type(text)
    await driven.press("escape", "enter") if text.startswith("/") else await driven.press("enter")


@pytest.mark.slow_variants
@pytest.mark.parametrize("way", ["/new", "/reset-session", "/session ses_b"])
async def test_a_message_that_is_sent_while_another_session_opens_goes_there(way: str) -> None:
    second = held_back()
    async with open_app(golden("night_shift"), outside=knowing("ses_b")) as driven:
        driven.app.spawn = lambda _: second
        await send(driven, way)
        assert "Enter send" in driven.rows()[-1] and "Ctrl+P" not in driven.rows()[-1]
        await send(driven, "my words")
        assert driven.session.submitted == [] and "your message is sent" in driven.text()
        await send(driven, "/rename nights")
        await driven.type("not yet")
        assert second.gate is not None
        second.gate.set()
        await driven.until(lambda: len(second.submitted) == 2)
        assert said(second.submitted) == ["my words"] and isinstance(second.submitted[1], Rename)
        assert said(driven.session.submitted) == []
        assert driven.app.prompt.editor.text == "not yet"
        await driven.until(lambda: "Ctrl+P palette" in driven.rows()[-1])


async def test_a_message_for_a_session_that_cannot_be_opened_comes_back_into_the_prompt() -> None:
    locked = held_back(failure=SessionLocked("Another process holds ses_b.", hint="Close it there."))
    async with open_app(golden("night_shift"), outside=knowing("ses_b")) as driven:
        driven.app.spawn = lambda _: locked
        await send(driven, "/session ses_b")
        await send(driven, "my words")
        await driven.type("and more")
        assert locked.gate is not None
        locked.gate.set()
        await driven.until(lambda: driven.app.notice.display)
        assert driven.app.prompt.editor.text == "my words\nand more"
        assert "opening" not in driven.app.status.view.word
        await driven.press("enter")
        assert said(driven.session.submitted) == ["my words\nand more"]


async def test_what_follows_a_switch_that_waited_waits_for_that_session_too() -> None:
    second, third = held_back(), held_back()
    coming = [second, third]
    async with open_app(golden("night_shift")) as driven:
        driven.app.spawn = lambda _: coming.pop(0)
        for text in ("/new", "/new", "for the third"):
            await send(driven, text)
        for session in (second, third):
            assert session.gate is not None
            session.gate.set()
            await driven.until(lambda opened=session: driven.app.controller.session is opened)  # type: ignore[union-attr, misc]
        await driven.until(lambda: bool(third.submitted))
        assert said(third.submitted) == ["for the third"] and said(second.submitted) == []


async def test_two_messages_after_the_engines_death_open_the_session_once() -> None:
    second = held_back()
    opened: list[object] = []

    def spawn(options: object) -> FakeSession:
        opened.append(options)
        return second

    async with open_app(golden("night_shift")) as driven:
        driven.session.end()
        await driven.pilot.pause()
        driven.app.spawn = spawn
        await send(driven, "one")
        await send(driven, "two")
        assert second.gate is not None
        second.gate.set()
        await driven.until(lambda: len(second.submitted) == 2)
        assert len(opened) == 1 and driven.app.prompt.editor.text == ""


@pytest.mark.slow
async def test_words_that_are_no_session_search_the_sessions_and_rename_nothing() -> None:
    async with open_app(golden("night_shift"), outside=knowing("ses_b")) as driven:
        for words in ("night shift", "nights"):
            await send(driven, f"/session {words}")
            await driven.until(lambda: isinstance(driven.app.screen, SessionsScreen))
            assert isinstance(driven.app.screen, SessionsScreen) and driven.app.screen.text == words
            await driven.app.close_screens()
        assert driven.session.submitted == []


async def test_while_words_are_looked_up_the_status_says_searching_and_not_opening() -> None:
    gate = asyncio.Event()

    async def listing(*words: str) -> tuple[int, str]:
        if "--id=Range" in words:
            await gate.wait()
        return 0, ""

    async with open_app(golden("night_shift"), outside=listing) as driven:
        await send(driven, "/sessions Range")
        await driven.until(lambda: "searching  the sessions" in driven.text())
        assert "opening" not in driven.text()
        gate.set()
        await driven.until(lambda: isinstance(driven.app.screen, SessionsScreen))


@pytest.mark.slow_variants
@pytest.mark.parametrize("way", ["/session ses_typo", "/resume ses_typo", "/resume nights"])
async def test_a_session_that_is_not_there_is_neither_made_nor_a_name(way: str) -> None:
    opened: list[object] = []
    async with open_app(golden("night_shift"), outside=knowing("ses_b")) as driven:
        driven.app.spawn = lambda options: opened.append(options) or held_back()  # type: ignore[func-returns-value]
        await send(driven, way)
        await driven.until(lambda: driven.app.notice.display)
        assert f"No session {way.split()[1]}." in driven.text()
        assert not opened and driven.session.submitted == []
        await send(driven, "goes on here")
        assert said(driven.session.submitted) == ["goes on here"]


@pytest.mark.slow
async def test_the_beginning_of_an_id_opens_it_and_one_of_several_asks_for_more() -> None:
    other = FakeSession(golden("night_shift"), session_id="ses_two")
    asked: list[str | None] = []
    async with open_app(golden("night_shift"), outside=knowing("ses_two", "ses_three")) as driven:
        driven.app.spawn = lambda options: asked.append(options.session) or other  # type: ignore[func-returns-value]
        await send(driven, "/session ses_t")
        await driven.until(lambda: driven.app.notice.display)
        assert "2 sessions begin with ses_t: ses_two, ses_three. Type more of the id." in driven.text()
        await send(driven, "/session ses_tw")
        await driven.until(lambda: driven.app.session_id == "ses_two")
        assert asked == ["ses_two"]


@pytest.mark.slow_variants
@pytest.mark.parametrize("way", ["/session ses_b", "/resume ses_b", "list"])
async def test_another_session_opens_with_the_settings_that_it_was_recorded_with(
    tmp_path: Path, way: str
) -> None:
    started = SessionOptions(
        cwd=NOWHERE,
        data_dir=tmp_path,
        model="a/b",
        effort="low",
        policy="plan",
        agent="x",
        carry_from="latest",
    )
    opened: list[SessionOptions] = []
    other = FakeSession(golden("night_shift"), session_id="ses_b")
    async with open_app(golden("night_shift"), options=started, outside=knowing("ses_b")) as driven:
        driven.app.spawn = lambda options: opened.append(options) or other  # type: ignore[func-returns-value]
        if way == "list":
            driven.app.do("open_session", "ses_b")
        else:
            await send(driven, way)
        await driven.until(lambda: driven.app.session_id == "ses_b")
        assert opened == [SessionOptions(cwd=NOWHERE, data_dir=tmp_path, session="ses_b")]


async def test_while_a_turn_runs_a_name_can_be_given_and_no_other_session_opened() -> None:
    async with open_app(golden("streaming"), outside=knowing("ses_b")) as driven:
        await driven.type("/rename nights")
        await driven.press("enter")
        await driven.until(lambda: driven.session.submitted)
        assert isinstance(driven.session.submitted[0], Rename)
        driven.app.hide_notice()
        await driven.type("/session ses_b")
        await driven.press("enter")
        await driven.until(lambda: driven.app.notice.display)
        assert "A turn is running." in driven.text() and len(driven.session.submitted) == 1


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_offer_to_watch_a_locked_session_is_on_the_page_and_typed_text_stays(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    (tmp_path / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    locked = FakeSession(failure=SessionLocked("The session ses_b is in use by process 7."))
    programs = Programs([told(1, "held", "x", 60, id="ses_b", path=str(tmp_path), open=True)])
    programs.gates["--json"] = asyncio.Event()
    async with open_app(session=locked, outside=programs, size=size) as driven:
        await driven.until(lambda: "in use by process 7" in driven.text())
        await driven.type("create a notes")
        programs.gates["--json"].set()
        await driven.until(lambda: "watch the session here, read only" in driven.text())
        await driven.type(" file please")
        assert driven.app.prompt.editor.text == "create a notes file please"
        assert len(driven.app.screen_stack) == 1 and driven.text().count("in use by process 7") == 1


@pytest.mark.slow_variants
@pytest.mark.parametrize("is_gone", [True, False])
async def test_a_watched_session_is_opened_once_the_other_window_has_gone(
    tmp_path: Path, is_gone: bool
) -> None:
    (tmp_path / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    locked = FakeSession(failure=SessionLocked("The session ses_b is in use by process 7."))
    row = told(1, "held", "x", 60, id="ses_b", path=str(tmp_path), open=True)
    programs = Programs([row])
    async with open_app(session=locked, outside=programs) as driven:
        await driven.until(lambda: "3  Watch" in driven.text())
        await driven.press("3")
        await driven.until(lambda: " LIVE " in driven.text())
        driven.app.spawn = lambda _: FakeSession(golden("night_shift"), session_id="ses_b")
        programs.sessions = [{**row, "open": not is_gone}]
        await driven.press("escape")
        if is_gone:
            await driven.until(lambda: driven.app.session_id == "ses_b")
            await driven.settle()
        else:
            await driven.until(lambda: len(programs.of("list")) > 1)
        assert ("in use by process 7" in driven.text()) is not is_gone


async def test_a_new_session_has_no_offer_to_watch_the_locked_one(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    locked = FakeSession(failure=SessionLocked("The session ses_b is in use by process 7."))
    programs = Programs([told(1, "held", "x", 60, id="ses_b", path=str(tmp_path), open=True)])
    programs.gates["--json"] = asyncio.Event()
    async with open_app(session=locked, outside=programs) as driven:
        await driven.until(lambda: "New session" in driven.text() and "in use by process 7" in driven.text())
        driven.app.spawn = lambda _: FakeSession(golden("night_shift"), session_id="ses_new")
        await driven.press("1")
        await driven.until(lambda: driven.app.session_id == "ses_new")
        programs.gates["--json"].set()
        await driven.settle()
        assert "Watch" not in driven.text() and len(driven.app.screen_stack) == 1


@pytest.mark.slow
async def test_a_session_that_another_window_holds_can_be_looked_on(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    lines = (GOLDEN / "night_shift.jsonl").read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:150]))
    locked = FakeSession(
        failure=SessionLocked(
            "The session ses_b is in use by process 7.", hint="To watch it: tui-agent --resume ses_b"
        )
    )
    programs = Programs([told(1, "held", "x", 60, id="ses_b", path=str(tmp_path), open=True)])
    async with open_app(golden("night_shift"), outside=programs) as driven:
        driven.app.spawn = lambda _: locked
        await send(driven, "/session ses_b")
        await driven.until(lambda: "in use by process 7" in driven.text())
        assert driven.app.notice.text == (
            "The session ses_b is in use by process 7. "
            "Close it there first, or choose it in /sessions and press R to watch it."
        )
        assert len(driven.app.screen_stack) == 1
        await send(driven, "/sessions")
        await driven.until(lambda: "1 session" in driven.text())
        await driven.press("down", "r")
        await driven.until(lambda: "event 149 of 149" in driven.text())
        assert " LIVE " in driven.text() and "following" in driven.text() and "paused" not in driven.text()
        with log.open("ab") as more:
            more.write(b"".join(lines[150:160]))
        await driven.until(lambda: "event 159 of 159" in driven.text())
        await driven.press("left")
        with log.open("ab") as more:
            more.write(b"".join(lines[160:170]))
        await driven.until(lambda: "event 158 of 169" in driven.text())
        assert " REPLAY " in driven.text() and "1x paused" in driven.text()
        await driven.press("escape")
        assert not driven.session.is_closed and log.read_bytes() == b"".join(lines[:170])


@pytest.mark.slow_variants
@pytest.mark.parametrize(("presses", "policy"), [(1, "accept-edits"), (2, "plan"), (3, "ask")])
async def test_each_press_for_another_policy_counts_and_shows_while_a_session_opens(
    presses: int, policy: str
) -> None:
    second = held_back()
    async with open_app(golden("night_shift")) as driven:
        driven.app.spawn = lambda _: second
        await send(driven, "/new")
        await driven.press(*["shift+tab"] * presses)
        assert driven.app.prompt.policy_row.policy == policy
        assert f" {policy} " in driven.rows()[0] and "your choice takes effect" in driven.text()
        assert second.gate is not None and driven.session.submitted == []
        second.gate.set()
        await driven.until(lambda: len(second.submitted) == presses)
        chosen = second.submitted[-1]
        assert isinstance(chosen, SetPolicy) and chosen.policy == policy


async def test_a_policy_chosen_for_a_session_that_cannot_be_opened_is_not_shown_any_more() -> None:
    locked = held_back(failure=SessionLocked("Another process holds ses_b.", hint="Close it there."))
    async with open_app(golden("night_shift"), outside=knowing("ses_b")) as driven:
        driven.app.spawn = lambda _: locked
        await send(driven, "/session ses_b")
        await driven.press("shift+tab")
        assert driven.app.prompt.policy_row.policy == "accept-edits"
        assert locked.gate is not None
        locked.gate.set()
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "ask")
        assert "accept-edits" not in driven.text() and driven.session.submitted == []
