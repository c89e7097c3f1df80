"""`/map`: the ranking that the model gets, why each file stands where it does, and the keys that steer it."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.commands import SetRepoMap, SetRepoMapOptions
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.tui.screens.map.screen import MapScreen

FILES: tuple[tuple[str, float, list[str], list[tuple[str, int, int, str]]], ...] = (
    (
        "src/night\u202eshift.py",
        12.0,
        ["words: shift"],
        [("class Shift", 1, 9, ""), ("def hours(self)", 3, 5, "Shift")],
    ),
    ("src/report.py", 6.0, ["used by shift.py"], [("def total()", 2, 2, "")]),
    ("docs/a guide.md", 1.5, ["doc"], []),
)


class MapProgram:
    """`tui-agent map` as the screen asks it: answers with the files that are not hidden, and notes how it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.status = 0
        self.state: dict[str, object] = {"files": 41, "building": False}
        self.gate: asyncio.Event | None = None
        """Set it to hold answers back."""
        self.more = ""

    async def __call__(self, *words: str) -> tuple[int, str]:
        if words[0] != "map":
            return 1, ""
        if "--state" in words:
            return 0, json.dumps(self.state) + "\n"
        self.asked.append(words)
        if self.gate is not None:
            await self.gate.wait()
        if self.status:
            return self.status, "tui-agent: The folder cannot be mapped.\n"
        hidden = [words[at + 1] for at, word in enumerate(words) if word == "--hide"]
        rows = [
            {
                "path": path,
                "score": score,
                "reasons": reasons,
                "symbols": [
                    {
                        "name": "n",
                        "kind": "def",
                        "line": line,
                        "end": end,
                        "signature": text,
                        "parent": parent,
                    }
                    for text, line, end, parent in symbols
                ],
            }
            for path, score, reasons, symbols in FILES
            if path not in hidden
        ]
        said = f"tui-agent: 3 of 41 files, about 90 tokens; left out: 2 minified{self.more}\n"
        return 0, "".join(f"{json.dumps(row)}\n" for row in rows) + said

    def option(self, name: str) -> str:
        return self.asked[-1][self.asked[-1].index(name) + 1]


async def opened(driven: Driven, argument: str = "") -> MapScreen:
    driven.app.do("map", argument)
    await shown(driven)
    page = driven.app.screen
    assert isinstance(page, MapScreen)
    return page


def answered(page: MapScreen) -> list[str]:
    """The files of the newest answer."""
    return [file.path for file in page.answer.files] if page.answer is not None else []


def listed(page: MapScreen) -> list[str]:
    """The files in the list, those that are hidden too."""
    return [line.file.path for line in page.listing.items if line is not None and line.symbol is None]


def position(page: MapScreen) -> tuple[int, int]:
    """The number of the chosen file, and of its symbol: -1 for the file's own row."""
    line = page.chosen
    assert line is not None
    return listed(page).index(line.file.path), line.file.symbols.index(line.symbol) if line.symbol else -1


async def shown(driven: Driven) -> None:
    """The answer to what was asked last stands on the page."""
    await driven.pilot.pause()
    page = driven.app.screen
    assert isinstance(page, MapScreen)
    await driven.until(lambda: not page.busy)
    await driven.pilot.pause()


@pytest.mark.parametrize("size", [(160, 45), (120, 40), (80, 24), (60, 14)])
async def test_the_files_stand_in_their_order_with_their_symbols(size: tuple[int, int]) -> None:
    program = MapProgram()
    async with open_app(golden("night_shift"), size=size, outside=program) as driven:
        await opened(driven, "where are hours counted")
        text = driven.text()
        assert program.option("--query") == "where are hours counted"
        assert program.option("--max-tokens") == "1200"
        assert "\u202e" not in text and "class Shift" in text
        assert "Repository map" in text and "3 of 41 files, about 90 tokens" in text
        if size[0] >= 100:
            assert "left out: 2 minified" in text and "Why it is listed" in text


async def test_the_newest_message_is_the_question_until_another_is_typed() -> None:
    program = MapProgram()
    async with open_app(golden("night_shift"), outside=program) as driven:
        page = await opened(driven)
        newest = driven.app.controller.state.root_task if driven.app.controller is not None else ""
        assert newest and program.option("--query") == " ".join(newest.split())[:300]
        await driven.press("slash", "ctrl+u", "w", "e", "e", "k", "enter")
        await shown(driven)
        assert program.option("--query") == "week" and not page.is_from_message


