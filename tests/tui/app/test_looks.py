"""Themes, colours and symbols: chosen before the first frame, changed live, never in the way."""

import asyncio
import time
from pathlib import Path

import pytest
from rich.color import ColorSystem, ColorType

from tests.tui.app.driving import ENVIRON, NOWHERE, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.tui.controller.startup import watch_theme_files
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.terminal.keyboard import BackgroundReported
from tui_agent.tui.theme.first_frame import colour_mode, first_look, guess_theme, has_256_colours, may_blink
from tui_agent.tui.theme.theme import BUNDLED, Palette, Role, bundled_folder, load_theme
from tui_agent.tui.widgets.lists import Lines

OPTIONS = SessionOptions(cwd=NOWHERE)


def user_theme(home: Path, accent: str = "#ff00ff", name: str = "mine") -> Path:
    folder = home / "tui-agent" / "themes"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    lines = (bundled_folder() / "night.toml").read_text().splitlines()
    changed = [f'accent = "{accent}"' if line.startswith("accent") else line for line in lines]
    path.write_text("\n".join(f'name = "{name}"' if line.startswith("name") else line for line in changed))
    return path


def test_nearest_wins_option_environment_file(tmp_path: Path) -> None:
    environ = {**ENVIRON, "XDG_CONFIG_HOME": str(tmp_path)}
    (tmp_path / "tui-agent").mkdir()
    (tmp_path / "tui-agent" / "config.toml").write_text('theme = "day"\nsymbols = "ascii"\nmouse = false\n')
    look = first_look(OPTIONS, environ)
    assert (look.theme.name, look.looks.symbols.name, look.mouse) == ("day", "ascii", False)
    assert first_look(OPTIONS, {**environ, "TUI_AGENT_THEME": "beacon"}).theme.name == "beacon"
    wanted = SessionOptions(cwd=NOWHERE, theme="night")
    assert first_look(wanted, {**environ, "TUI_AGENT_THEME": "beacon"}).theme.name == "night"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"theme = ", b'theme = "../../etc/passwd"', b"theme = 7"])
