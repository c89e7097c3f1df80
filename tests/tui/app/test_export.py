"""/export writes the open session to a new file on that command only, and says where."""

import asyncio
import json

from tests.tui.app.driving import golden, open_app
from tui_agent.export.files import FORMATS as ALL
from tui_agent.tui.commands.reports import FORMATS
from tui_agent.tui.main_screen import NOTE_S

WORKSPACE = "/home/ada/timesheet"
"""Where the recorded session worked."""


class Program:
    """The command line: what it was asked, and its answer."""

    def __init__(self, status: int = 0, said: str = "") -> None:
        self.status, self.said = status, said
        self.asked: list[tuple[str, ...]] = []
        self.written = asyncio.Event()
        self.written.set()

    async def __call__(self, *words: str) -> tuple[int, str]:
        if words[:2] == ("sessions", "export"):
            self.asked.append(words)
            await self.written.wait()
        return self.status, self.said


def test_the_app_knows_every_format() -> None:
    assert sorted(FORMATS) == sorted(ALL)


async def test_an_export_is_written_on_the_command_and_its_place_is_said() -> None:
    program = Program(said=json.dumps({"path": "/work/ses_1.html"}))
    async with open_app(golden("night_shift"), outside=program) as driven:
        assert program.asked == []
        await driven.type("/export")
        await driven.press("escape", "enter")
        session = driven.app.session_id
        (words,) = program.asked
        assert words == ("sessions", "export", session, "--format", "html", "--json", "--cwd", WORKSPACE)
        assert "Exported to /work/ses_1.html" in driven.text()
        assert driven.session.submitted == []


async def test_that_it_is_being_written_and_where_is_said_at_once() -> None:
    program = Program(said=json.dumps({"path": "/work/ses_1.html"}))
    program.written.clear()
    async with open_app(golden("night_shift"), outside=program) as driven:
        driven.app.prompt.editor.put_text("/export")
        await driven.press("escape", "enter")
        assert f"Writing the session as html to {WORKSPACE} …" in driven.text()
        program.written.set()
        await driven.until(lambda: "Exported to /work/ses_1.html" in driven.text())


async def test_another_format_is_named_and_a_wrong_one_is_refused() -> None:
    program = Program(said=json.dumps({"path": "/work/ses_1.tar.gz"}))
    async with open_app(golden("night_shift"), outside=program) as driven:
        driven.app.prompt.editor.put_text("/export archive")
        await driven.press("escape", "enter")
        assert program.asked[0][4] == "archive"
        driven.app.prompt.editor.put_text("/export docx")
        await driven.press("escape", "enter")
        assert len(program.asked) == 1
        assert "The format can be html, markdown" in driven.text()


async def test_why_there_is_no_export_is_said() -> None:
    program = Program(status=1, said="tui-agent: /work could not be written: No space left on device.\n")
    async with open_app(golden("night_shift"), outside=program) as driven:
        driven.app.prompt.editor.put_text("/export")
        await driven.press("escape", "enter")
        assert "No space left on device" in driven.text()


async def test_a_report_is_written_on_the_users_word_and_its_place_is_said() -> None:
    asked: list[tuple[str, ...]] = []

    async def program(*words: str) -> tuple[int, str]:
        asked.append(words)
        return 0, json.dumps({"path": "/data/reports/bug-1.md"}) if words[0] == "bug" else ""

    async with open_app(golden("night_shift"), outside=program) as driven:
        assert [one for one in asked if one[0] == "bug"] == []
        driven.app.prompt.editor.put_text("/bug")
        await driven.press("escape", "enter")
        (words,) = [one for one in asked if one[0] == "bug"]
        assert words[:3] == ("bug", driven.app.session_id, "--json")
        assert "Report saved to /data/reports/bug-1.md." in driven.text()
        told = words[words.index("--terminal") + 1]
        assert told.startswith("ok: terminal: 120×40, true colour, TERM xterm-256color")
        assert words[words.index("--model") + 1] == "claude-sonnet-4-5"
        assert driven.app.note.display and not [one for one in driven.app._timers if one._interval == NOTE_S]
        await driven.press("escape")
        assert "Report saved" not in driven.text()
