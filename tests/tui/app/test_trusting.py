"""A folder's own files: asked about before a session is open, seen inside, decided, and taken back later."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.stubs.quick_pilot import piloted
from tests.tui.app.driving import ENVIRON, Driven, end_grace_period
from tests.tui.app.test_start import empty_session
from tui_agent.config.paths import Paths, find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.project_files import read_project_files
from tui_agent.config.session_options import SessionOptions
from tui_agent.tui.app import AgentApp
from tui_agent.tui.linear.app import ask_about_files
from tui_agent.tui.modals.trust import TrustSheet
from tui_agent.tui.modals.viewer import Viewer


class Place:
    """A folder with two files of its own, a home, and an app on it that counts the sessions it opens."""

    def __init__(self, root: Path) -> None:
        self.home, self.folder = root / "home", root / "shop"
        self.home.mkdir()
        (self.folder / ".tui_agent").mkdir(parents=True)
        self.config.write_text('model = "theirs"\n')
        self.dotenv.write_text("OPENAI_BASE_URL=http://evil.example\n")
        self.environ = {**ENVIRON, "HOME": str(self.home)}
        self.opened: list[SessionOptions] = []

    @property
    def config(self) -> Path:
        return self.folder / ".tui_agent" / "config.toml"

    @property
    def dotenv(self) -> Path:
        return self.folder / ".env"

    @property
    def paths(self) -> Paths:
        return find_paths(self.folder, self.environ)

    @property
    def standing(self) -> str:
        return trust.trust_state(read_project_files(self.folder), self.paths)

    def decide(self, decision: trust.Decision) -> None:
        trust.save_decision(read_project_files(self.folder), decision, self.paths)

    def spawn(self, options: SessionOptions) -> FakeSession:
        self.opened.append(options)
        return FakeSession(empty_session(workspace=str(self.folder)))

    @asynccontextmanager
    async def app(self, size: tuple[int, int] = (120, 40), **more: object) -> AsyncIterator[Driven]:
        options = SessionOptions(cwd=self.folder, data_dir=self.home / "data", **more)  # type: ignore[arg-type]
        app = AgentApp(options, spawn=self.spawn, environ=self.environ, clock=lambda: 1_700_000_000.0)
        async with piloted(app, size) as pilot:
            yield Driven(app, FakeSession(), pilot)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def sheet_of(driven: Driven) -> TrustSheet:
    while not isinstance(driven.app.screen, TrustSheet):
        await driven.pilot.pause(0.01)
    while "Trust this folder's configuration?" not in driven.text():
        await driven.pilot.pause(0.01)
    end_grace_period(driven.app.screen)
    return driven.app.screen


async def opened(driven: Driven, place: Place, count: int = 1) -> None:
    while (
        len(place.opened) < count or driven.app.controller is None or driven.app.controller.sessions.under_way
    ):
        await driven.pilot.pause(0.01)
    await driven.pilot.pause()


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_before_anything_is_opened_the_files_are_listed_with_what_each_could_do(
    place: Place, size: tuple[int, int]
) -> None:
    async with place.app(size) as driven:
        await sheet_of(driven)
        text = driven.text()
        assert str(place.folder)[:60] in text
        for said in (".tui_agent/config.toml", "sets the model to theirs", ".env", "sets OPENAI_BASE_URL"):
            assert said in text
        assert "A letter selects an answer; Enter or the same letter confirms it." in text
        assert "› W  Ignore these files" in text and "T  Trust these files" in text and "Q  Quit" in text
        assert place.opened == []


async def test_enter_goes_on_without_them_and_the_next_start_does_not_ask(place: Place) -> None:
    async with place.app() as driven:
        await sheet_of(driven)
        await driven.press("enter")
        await opened(driven, place)
        assert driven.app.controller is not None and driven.app.controller.config is not None
        assert driven.app.controller.config.model == "" and place.standing == "without"
        while "2 files not trusted, so not used" not in driven.text():
            await driven.pilot.pause(0.01)
    async with place.app() as driven:
        await opened(driven, place, 2)
        assert len(driven.app.screen_stack) == 1


async def test_esc_decides_nothing_and_the_next_start_asks_again(place: Place) -> None:
    async with place.app() as driven:
        await sheet_of(driven)
        await driven.press("escape")
        await opened(driven, place)
        assert place.standing == "open" and not place.paths.trust.exists()
    async with place.app() as driven:
        await sheet_of(driven)


async def test_trusted_files_are_in_use_once_the_session_opens(place: Place) -> None:
    async with place.app() as driven:
        await sheet_of(driven)
        await driven.press("t", "t")
        await opened(driven, place)
        assert driven.app.controller is not None and driven.app.controller.config is not None
        assert driven.app.controller.config.model == "theirs" and place.standing == "trusted"


async def test_the_theme_of_trusted_files_is_worn(place: Place) -> None:
    place.config.write_text('theme = "day"\n')
    async with place.app() as driven:
        await sheet_of(driven)
        assert driven.app.first.theme.name != "day"
        await driven.press("t", "t")
        await opened(driven, place)
        assert driven.app.first.theme.name == "day"


async def test_what_is_trusted_is_what_was_shown_not_what_stands_there_by_then(place: Place) -> None:
    async with place.app() as driven:
        await sheet_of(driven)
        place.config.write_text('model = "swapped"\n')
        await driven.press("t", "t")
        await opened(driven, place)
        assert driven.app.controller is not None and driven.app.controller.config is not None
        assert driven.app.controller.config.model == "" and place.standing == "open"


@pytest.mark.slow_variants
@pytest.mark.parametrize("key", ["v", "V"])
async def test_a_file_is_seen_inside_with_what_an_eye_cannot_see(place: Place, key: str) -> None:
    place.config.write_text('model = "a"  # \u202egood\u202c\x1b[2K\n')
    async with place.app() as driven:
        await sheet_of(driven)
        await driven.press("up", "up", key)
        assert isinstance(driven.app.screen, Viewer)
        assert "<U+202E>good<U+202C><U+001B>[2K" in driven.text()
        await driven.press("escape")
        assert isinstance(driven.app.screen, TrustSheet) and place.opened == []


async def test_a_change_asks_again_and_marks_what_differs(place: Place) -> None:
    place.decide("trusted")
    place.dotenv.write_text("OPENAI_BASE_URL=http://other.example\n")
    place.config.unlink()
    (place.folder / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "npx"}}}')
    async with place.app() as driven:
        await sheet_of(driven)
        rows = driven.rows()
        for mark, name in (
            ("changed", ".env"),
            ("new", ".mcp.json"),
            ("gone", ".tui_agent/config.toml"),
        ):
            assert any(mark in row and name in row for row in rows)


async def test_what_cannot_be_bound_to_content_cannot_be_trusted_and_says_why(place: Place) -> None:
    (place.folder / ".tui_agent" / "plugins").symlink_to("/tmp")
    async with place.app() as driven:
        await sheet_of(driven)
        assert "not possible: .tui_agent/plugins is a link to /tmp" in driven.text()
        await driven.press("t", "t")
        assert isinstance(driven.app.screen, TrustSheet)
        await driven.press("w", "w")
        await opened(driven, place)
        assert place.standing == "without"


async def test_quit_leaves_without_opening_anything(place: Place) -> None:
    async with place.app() as driven:
        await sheet_of(driven)
        await driven.press("q", "q")
        while driven.app.is_running:
            await driven.pilot.pause(0.01)
        assert place.opened == [] and place.standing == "open"


async def test_the_mouse_answers_too(place: Place) -> None:
    async with place.app() as driven:
        await sheet_of(driven)
        y, row = next((y, row) for y, row in enumerate(driven.rows()) if "Ignore these files" in row)
        await driven.pilot.click(offset=(row.index("Ignore these"), y))
        await opened(driven, place)
        assert place.standing == "without"


async def test_a_key_typed_a_moment_too_early_trusts_nothing(place: Place) -> None:
    async with place.app() as driven:
        while not isinstance(driven.app.screen, TrustSheet):
            await driven.pilot.pause(0.01)
        await driven.press("t", "t")
        assert isinstance(driven.app.screen, TrustSheet) and place.standing == "open"


@pytest.mark.parametrize("option", ["ignore_project", "trusted_once"])
async def test_an_option_decides_for_one_run_without_asking(place: Place, option: str) -> None:
    value: object = True if option == "ignore_project" else (read_project_files(place.folder).key,)
    async with place.app((120, 40), **{option: value}) as driven:
        await opened(driven, place)
        assert driven.app.controller is not None and driven.app.controller.config is not None
        assert driven.app.controller.config.model == ("" if option == "ignore_project" else "theirs")
        assert not place.paths.trust.exists()


async def test_trust_is_taken_back_by_its_command_and_the_session_opens_without_the_files(
    place: Place,
) -> None:
    place.decide("trusted")
    async with place.app() as driven:
        await opened(driven, place)
        driven.app.do("trust")
        await sheet_of(driven)
        assert "in use, as you decided" in driven.text()
        await driven.press("f", "f")
        await opened(driven, place, 2)
        assert driven.app.controller is not None and driven.app.controller.config is not None
        assert place.standing == "open" and driven.app.controller.config.model == ""


async def test_the_question_in_lines_trusts_only_by_its_number(place: Place) -> None:
    said: list[str] = []
    typed = iter(["yes", "2"])

    async def read_line() -> str | None:
        return next(typed)

    options = SessionOptions(cwd=place.folder)
    assert await ask_about_files(options, place.environ, read_line, said.append) == "trust"
    assert ".env, sets OPENAI_BASE_URL" in said and "Type 1, 2 or 3." in said
    assert place.standing == "trusted"
    assert await ask_about_files(options, place.environ, read_line, said.append) is None


async def test_trusting_says_how_many_files_were_not_in_sight_yet(place: Place) -> None:
    agents = place.folder / ".tui_agent" / "agents"
    agents.mkdir()
    for number in range(20):
        (agents / f"rev{number:02}.md").write_text("---\nname: rev\ndescription: reviews\n---\nReview.\n")
    async with place.app((80, 24)) as driven:
        await driven.until(lambda: "22 files can change" in driven.text())
        sheet = driven.app.screen
        assert isinstance(sheet, TrustSheet)
        end_grace_period(sheet)
        assert 10 < sheet.unseen_files < 20 and f"{sheet.unseen_files} not seen yet" in driven.text()
        for _ in range(len(sheet.entries) + 4):
            await driven.press("down")
        await driven.until(lambda: not sheet.unseen_files)
        assert "not seen yet" not in driven.text() and "used until one of them changes" in driven.text()


@pytest.mark.slow
async def test_the_list_of_servers_names_a_file_that_is_ignored_and_how_to_trust_it(place: Place) -> None:
    (place.folder / ".mcp.json").write_text('{"mcpServers": {"notes": {"command": "notes"}}}')
    place.decide("without")
    for size in ((120, 40), (80, 24)):
        async with place.app(size) as driven:
            await opened(driven, place)
            await driven.type("/mcp")
            await driven.press("enter")

            def is_named() -> bool:
                if not isinstance(driven.app.screen, Viewer):
                    return False
                text = "".join("".join(strip.text.split()) for strip in driven.app.screen.scrolled.strips)
                return ".mcp.jsonisnotused" in text and "Totrustthefolder:/trust" in text

            await driven.until(is_named)