def test_a_broken_file_or_an_unknown_theme_gives_the_default(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tui-agent").mkdir()
    (tmp_path / "tui-agent" / "config.toml").write_bytes(content)
    assert first_look(OPTIONS, {**ENVIRON, "XDG_CONFIG_HOME": str(tmp_path)}).theme.name == "night"


@pytest.mark.parametrize("theme", sorted(set(BUNDLED) - {"terminal"}))
def test_surfaces_are_grey_in_256_colours_too(theme: str) -> None:
    palette = Palette(load_theme(bundled_folder() / f"{theme}.toml").for_256_colours())
    grounds: tuple[Role, ...] = ("sunk", "s0", "s1", "s2", "s3")
    for ground in grounds:
        color = palette.style(None, ground).bgcolor
        assert color is not None
        red, green, blue = color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        assert red == green == blue, (ground, color)


@pytest.mark.slow_variants
@pytest.mark.parametrize("keys", [("f4",), ("f1",), ("ctrl+p",)])
async def test_a_modal_has_another_grey_than_what_is_chosen_in_it_in_256_colours(
    keys: tuple[str, ...],
) -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press(*keys)
        await driven.until(lambda: len(driven.app.screen_stack) > 1)
        sheet = driven.app.screen.query_one("#sheet")
        ground = sheet.styles.background.rich_color.downgrade(ColorSystem.EIGHT_BIT)
        red, green, blue = ground.get_truecolor()
        assert red == green == blue
        chosen = driven.app.looks.palette.style(None, "selection").bgcolor
        assert chosen is not None and chosen.downgrade(ColorSystem.EIGHT_BIT) != ground


def test_colours_follow_the_terminal() -> None:
    assert colour_mode({"NO_COLOR": "1", "COLORTERM": "truecolor"}) == "none"
    for term in ("linux", "xterm", "xterm-16color", "alacritty"):
        assert colour_mode({"TERM": term}) == "16"
        assert colour_mode({"TERM": term, "COLORTERM": "truecolor"}) == "full"
    assert colour_mode({"TERM": "xterm-256color"}) == "full"
    assert has_256_colours({"TERM": "xterm-256color"})
    assert not has_256_colours({"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    look = first_look(SessionOptions(cwd=NOWHERE), {"HOME": "/dev/null/nowhere", "TERM": "tmux-256color"})
    assert look.theme.colors["selection"] == "#3a3a3a"
    assert (guess_theme({"COLORFGBG": "0;15"}), guess_theme({"COLORFGBG": "15;0"}), guess_theme({})) == (
        "day",
        "night",
        "night",
    )
    assert (
        may_blink("on", {"SSH_CONNECTION": "x"})
        and not may_blink("auto", {"SSH_CONNECTION": "x"})
        and not may_blink("off", {})
    )


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("environ", "is_dark", "late", "theme"),
    [
        ({}, False, 0.0, "day"),
        ({}, True, 0.0, "night"),
        ({"COLORFGBG": "0;15"}, True, 0.0, "night"),
        ({"TUI_AGENT_THEME": "ember"}, False, 0.0, "ember"),
        ({}, False, 2.0, "night"),
        ({"NO_COLOR": "1"}, False, 0.0, "night"),
    ],
)
async def test_the_terminals_background_chooses_the_theme_if_the_user_has_chosen_none(
    environ: dict[str, str], is_dark: bool, late: float, theme: str
) -> None:
    async with open_app(golden("night_shift"), environ=environ) as driven:
        if driven.app.background_asked_at:
            driven.app.background_asked_at = time.monotonic() - late
        driven.app.post_message(BackgroundReported(is_dark=is_dark))
        await driven.pilot.pause()
        assert driven.app.looks.palette.theme.name == theme
        driven.app.use_theme("ink")
        driven.app.post_message(BackgroundReported(is_dark=is_dark))
        await driven.pilot.pause()
        assert driven.app.looks.palette.theme.name == "ink"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_without_colour_every_cell_is_the_terminals_own(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size, environ={"NO_COLOR": "1", "LC_ALL": "C"}) as driven:
        for strip in driven.app.screen._compositor.render_strips():
            for segment in strip:
                style = segment.style
                for color in (style.color, style.bgcolor) if style is not None else ():
                    assert color is None or color.is_default, segment
        text = driven.text()
        assert "| ask" in text and "+ run" in text
        assert not set("✓✗▸▾▌━┼│") & set(text)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_terminals_theme_leaves_every_background_to_the_terminal(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)  # with it, everything is grey
    async with open_app(golden("night_shift"), size=size, environ={"TUI_AGENT_THEME": "night"}) as driven:
        driven.app.use_theme("terminal")
        await driven.pilot.pause()
        colors = [
            color
            for strip in driven.app.screen._compositor.render_strips()
            for segment in strip
            if segment.style is not None
            for color in (segment.style.color, segment.style.bgcolor)
            if color is not None and not color.is_default
        ]
        assert {color.type for color in colors} == {ColorType.STANDARD}
        driven.app.use_theme("night")
        await driven.pilot.pause()
        assert driven.app.screen.styles.background.hex.lower() == "#15181c"


async def test_a_saved_theme_is_drawn_anew_while_it_is_in_use(tmp_path: Path) -> None:
    path = user_theme(tmp_path)
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "TUI_AGENT_THEME": "mine"}
    async with open_app(golden("night_shift"), environ=environ) as driven:
        assert driven.app.looks.palette.theme.colors["accent"] == "#ff00ff"
        user_theme(tmp_path, "#00ff00")
        driven.app.use_theme("mine")
        await driven.pilot.pause()
        assert driven.app.looks.palette.theme.colors["accent"] == "#00ff00"
        path.write_text("broken")
        driven.app.use_theme("mine")
        await driven.pilot.pause()
        assert driven.app.looks.palette.theme.colors["accent"] == "#00ff00"
        assert "not valid TOML" in driven.app.notice.text


def plugin_with_themes(home: Path) -> None:
    folder = home / "tui-agent" / "plugins" / "looks"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    names = ["dusk", "night", "bad", "gone"]
    (folder / "plugin.toml").write_text(f"themes = {[f'{name}.toml' for name in names]}")
    night = (bundled_folder() / "night.toml").read_text()
    (folder / "dusk.toml").write_text(night.replace('"night"', '"dusk"').replace("#15181c", "#101010"))
    (folder / "night.toml").write_text(night.replace("#15181c", "#101010"))
    (folder / "bad.toml").write_text(night.replace('"Dark, the default."', r'"\u001b[2J"'))


async def test_choosing_a_faulty_theme_says_why_it_is_not_usable(tmp_path: Path) -> None:
    plugin_with_themes(tmp_path)
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    async with open_app(golden("night_shift"), environ=environ) as driven:
        driven.app.prompt.editor.put_text("/theme bad")
        await driven.press("enter")
        await driven.until(
            lambda: driven.app.notice.text.startswith("The theme bad cannot be used. Plugin looks: ")
        )
        assert driven.app.notice.text.endswith("Correct them.")
        assert driven.app.looks.palette.theme.name == "night"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_themes_of_a_plugin_are_offered_and_its_faulty_ones_named(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    plugin_with_themes(tmp_path)
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    async with open_app(golden("night_shift"), size=size, environ=environ) as driven:
        driven.app.prompt.editor.put_text("/theme")
        await driven.press("escape", "enter")
        await driven.type("looks")
        rows = driven.text()
        folder = tmp_path / "tui-agent" / "plugins" / "looks"
        picker = driven.app.screen
        assert isinstance(picker, Picker)
        theme = f"Plugin looks: The theme {folder}"
        assert [(item.label, item.about) for item in picker.items if not item.offered] == [
            ("night.toml", f"{theme}/night.toml has the same name as another theme, night. Rename it."),
            (
                "bad.toml",
                f"{theme}/bad.toml needs `dark` as true or false and `about` as one line of text. Correct them.",
            ),
            ("gone.toml", f"{theme}/gone.toml was not found. Check its name."),
        ]
        assert "Plugin looks" in rows
        await driven.press("escape")
        await driven.type("dusk")
        assert driven.app.looks.palette.theme.name == "dusk"
        await driven.press("escape", "escape")
        assert driven.app.looks.palette.theme.name == "night"
        assert driven.app.looks.palette.theme.colors["s0"] == "#15181c"
    look = first_look(OPTIONS, {**ENVIRON, **environ, "TUI_AGENT_THEME": "dusk"})
    assert look.theme.colors["s0"] == "#101010"
    options = SessionOptions(cwd=NOWHERE, no_plugins=True)
    assert first_look(options, {**ENVIRON, **environ, "TUI_AGENT_THEME": "dusk"}).theme.name == "night"


async def test_the_watcher_names_the_theme_that_was_saved(tmp_path: Path) -> None:
    path = user_theme(tmp_path)
    stop, seen = asyncio.Event(), list[set[str]]()

    def changed(names: set[str]) -> None:
        seen.append(names)
        stop.set()

    async def touch() -> None:
        while not stop.is_set():
            path.write_text(path.read_text() + "\n")
            await asyncio.sleep(0.2)

    async with asyncio.TaskGroup() as group:
        group.create_task(touch())
        await asyncio.wait_for(watch_theme_files([path.parent], changed, stop), 20)
        stop.set()
    assert seen[0] == {"mine"}


async def test_a_sheet_that_scrolls_is_drawn_with_ascii_alone_where_it_was_asked_for() -> None:
    async with open_app(
        golden("night_shift"), size=(100, 20), environ={"TUI_AGENT_SYMBOLS": "ascii"}
    ) as driven:
        await driven.press("f1")
        await driven.pilot.pause()
        assert isinstance(driven.app.screen, Picker) and driven.app.screen.query_one(Lines).max_scroll_y > 0
        shown = driven.text()
        assert "▐" not in shown
        assert any(row.rstrip().endswith("|") for row in shown.splitlines())


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_reason_why_a_theme_is_not_usable_can_be_read(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    user_theme(tmp_path, accent="nothing", name="broken")
    async with open_app(
        golden("night_shift"), size=size, environ={"XDG_CONFIG_HOME": str(tmp_path)}
    ) as driven:
        await driven.type("/theme")
        await driven.press("enter")
        await driven.press("end")
        await driven.until(lambda: "›   broken.toml" in driven.text())
        assert isinstance(driven.app.screen, Picker)
        scrolled = driven.app.screen.scrolled
        text = "".join("".join(strip.text.split()) for strip in scrolled.strips)
        assert text.endswith("has'nothing'foraccent.Writeacolouras\"#rrggbb\".")
        await driven.until(lambda: scrolled.scroll_offset.y == scrolled.max_scroll_y)
