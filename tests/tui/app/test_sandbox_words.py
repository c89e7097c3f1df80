"""What the screen says of the sandbox: in the header at every wide width, in /status, and at accept-edits without one."""

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.tui.modals.viewer import Viewer

MISSING = "bubblewrap is not installed (program: bwrap)."


def records(sandbox: str, why_not: str, **more: str) -> list[Record]:
    """A session whose environment is confined like this."""
    found: list[Record] = []
    for record in golden("night_shift"):
        if isinstance(record, Envelope) and isinstance(record.payload, EnvStarted):
            started = record.payload.model_copy(
                update={"sandbox": sandbox, "no_sandbox_reason": why_not, **more}
            )
            record = record.model_copy(update={"payload": started})
        found.append(record)
    return found


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize(
    ("sandbox", "why_not", "said"),
    [("bubblewrap", "", "ask sandbox"), ("", MISSING, "ask no sandbox"), ("", "", "ask  ")],
)
async def test_the_header_says_whether_commands_are_confined(
    size: tuple[int, int], sandbox: str, why_not: str, said: str
) -> None:
    async with open_app(records(sandbox, why_not), size=size) as driven:
        assert said in driven.rows()[0]


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize(
    ("agent", "sandbox", "said"),
    [
        ("default", "bubblewrap", "edits, runs in the sandbox"),
        ("default", "", "edits, asks before running"),
        ("codex", "bubblewrap", "codex follows its own rules"),
    ],
)
async def test_the_row_of_the_prompt_says_what_accept_edits_does_not_ask_about(
    size: tuple[int, int], agent: str, sandbox: str, said: str
) -> None:
    found: list[Record] = []
    for record in records(sandbox, "" if sandbox else MISSING):
        if isinstance(record, Envelope) and isinstance(record.payload, SessionStarted):
            settings = record.payload.settings.model_copy(update={"policy": "accept-edits", "agent": agent})
            record = record.model_copy(
                update={"payload": record.payload.model_copy(update={"settings": settings})}
            )
        found.append(record)
    async with open_app(found, size=size) as driven:
        assert any(f"accept-edits  {said}  " in row for row in driven.rows()), driven.text()
        assert agent == "default" or "sandbox" not in driven.text()


async def test_status_says_why_there_is_no_sandbox() -> None:
    async with open_app(records("", MISSING), size=(120, 40)) as driven:
        await driven.type("/status")
        await driven.press("enter")
        assert f"none: {MISSING}" in "\n".join(driven.rows())


async def test_a_container_is_named_and_is_no_sandbox() -> None:
    where = "Commands run in a podman container (image python:3.12, no network)."
    found = records("docker", "A container hides no secret files.", environment="docker", details=where)
    async with open_app(found, size=(120, 40)) as driven:
        assert "ask in docker" in driven.rows()[0]
        await driven.type("/status")
        await driven.press("enter")
        text = driven.text()
        assert where in text
        assert "none: A container hides no secret files." in text
        assert "hidden files" not in text


async def test_status_names_the_variables_with_secrets_that_commands_are_shown() -> None:
    found: list[Record] = []
    for record in records("bubblewrap", ""):
        if isinstance(record, Envelope) and isinstance(record.payload, EnvStarted):
            shown = record.payload.model_copy(update={"exposed_variables": ("PGPASSWORD", "NPM_TOKEN")})
            record = record.model_copy(update={"payload": shown})
        found.append(record)
    async with open_app(found, size=(120, 40)) as driven:
        await driven.type("/status")
        await driven.press("enter")
        said = [row for row in driven.rows() if "commands see" in row]
        assert said and "$PGPASSWORD, $NPM_TOKEN" in said[0]


async def test_status_says_nothing_of_variables_where_none_is_shown() -> None:
    async with open_app(records("bubblewrap", ""), size=(120, 40)) as driven:
        await driven.type("/status")
        await driven.press("enter")
        assert "commands see" not in "\n".join(driven.rows())


async def test_accept_edits_without_a_sandbox_says_once_that_it_asks() -> None:
    async with open_app(records("", MISSING), size=(120, 40)) as driven:
        await switch(driven, "accept-edits")
        said = [row for row in driven.rows() if "accept-edits still asks about commands" in row]
        await switch(driven, "ask")
        await driven.press("escape")
        await switch(driven, "accept-edits")
        again = [row for row in driven.rows() if "accept-edits still asks about commands" in row]
        assert len(said) == 1
        assert len(again) <= 1


async def switch(driven: Driven, policy: str) -> None:
    await driven.type(f"/policy {policy}")
    await driven.press("enter")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_status_names_the_files_that_are_hidden_from_commands(size: tuple[int, int]) -> None:
    asked: list[tuple[str, ...]] = []

    async def doctor(*words: str) -> tuple[int, str]:
        asked.append(words)
        return (
            0,
            '{"check": "secrets", "state": "ok", "message": "Hidden from commands: 2 files (.env).", "advice": ""}',
        )

    async with open_app(records("bubblewrap", ""), size=size, outside=doctor) as driven:
        await driven.type("/status")
        await driven.press("enter")
        await driven.until(lambda: "hidden files  2 files (.env)." in driven.text())
        assert asked[-1][:6] == ("doctor", "--only", "secrets", "--json", "--cwd", "/home/ada/timesheet")


async def test_status_is_one_screen_of_plain_words_and_doctor_has_the_rest() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.type("/status")
        await driven.press("enter")
        rows = [row.split("▌")[-1].split("  ")[1] for row in driven.rows() if "▌  " in row]
        names = [
            name
            for name in rows
            if name in ("model", "policy", "sandbox", "folder", "context", "cost", "agent")
        ]
        assert names == ["model", "policy", "sandbox", "folder", "context", "cost", "agent"]
        sheet = driven.app.screen
        assert isinstance(sheet, Viewer) and sheet.scrolled.max_scroll_y == 0
        assert "events.jsonl" not in driven.text() and "newest event" not in driven.text()
        await driven.press("escape")
        await driven.type("/doctor")
        await driven.press("enter")
        await driven.until(lambda: "This session" in driven.text())
        assert "newest event" in driven.text()
