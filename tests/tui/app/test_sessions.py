"""The list of all sessions: found as you type, by day, with what is known of each; and what is begun from it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.strip import Strip

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import GOLDEN, Driven, end_grace_period, golden, open_app
from tests.tui.app.sessions_story import NOW, SESSIONS, Programs, open_sessions, shown, told
from tui_agent.protocol.commands import Rename
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.fork_form import ForkForm
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.sessions.session_rows import ListLine, arrange_rows, filter_rows, parse_sessions

BIG = 5_000


def names(screen: SessionsScreen) -> list[str]:
    return [line.row.id[-1] if line.row else line.group for line in screen.listing.items]


def sort(screen: SessionsScreen) -> str:
    return screen.table.sort


def over(driven: Driven) -> object:
    """What lies over the app now."""
    return driven.app.screen


def hear(driven: Driven) -> None:
    """Answer the question at once."""
    sheet = over(driven)
    assert isinstance(sheet, Confirm)
    end_grace_period(sheet)


async def typed(driven: Driven, text: str) -> SessionsScreen:
    await driven.type(text)
    return await shown(driven)


async def test_sessions_stand_by_day_with_forks_below_their_parents_and_sums_above() -> None:
    async with open_sessions(Programs()) as (driven, screen):
        assert names(screen) == [
            "Today", "1", "2", "3", "", "Yesterday", "4", "5", "", "This month", "6", "7", "8", "", "Earlier", "9",
        ]  # fmt: skip
        text = driven.text()
        assert "9 sessions   $2.26   4.9 MB" in text
        assert "└ break-rounding, fork at 88" in text and "no name" in text
        for mark in (
            "✓ night-shift-hours",
            "■ └ break",
            "✗ why-is",
            "? rename-week",
            "· first look",
            "! of another",
        ):
            assert mark in text


async def test_the_pane_says_what_the_session_was_about() -> None:
    async with open_sessions(Programs()) as (driven, _):
        text = driven.text()
        for words in (
            "/code/timesheet, claude-sonnet-4-5",
            "369 events",
            "✓ verified",
            "the night shift. Find out why and fix it.",
            "Last answer",
            "+15      tests/test_entry.py",
            "5/5 done",
            "42.2k of 200k, 21 %",
            "nothing",
            "└ fork at event 88  ",
            "2 tests fail",
        ):
            assert words in text


async def test_names_are_found_at_once_and_texts_when_the_typing_rests() -> None:
    programs = Programs(texts={"ses_0000000000000005": "the slow shift of the runner"})
    answered = asyncio.Event()
    programs.gates = dict.fromkeys(("sh", "shi", "shif"), answered)
    async with open_sessions(programs) as (driven, screen):
        await driven.type("shif")
        assert [name for name in names(screen) if name.isdigit()] == ["1"]
        answered.set()
        screen = await shown(driven)
        assert [name for name in names(screen) if name.isdigit()] == ["1", "5"]
        assert "2 of 9" in driven.text()
        await driven.press("escape")
        await typed(driven, "runner")
        assert "Found in an answer, event 41, 2 more" in driven.text()
        assert "the slow shift of the runner" in driven.text()


@pytest.mark.slow
async def test_a_search_in_an_index_that_is_behind_says_so() -> None:
    programs = Programs(texts={"ses_0000000000000005": "the slow shift of the runner"})
    programs.warning["search"] = "tui-agent: Another process holds the index of the sessions.\n"
    async with open_sessions(programs) as (driven, screen):
        screen = await typed(driven, "runner")
        assert [name for name in names(screen) if name.isdigit()] == ["5"]
        assert "Another process holds the index of the sessions." in driven.text()


async def test_until_names_and_texts_are_searched_the_list_says_only_that_it_searches() -> None:
    programs = Programs()
    listed, searched = asyncio.Event(), asyncio.Event()
    programs.gates |= {"--json": listed, "Range": searched}
    async with open_app(golden("night_shift"), outside=programs) as driven:
        driven.app.do("sessions")
        await driven.until(lambda: isinstance(driven.app.screen, SessionsScreen))
        await driven.type("Range")
        await driven.until(lambda: any(words[-1] == "Range" for words in programs.of("search")))
        for gate in (listed, searched):
            assert 'Searching for "Range" …' in driven.text() and "Nothing matches" not in driven.text()
            gate.set()
            await driven.pilot.pause()
        await driven.until(lambda: 'Nothing matches "Range". Esc clears the search.' in driven.text())


async def test_what_matches_is_underlined() -> None:
    async with open_sessions(Programs()) as (driven, screen):
        await typed(driven, "shift")
        assert screen.chosen is not None
        strip = screen.draw_row(screen.chosen, 70, screen.pen)
        assert [segment.text for segment in strip if segment.style and segment.style.underline] == ["shift"]


async def test_a_stale_answer_never_replaces_a_newer_one() -> None:
    programs = Programs(texts={"ses_0000000000000004": "slow one", "ses_0000000000000006": "slower"})
    programs.gates["slow"] = asyncio.Event()
    async with open_sessions(programs) as (driven, screen):
        await driven.type("slow")
        await driven.until(lambda: any(words[-1] == "slow" for words in programs.of("search")))
        await typed(driven, "er")
        assert [name for name in names(screen) if name.isdigit()] == ["6"]
        programs.gates["slow"].set()
        await shown(driven)
        assert [name for name in names(screen) if name.isdigit()] == ["6"]


async def test_the_key_bar_of_the_list_shows_every_key_at_120_columns_and_the_main_ones_below() -> None:
    for width, keys in (
        (
            120,
            "Enter open  R replay  F fork  C compare  N rename  Delete  X export  / search  S sort  Tab here  Esc back",
        ),
        (100, "Enter open   R replay   F fork   C compare   N rename   Delete   X export   Esc back"),
    ):
        async with open_sessions(Programs(), size=(width, 40)) as (driven, _):
            await driven.press("down")
            assert keys in driven.rows()[-1]


@pytest.mark.slow
async def test_nothing_found_and_nothing_there_say_so_and_what_to_press() -> None:
    async with open_sessions(Programs()) as (driven, screen):
        await typed(driven, "shfit")
        assert 'Nothing matches "shfit". Esc clears the search.' in driven.text()
        await driven.press("escape")
        assert len([name for name in names(screen) if name.isdigit()]) == 9
        await driven.press("tab")
        assert "No sessions in this folder. Tab shows all." in driven.text()
        await driven.press("escape")
        assert not isinstance(over(driven), SessionsScreen)
    async with open_sessions(Programs([])) as (driven, _):
        assert "No sessions yet. Enter starts one. Or try: tui-agent demo" in driven.text()
        await driven.press("enter")
        assert not isinstance(over(driven), SessionsScreen)


@pytest.mark.slow
async def test_enter_waits_for_a_list_that_is_still_being_read() -> None:
    programs = Programs()
    programs.gates["--json"] = asyncio.Event()
    async with open_app(golden("night_shift"), outside=programs) as driven:
        await driven.type("/sessions")
        await driven.press("enter")
        await driven.until(lambda: "Reading the" in driven.text())
        await driven.press("enter")
        assert isinstance(over(driven), SessionsScreen)
        programs.gates["--json"].set()
        await driven.until(lambda: "csv-import-quotes" in driven.text())
        await driven.press("escape")
        assert not isinstance(over(driven), SessionsScreen)


async def test_a_list_that_cannot_be_had_says_why() -> None:
    programs = Programs()
    programs.failing["list"] = "tui-agent: The sessions in /x cannot be read: no permission."
    async with open_sessions(programs) as (driven, _):
        assert "The sessions could not be listed." in driven.text() and "no permission" in driven.text()


async def test_the_keys_of_the_list_mean_something_once_it_is_walked_and_letters_type_before() -> None:
    async with open_sessions(Programs()) as (driven, screen):
        await driven.press("s")
        assert (screen.top.field.text, sort(screen)) == ("s", "used")
        await driven.press("backspace", "down", "s")
        assert sort(screen) == "name" and names(screen)[:4] == ["2", "3", "4", "7"]
        await driven.press("s")
        assert sort(screen) == "cost" and names(screen)[0] == "6"
        await driven.press("s")
        assert sort(screen) == "size" and names(screen)[0] == "4" and "4 MB" in driven.text()
        await driven.press("slash", "q")
        assert screen.top.field.text == "q"


async def test_enter_opens_the_chosen_session() -> None:
    other = FakeSession(golden("streaming"), session_id="ses_0000000000000002")
    async with open_sessions(Programs()) as (driven, _):
        driven.app.spawn = lambda options: other if options.session == other.id else FakeSession([])
        await driven.press("down", "enter")
        await driven.until(lambda: driven.app.session_id == other.id)


async def test_below_a_hundred_columns_enter_shows_more_first() -> None:
    async with open_sessions(Programs(), size=(80, 24)) as (driven, _):
        assert "Last answer" not in driven.text() and "Enter details" in driven.text()
        await driven.press("enter")
        await shown(driven)
        assert "Last answer" in driven.text() and "Up/Down scroll" in driven.rows()[-1]
        await driven.press("escape")
        assert "Last answer" not in driven.text() and isinstance(over(driven), SessionsScreen)
        assert "Up/Down choose" in driven.rows()[-1]
        await typed(driven, "zzzz")
        assert 'Nothing matches "zzzz"' in driven.text()
        assert "Enter" not in driven.rows()[-1] and "Up/Down" not in driven.rows()[-1]


async def test_a_session_of_a_newer_version_is_not_opened() -> None:
    async with open_sessions(Programs([told(1, "later", "x", 60, other_version=True)])) as (driven, _):
        await driven.press("enter")
        assert (
            "Another version of tui-agent wrote this session. This version cannot open it." in driven.text()
        )


async def test_a_session_without_a_readable_time_has_no_age() -> None:
    unreadable = told(1, "unreadable", "x", 60, other_version=True, started=0.0, updated=0.0)
    async with open_sessions(Programs([unreadable])) as (driven, _):
        line = next(row for row in driven.rows() if "unreadable, open here" in row)
        assert line.split("$0.097")[1].split()[0] == "-", line


def recorded(folder: Path) -> Programs:
    """The sessions, the second of which has its log in this folder."""
    first, second = SESSIONS[:2]
    path = folder / str(second["id"])
    path.mkdir()
    (path / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    return Programs([first, second | {"path": str(path), "last_seq": 196}])


@pytest.mark.slow
async def test_a_fork_at_the_end_is_asked_where_and_opened(tmp_path: Path) -> None:
    programs = recorded(tmp_path)
    made = FakeSession(golden("streaming"), session_id="ses_new")
    async with open_sessions(programs) as (driven, _):
        driven.app.spawn = lambda options: made if options.session == made.id else FakeSession([])
        await driven.press("down", "f")
        await driven.until(lambda: isinstance(driven.app.screen, ForkForm))
        assert "break-rounding" in driven.text() and "/home/ada/timesheet-fork-196" in driven.text()
        assert "after “**Fixed.** A shift whose end" in driven.text()
        assert "after event" not in driven.text(), "the list shows no numbers of events"
        assert not programs.of("fork"), "nothing is made before it is said where"
        await driven.press("enter")
        await driven.until(lambda: driven.app.session_id == made.id)
        assert programs.of("fork") == [
            (
                *("sessions", "fork", "ses_0000000000000002", "--at", "196"),
                *("--folder=/home/ada/timesheet-fork-196", "--json"),
            )
        ]
        assert len(driven.app.screen_stack) == 1


async def test_a_fork_that_is_refused_is_said_in_the_list(tmp_path: Path) -> None:
    programs = recorded(tmp_path)
    programs.failing["fork"] = "tui-agent: The log of that session is damaged."
    async with open_sessions(programs) as (driven, screen):
        await driven.press("down", "f")
        await driven.until(lambda: isinstance(driven.app.screen, ForkForm))
        await driven.press("enter")
        await driven.until(lambda: "The log of that session is damaged." in driven.text())
        assert over(driven) is screen


async def test_export_and_compare_go_to_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Documents").mkdir()
    programs = Programs()
    async with open_sessions(programs) as (driven, _):
        await driven.press("down", "x")
        await driven.until(lambda: "Export break-rounding as html" in driven.text())
        await driven.press("enter")
        await driven.until(lambda: "Exported to /tmp/ses_0000000000000002.html" in driven.text())
        assert programs.of("export")[0][-2:] == ("--output", str(tmp_path / "Documents"))
        await driven.press("c")
        assert "compare break-rounding with …" in driven.text()
        await driven.press("enter")
        assert "These are the same session" in driven.text()
        await driven.press("c", "escape")
        assert "compare break-rounding with" not in driven.text() and isinstance(
            driven.app.screen, SessionsScreen
        )
        await driven.press("c", "down", "enter")
        await driven.until(lambda: any(words[0] == "compare" for words in programs.calls))
        asked = next(words for words in programs.calls if words[0] == "compare")
        assert asked[1:3] == ("ses_0000000000000002", "ses_0000000000000003")


async def test_a_name_is_typed_in_place_of_the_search() -> None:
    programs = Programs()
    async with open_sessions(programs) as (driven, _):
        await typed(driven, "break")
        await driven.press("down", "n")
        assert "new name" in driven.text()
        await driven.press("ctrl+u")
        await driven.type("x y")
        await driven.press("enter")
        screen = await shown(driven)
        assert [words[2:4] for words in programs.of("rename")] == [("ses_0000000000000003", "x y")]
        assert screen.text == "break"


async def test_the_open_session_is_renamed_by_its_engine() -> None:
    here = FakeSession(golden("night_shift"))
    programs = Programs([told(1, "old", "x", 60, id=here.id, open=True)])
    async with open_sessions(programs) as (driven, _):
        await driven.press("down", "n", "ctrl+u")
        await driven.type("new")
        await driven.press("enter")
        assert [one.title for one in driven.session.submitted if isinstance(one, Rename)] == ["new"]
        assert "new, open here" in driven.text() and not programs.of("rename")


async def test_deleting_asks_first() -> None:
    programs = Programs()
    async with open_sessions(programs) as (driven, _):
        await driven.press("down", "delete")
        assert isinstance(driven.app.screen, Confirm)
        assert (
            "break-rounding (369 events" in driven.text()
            and "The session's fork keeps its own copy of the events." in driven.text()
        )
        hear(driven)
        await driven.press("enter", "escape")
        assert not programs.of("rm") and isinstance(over(driven), SessionsScreen)
        await driven.press("delete")
        hear(driven)
        await driven.press("y")
        screen = await shown(driven)
        assert programs.of("rm") == [("sessions", "rm", "ses_0000000000000002", "--yes", "--json")]
        assert "Deleted break-rounding." in driven.text()
        assert [name for name in names(screen) if name.isdigit()][:2] == ["1", "3"]


async def test_a_session_that_someone_holds_is_not_deleted() -> None:
    async with open_sessions(Programs([told(2, "held", "x", 60, open=True)])) as (driven, _):
        await driven.press("down", "delete")
        assert "This session is open in another window. Close the session there first." in driven.text()


async def test_a_session_is_replayed_from_its_log(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    async with open_sessions(Programs([told(1, "night", "x", 60, path=str(tmp_path))])) as (driven, _):
        await driven.press("down", "r")
        screen = driven.app.screen
        assert isinstance(screen, ReplayScreen)
        await driven.until(lambda: screen.ready)
        assert "event 196 of 196" in driven.text()
        await driven.press("escape")
        assert isinstance(over(driven), SessionsScreen)


async def test_a_press_chooses_a_second_one_opens_and_a_press_on_a_column_sorts() -> None:
    async with open_sessions(Programs()) as (driven, screen):
        await driven.pilot.click(screen.listing, offset=(10, 2))
        assert screen.subject is not None and screen.subject.id.endswith("2")
        await driven.pilot.click(screen.top, offset=(6, 5))
        assert sort(screen) == "name"


async def test_hostile_names_are_only_letters() -> None:
    rows = [told(1, "[bold]\x1b[31mred\u202e", "../[x]", 60)]
    async with open_sessions(Programs(rows)) as (driven, _):
        text = driven.text()
        assert "[bold]red" in text and "\x1b" not in text and "\u202e" not in text
        await typed(driven, "[")
        assert "1" in driven.text()


def many(count: int) -> list[dict[str, object]]:
    return [
        told(number, f"session number {number}", f"w{number % 40}", 60.0 * number) for number in range(count)
    ]


class Counting:
    """Draws lines and counts them."""

    def __init__(self, draw: Callable[..., Strip]) -> None:
        self.draw, self.count = draw, 0

    def __call__(self, line: ListLine, width: int, *, chosen: bool) -> Strip:
        self.count += 1
        return self.draw(line, width, chosen=chosen)


@pytest.mark.slow
async def test_only_rows_in_sight_are_drawn_of_thousands() -> None:
    async with open_sessions(Programs(many(BIG))) as (driven, screen):
        drawn = Counting(screen.table.draw_line)
        screen.table.draw_line = drawn  # type: ignore[method-assign]
        await driven.press("end")
        assert screen.listing.index >= 0 and drawn.count <= 3 * 40


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20), (40, 10), (30, 6)])
async def test_every_size_shows_the_chosen_session(size: tuple[int, int]) -> None:
    async with open_sessions(Programs(), size=size) as (driven, _):
        await driven.press("down", "down")
        assert "fork at 88" in driven.text() or size[0] < 40
        assert all(len(row) <= size[0] for row in driven.rows())


def test_a_fork_of_what_is_not_in_the_list_stands_for_itself() -> None:
    rows = parse_sessions("\n".join(json.dumps(row) for row in SESSIONS))
    fork = [row for row in rows if row.forked_at]
    assert [line.depth for line in arrange_rows(fork, "used", NOW) if line.row] == [0]
    odd = [
        told(1, "a", "x", 60, parent="ses_0000000000000002"),
        told(2, "b", "x", 60, parent="ses_0000000000000001"),
        told(3, "c", "x", 60, parent="ses_0000000000000003"),
    ]
    damaged = parse_sessions("\n".join(map(json.dumps, odd)))
    assert {line.key for line in arrange_rows(damaged, "used", NOW) if line.row} == {
        row.id for row in damaged
    }


def test_every_word_must_be_in_a_name() -> None:
    rows = parse_sessions("\n".join(json.dumps(row) for row in SESSIONS))
    assert [row.title for row in filter_rows(rows, "SHIFT night", {})] == ["night-shift-hours"]
    assert next(row.title for row in filter_rows(rows, "", {}, "/code/shiftplan")) == "why-is-ci-slow"
