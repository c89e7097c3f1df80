"""Whole screens as text. Written anew with `UPDATE_SNAPSHOTS=1 pytest tests/tui/app/test_snapshots.py`."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.app.branching import walk
from tests.tui.app.comparing import compared, open_comparison
from tests.tui.app.driving import golden, open_app
from tests.tui.app.jobs_story import story
from tests.tui.app.replaying import open_replay
from tests.tui.app.sessions_story import Programs, open_sessions
from tests.tui.app.sessions_story import shown as shown_sessions
from tests.tui.app.test_approval_sight import command
from tests.tui.app.test_approvals import ask
from tui_agent.config.project.project_files import ProjectFile, ProjectFiles
from tui_agent.config.project.trust import FileChange, Project
from tui_agent.tui.modals.trust import TrustSheet

FOLDER = Path(__file__).resolve().parents[1] / "snapshots"
SCREENS = [
    ("main-160x45", "night_shift", (160, 45), ()),
    ("main-120x40", "night_shift", (120, 40), ()),
    ("main-80x24", "night_shift", (80, 24), ()),
    ("main-60x20", "night_shift", (60, 20), ()),
    ("main-40x8", "night_shift", (40, 8), ()),
    ("main-20x5", "night_shift", (20, 5), ()),
    ("streaming-120x40", "streaming", (120, 40), ()),
    ("approval-120x40", "approval", (120, 40), ()),
    ("approval-80x24", "approval", (80, 24), ()),
    ("menu-120x40", "night_shift", (120, 40), ("slash", "r", "e")),
    ("trace-160x45", "night_shift", (160, 45), ("f3",)),
    ("context-120x40", "night_shift", (120, 40), ("f4",)),
]

OWN_FILES = (
    ProjectFile(".env", b"OPENAI_BASE_URL=http://models.example/v1\nDEBUG=1\n"),
    ProjectFile(".tui_agent/config.toml", b'policy = "accept-edits"\n[[hook]]\nevent = "after_tool"\n'),
    ProjectFile(".tui_agent/plugins/tickets.py", b"import os\n"),
    ProjectFile(".tui_agent/policy.toml", b"[[rule]]\nallow = 'run make *'\n"),
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("name", "log", "size", "keys"), SCREENS, ids=[screen[0] for screen in SCREENS])
async def test_the_screen_is_as_it_was(
    name: str, log: str, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async with open_app(golden(log), size=size, environ={"TUI_AGENT_MOTION": "off"}) as driven:
        for key in keys:
            await driven.press(key)
        shown = driven.text() + "\n"
    _same(name, shown)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_the_question_about_a_folders_own_files_is_as_it_was(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size, environ={"TUI_AGENT_MOTION": "off"}) as driven:
        files = ProjectFiles(Path("/home/me/shop"), OWN_FILES)
        marks: dict[str, dict[str, FileChange]] = {
            "/home/me/shop": {".env": "changed", ".tui_agent/old.md": "gone"}
        }
        shop = Project(files.folder, files, "open")
        driven.app.push_screen(TrustSheet([shop], marks, asking=True))
        await driven.settle()
        _same(f"trust-{size[0]}x{size[1]}", driven.text() + "\n")


COMMANDS = {
    "shell": 'pip install "freezegun>=1.5" && pytest -q tests/test_entry.py > report.txt',
    "hidden": 'echo "done"\u202e\u200b' + " " * 300 + "; rm -rf ~/notes  \n\n\n\n\n\n\tcat r\u0430ypal.txt",
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize("name", list(COMMANDS))
async def test_the_question_about_a_command_is_as_it_was(name: str, size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size, environ={"TUI_AGENT_MOTION": "off"}) as driven:
        asked = command(COMMANDS[name]).model_copy(
            update={"sandbox": "bubblewrap" if name == "shell" else ""}
        )
        await ask(driven, asked)
        _same(f"approval-{name}-{size[0]}x{size[1]}", driven.text() + "\n")


REPLAYS = [
    ("replay-160x45", (160, 45)),
    ("replay-120x40", (120, 40)),
    ("replay-80x24", (80, 24)),
    ("replay-60x20", (60, 20)),
]


@pytest.mark.parametrize(("name", "size"), REPLAYS, ids=[screen[0] for screen in REPLAYS])
async def test_a_replay_is_as_it_was(name: str, size: tuple[int, int]) -> None:
    async with open_replay(golden("night_shift"), size=size, to_seq=150) as shown:
        _same(name, shown.text() + "\n")


BRANCHING = [
    (f"{name}-{width}x{height}", (width, height), keys)
    for name, keys in (
        ("tree", ("/tree", "up")),
        ("checkpoints", ("/checkpoints", "down")),
        ("fork", ("/fork 100",)),
        ("what-if", ("/what-if", "right")),
    )
    for width, height in ((120, 40), (80, 24))
]


@pytest.mark.slow_variants
@pytest.mark.parametrize(("name", "size", "keys"), BRANCHING, ids=[screen[0] for screen in BRANCHING])
async def test_what_shows_branches_is_as_it_was(
    tmp_path: Path, name: str, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async with walk(tmp_path, size=size) as walked:
        await walked.slash(keys[0])
        await walked.keys(*keys[1:])
        _same(name, walked.text() + "\n")


COMPARISONS = [
    ("compare-160x45", (160, 45)),
    ("compare-120x40", (120, 40)),
    ("compare-80x24", (80, 24)),
    ("compare-60x20", (60, 20)),
]


@pytest.mark.slow_variants
@pytest.mark.parametrize(("name", "size"), COMPARISONS, ids=[screen[0] for screen in COMPARISONS])
async def test_a_comparison_is_as_it_was(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    async with open_comparison(compared(tmp_path), size=size) as shown:
        _same(name, shown.text() + "\n")


@pytest.mark.parametrize(("name", "size"), [("sessions-120x40", (120, 40)), ("sessions-80x24", (80, 24))])
async def test_the_list_of_sessions_is_as_it_was(name: str, size: tuple[int, int]) -> None:
    programs = Programs(texts={"ses_0000000000000005": "the slow shift of the runner"})
    async with open_sessions(programs, size=size) as (driven, _):
        await driven.type("shift")
        await shown_sessions(driven)
        await driven.press("down", "up")
        await shown_sessions(driven)
        _same(name, driven.text() + "\n")


@pytest.mark.parametrize(("name", "size"), [("jobs-120x40", (120, 40)), ("jobs-80x24", (80, 24))])
async def test_the_background_jobs_are_as_they_were(name: str, size: tuple[int, int]) -> None:
    async with open_app(session=story(), size=size) as driven:
        driven.app.do("jobs")
        await driven.pilot.pause()
        await driven.press("down")
        _same(name, driven.text() + "\n")


def _same(name: str, shown: str) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