async def test_what_is_pinned_hidden_and_how_long_it_is_become_settings_of_the_session() -> None:
    program = MapProgram()
    async with open_app(golden("night_shift"), outside=program) as driven:
        page = await opened(driven)
        await driven.press("down", "down", "down", "p")
        await shown(driven)
        assert program.option("--pin") == "src/report.py"
        assert page.chosen is not None and page.chosen.file.path == "src/report.py"
        await driven.press("h")
        await shown(driven)
        assert program.option("--hide") == "src/report.py"
        assert "src/report.py" not in answered(page)
        assert listed(page)[-1] == "src/report.py" and "hidden" in driven.text()
        assert page.chosen is not None and page.chosen.file.path == "docs/a guide.md"
        await driven.press("plus")
        await shown(driven)
        assert program.option("--max-tokens") == "2400"
        chosen = [one.options for one in driven.session.submitted if isinstance(one, SetRepoMapOptions)]
        assert (chosen[-1].pinned, chosen[-1].hidden) == ((), ("src/report.py",))
        assert [one.max_tokens for one in chosen] == [1200, 1200, 2400]
        await driven.press("r")
        await shown(driven)
        assert "--refresh" in program.asked[-1]
        await driven.press("end", "h")
        await shown(driven)
        assert "src/report.py" in answered(page) and len(listed(page)) == 3


@pytest.mark.slow
async def test_letters_with_shift_are_the_footers_letters() -> None:
    program = MapProgram()
    async with open_app(golden("night_shift"), outside=program) as driven:
        page = await opened(driven)
        await driven.press("down", "down", "down", "P")
        await shown(driven)
        assert program.option("--pin") == "src/report.py"
        await driven.press("H")
        await shown(driven)
        assert program.option("--hide") == "src/report.py"
        await driven.press("Q")
        assert driven.app.screen is not page


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("command", "key"),
    [("/context", "M"), ("/trace", "J"), ("/sessions", "S"), ("/jobs", "Q")],
)
async def test_letters_with_shift_mean_the_same_on_other_screens(command: str, key: str) -> None:
    async with open_app(golden("night_shift"), outside=MapProgram()) as driven:
        seen = []
        for one in (key.lower(), key):
            await driven.type(command)
            await driven.press("escape", "enter")
            await driven.until(lambda: len(driven.app.screen_stack) > 1)
            if command == "/sessions":
                await driven.press("down")
            before = driven.app.screen
            await driven.press(one)
            seen.append((type(driven.app.screen), driven.app.screen is before))
            assert not seen[-1][1] or "Sorted by" in driven.text()
            while len(driven.app.screen_stack) > 1:
                await driven.press("escape")
        assert seen[0] == seen[1]


async def test_without_a_message_nothing_is_said_of_one_and_an_unknown_score_is_not_told() -> None:
    async def program(*words: str) -> tuple[int, str]:
        return 0, '{"path": "a.py", "score": 0.0, "reasons": [], "symbols": []}\n'

    async with open_app(size=(120, 40), outside=program) as driven:
        await opened(driven)
        (row,) = [row for row in driven.rows() if "─  a.py" in row]
        assert not any(char.isdigit() for char in row.partition("a.py")[0])
        assert "words of the last message" not in driven.text()


async def test_whether_the_model_gets_a_map_by_itself_is_switched() -> None:
    async with open_app(golden("night_shift"), outside=MapProgram()) as driven:
        await opened(driven)
        await driven.press("i")
        (switched,) = [one for one in driven.session.submitted if isinstance(one, SetRepoMap)]
        assert switched.mode == "off"


async def test_enter_mentions_the_file_in_the_message() -> None:
    async with open_app(golden("night_shift"), outside=MapProgram()) as driven:
        await opened(driven)
        await driven.press("end", "enter")
        await driven.pilot.pause()
        assert driven.app.prompt.editor.message == '@"docs/a guide.md" '
        assert not isinstance(driven.app.screen, MapScreen)


