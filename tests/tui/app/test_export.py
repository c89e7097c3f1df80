"""/export asks where, writes the open session to a new file there, and says its path."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.replaying import FakeCommandLine, FakeRecording, open_replay
from tui_agent.export.formats import FORMATS as ALL
from tui_agent.tui import main_screen
from tui_agent.tui.commands.doctor_export_bug import FORMATS
from tui_agent.tui.modals.export_form import ExportForm, export_to_chosen_place

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


@pytest.fixture(autouse=True)
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder for documents, `~/Documents`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "Documents"
    folder.mkdir()
    return folder


async def ask_for(driven: Driven, command: str) -> None:
    """Send the command, and wait for the form that asks where."""
    driven.app.prompt.editor.put_text(command)
    await driven.press("escape", "enter")
    await driven.until(lambda: isinstance(driven.app.screen, ExportForm))


async def test_export_asks_where_and_writes_to_the_documents_only_on_enter(documents: Path) -> None:
    program = Program(said=json.dumps({"path": "/work/ses_1.html"}))
    program.written.clear()
    async with open_app(golden("night_shift"), outside=program) as driven:
        await ask_for(driven, "/export")
        assert "Export this session as html" in driven.text()
        assert "Save in   ~/Documents" in driven.text()
        assert program.asked == []
        await driven.press("enter")
        session = driven.app.session_id
        await driven.until(lambda: "Exporting to ~/Documents …" in driven.text())
        (words,) = program.asked
        place = ("--json", "--output", str(documents))
        assert words == ("sessions", "export", session, "--format", "html", *place)
        program.written.set()
        await driven.until(lambda: "Exported to /work/ses_1.html" in driven.text())
        assert driven.session.submitted == []


async def test_escape_exports_nothing_and_another_place_can_be_typed() -> None:
    program = Program(said=json.dumps({"path": "/work/x.html"}))
    async with open_app(golden("night_shift"), outside=program, size=(80, 24)) as driven:
        await ask_for(driven, "/export")
        await driven.press("escape")
        assert not isinstance(driven.app.screen, ExportForm) and program.asked == []
        await ask_for(driven, "/export")
        await driven.press("ctrl+u", "enter")
        assert isinstance(driven.app.screen, ExportForm), "an empty place is not a place"
        await driven.type("out/x.html")
        await driven.press("enter")
        await driven.until(lambda: program.asked)
        assert program.asked[0][-1] == f"{WORKSPACE}/out/x.html"


async def test_another_format_is_named_and_a_wrong_one_is_refused() -> None:
    program = Program(said=json.dumps({"path": "/work/ses_1.tar.gz"}))
    async with open_app(golden("night_shift"), outside=program) as driven:
        await ask_for(driven, "/export archive")
        await driven.press("enter")
        await driven.until(lambda: "Exported to /work/ses_1.tar.gz. It contains your files" in driven.text())
        assert program.asked[0][4] == "archive"
        driven.app.prompt.editor.put_text("/export docx")
        await driven.press("escape", "enter")
        assert len(program.asked) == 1
        assert "The format can be html, markdown" in driven.text()
        assert "Example: /export markdown notes.md" in driven.text()


async def test_a_place_after_the_format_is_suggested_instead_of_the_documents() -> None:
    program = Program(said=json.dumps({"path": "/tmp/my notes.md"}))
    async with open_app(golden("night_shift"), outside=program) as driven:
        await ask_for(driven, "/export Markdown  /tmp/my notes.md")
        assert "Export this session as markdown" in driven.text()
        assert "Save in   /tmp/my notes.md" in driven.text() and program.asked == []
        await driven.press("enter")
        await driven.until(lambda: program.asked)
        assert program.asked[0][4:] == ("markdown", "--json", "--output", "/tmp/my notes.md")


async def test_why_there_is_no_export_is_said() -> None:
    program = Program(status=1, said="tui-agent: /work could not be written: No space left on device.\n")
    async with open_app(golden("night_shift"), outside=program) as driven:
        await ask_for(driven, "/export")
        await driven.press("enter")
        await driven.until(lambda: "No space left on device" in driven.text())


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
        assert driven.app.notice.display and not [
            one for one in driven.app._timers if one._interval == main_screen.NOTICE_S
        ]
        await driven.press("escape")
        assert "Report saved" not in driven.text()


@pytest.mark.slow
async def test_a_long_export_shows_its_time_until_it_is_done(documents: Path) -> None:
    program = Program(said=json.dumps({"path": "/work/ses_1.html"}))
    program.written.clear()
    async with open_app(golden("night_shift"), outside=program) as driven:
        words = ("sessions", "export", "ses_1")
        form = export_to_chosen_place(
            driven.app, program, "Export", Path(WORKSPACE), words, driven.app.say, beat_s=0.01
        )
        driven.app.run_worker(form)
        await driven.until(lambda: isinstance(driven.app.screen, ExportForm))
        await driven.press("enter")
        await driven.until(
            lambda: "Exporting to ~/Documents … 0 s so far. You can keep working." in driven.text()
        )
        program.written.set()
        await driven.until(lambda: "Exported to /work/ses_1.html" in driven.text())
        await driven.pilot.pause(0.05)
        assert "so far" not in driven.text()


async def test_a_replay_asks_where_too(documents: Path) -> None:
    outside = FakeCommandLine(json.dumps({"path": "/work/ses_1.html"}))
    async with open_replay(golden("night_shift"), ask=outside) as replayed:
        await replayed.press("e")
        await replayed.until(lambda: "Save in   ~/Documents" in replayed.text())
        await replayed.press("enter")
        await replayed.until(lambda: "Exported to /work/ses_1.html" in replayed.text())
    assert outside.asked == [("sessions", "export", FakeRecording.id, "--json", "--output", str(documents))]