async def test_a_map_that_cannot_be_made_says_why() -> None:
    program = MapProgram()
    program.status = 1
    async with open_app(golden("night_shift"), outside=program) as driven:
        await opened(driven)
        assert "The folder cannot be mapped." in driven.text()
        await driven.press("p", "h", "enter", "down", "escape")
        assert not isinstance(driven.app.screen, MapScreen)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_while_it_is_read_it_counts_the_files_and_keys_say_why_they_do_nothing(
    size: tuple[int, int],
) -> None:
    program = MapProgram()
    program.gate, program.state = asyncio.Event(), {"files": 812, "building": True}
    async with open_app(golden("night_shift"), size=size, outside=program) as driven:
        driven.app.do("map")
        await driven.until(lambda: "reading the repository… 812 files" in driven.text())
        assert "0 files" not in driven.text()
        program.state = {"files": 900, "building": True}
        await driven.until(lambda: "reading the repository… 900 files" in driven.text())
        for key, word in (("p", "pin"), ("h", "hide"), ("enter", "mention")):
            await driven.press(key)
            said = " ".join(driven.text().split())
            assert f"nothing to {word} yet: the repository is still being read" in said
        program.gate.set()
        await shown(driven)
        assert "reading the repository" not in driven.text() and "class Shift" in driven.text()


@pytest.mark.slow
async def test_a_map_of_half_an_index_is_made_anew_once_that_is_whole() -> None:
    program = MapProgram()
    program.more, program.state = "; the index is still being built", {"files": 2, "building": True}
    async with open_app(golden("night_shift"), outside=program) as driven:
        await opened(driven)
        await driven.until(lambda: "reading the repository… 2 files" in driven.text())
        assert "class Shift" in driven.text() and len(program.asked) == 1
        program.more, program.state = "", {"files": 41, "building": False}
        await driven.until(lambda: len(program.asked) == 2)
        await shown(driven)
        assert "3 of 41 files" in driven.text() and "reading" not in driven.text()


@pytest.mark.slow
async def test_a_map_that_is_still_partial_once_no_index_is_built_is_made_anew() -> None:
    program = MapProgram()
    program.more, program.state = "; the index is still being built", {"files": 41, "building": False}
    async with open_app(golden("night_shift"), outside=program) as driven:
        await opened(driven)
        await driven.until(lambda: len(program.asked) == 3)
        program.more = ""
        await driven.until(lambda: "reading the repository" not in driven.text())
        assert "being built" not in " ".join(driven.text().split())


async def test_hiding_keeps_the_cursors_place_while_the_map_is_made_anew() -> None:
    program = MapProgram()
    async with open_app(golden("night_shift"), outside=program) as driven:
        page = await opened(driven)
        program.gate = asyncio.Event()
        await driven.press("h")
        assert page.busy and page.chosen is not None
        assert (page.chosen.file.path, page.listing.index) == ("src/report.py", 0)
        program.gate.set()
        await shown(driven)
        assert page.chosen is not None and page.chosen.file.path == "src/report.py"


async def test_a_new_question_begins_empty_and_esc_brings_the_one_back_that_is_answered() -> None:
    program = MapProgram()
    async with open_app(golden("night_shift"), outside=program) as driven:
        page = await opened(driven, "hours")
        await driven.press("slash", "w", "x")
        assert page.top.field.text == "wx"
        await driven.press("escape")
        assert page.top.field.text == "hours" and len(program.asked) == 1
        await driven.press("slash", "w", "e", "e", "k", "enter")
        await shown(driven)
        assert program.option("--query") == "week"
        # Keys that edit take the question up that stands there; Enter alone asks it again.
        await driven.press("slash", "end", "s", "enter")
        await shown(driven)
        assert program.option("--query") == "weeks"
        await driven.press("slash", "enter")
        await shown(driven)
        assert program.option("--query") == "weeks"


async def test_the_map_opens_at_its_first_file_whatever_is_hidden() -> None:
    program = MapProgram()
    async with open_app(golden("night_shift"), outside=program) as driven:
        page = await opened(driven)
        await driven.press("end", "h")
        await shown(driven)
        await driven.press("escape")
        program.gate = asyncio.Event()
        driven.app.do("map", "")
        await driven.until(lambda: isinstance(driven.app.screen, MapScreen) and driven.app.screen is not page)
        page = driven.app.screen
        assert isinstance(page, MapScreen)
        page.choice = page.choice.model_copy(update={"hidden": ("docs/a guide.md",)})
        page.list_files()
        program.gate.set()
        await shown(driven)
        assert listed(page)[-1] == "docs/a guide.md"
        assert page.chosen is not None and page.chosen.file.path == FILES[0][0]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_the_way_back_is_among_the_keys_at_any_width(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size, outside=MapProgram()) as driven:
        await opened(driven)
        assert "Esc back" in driven.rows()[-1] and "F1 help" in driven.rows()[-1]


async def test_a_reason_says_what_it_means_and_one_line_is_one_number() -> None:
    async with open_app(golden("night_shift"), outside=MapProgram()) as driven:
        page = await opened(driven)
        await driven.press("end")
        text = driven.text()
        assert "docs are ranked below code" in text and "3 files, as listed here" in text
        await driven.press("home", "down", "down", "down", "down")
        assert page.chosen is not None and page.chosen.file.path == "src/report.py"
        assert "2-2" not in driven.text()


async def test_in_context_mode_none_no_map_is_promised() -> None:
    async with open_app(golden("night_shift"), outside=MapProgram()) as driven:
        driven.session.feed(SettingsChanged(key="context_mode", previous="pack", value="none"))
        await driven.settle()
        await opened(driven)
        await driven.press("i")
        assert not any(isinstance(one, SetRepoMap) for one in driven.session.submitted)
        assert "Context mode `none` sends no map" in driven.text()
        assert "because the context mode is none" in " ".join(driven.text().split())


async def test_the_cursor_stays_at_its_row_when_the_map_is_made_anew_and_begins_at_the_top_for_a_new_question() -> (
    None
):
    async with open_app(golden("night_shift"), outside=MapProgram()) as driven:
        page = await opened(driven)
        await driven.press("down", "down")
        assert position(page) == (0, 1)
        await driven.press("r")
        await shown(driven)
        assert position(page) == (0, 1)
        await driven.press("end", "slash", "w", "enter")
        await shown(driven)
        assert position(page) == (0, -1)


class WordsProgram(MapProgram):
    """Answers with one file, its matched words and two symbols."""

    async def __call__(self, *words: str) -> tuple[int, str]:
        if words[0] != "map" or "--state" in words:
            return await super().__call__(*words)
        symbols = [
            {
                "name": name,
                "kind": "def",
                "line": line,
                "end": line + 1,
                "signature": f"def {name}()",
                "parent": "",
            }
            for name, line in (("first", 3), ("second", 20))
        ]
        row = {
            "path": "src/code.py", "score": 2.0, "reasons": ["words", "window"], "symbols": symbols,
            "words": [["shift", 3], ["duration", 1], ["src", 0]],
            "used_by": ["src/report.py", "tests/test_code.py"],
        }  # fmt: skip
        return 0, f"{json.dumps(row)}\ntui-agent: 1 of 1 file, about 9 tokens\n"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_file_shows_its_matched_words_and_its_code(tmp_path: Path, size: tuple[int, int]) -> None:
    lines = [f"# line {number}" for number in range(1, 31)]
    lines[2:4], lines[19:21] = ["def first():", "    return 1"], ["def second():", "    return 2"]
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "code.py").write_text("\n".join(lines) + "\n")
    started, *others = golden("night_shift")
    assert isinstance(started, Envelope)
    payload = started.payload.model_copy(update={"workspace": str(tmp_path)})
    records = [started.model_copy(update={"payload": payload}), *others]
    async with open_app(records, size=size, outside=WordsProgram()) as driven:
        await opened(driven, "shift duration")
        assert "matches" in driven.text() and "shift, duration, src" in driven.text()
        if size[0] < 100:
            await driven.press("enter")
        await driven.until(lambda: "return 1" in driven.text())
        assert "words       shift ×3, duration ×1, src" in driven.text() and "(in its" in driven.text()
        assert "window      it contains words of your" in driven.text()
        used_by = driven.text().partition("Used by")[2]
        assert used_by.index("src/report.py") < used_by.index("tests/test_code.py") < used_by.index("Code")
        assert "def second():" in driven.text() or size[0] < 100
        assert "# line 10" not in driven.text() and "budget      1.2k tokens" in driven.text()
        if size[0] < 100:
            await driven.press("escape")
        (tmp_path / "src" / "code.py").unlink()
        page = driven.app.screen
        assert isinstance(page, MapScreen)
        page.request_map()
        await shown(driven)
        if size[0] < 100:
            await driven.press("enter")
        await driven.until(lambda: "The file no longer exists." in driven.text())
