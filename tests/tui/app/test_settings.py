"""/settings and /keys: every setting with its value and origin, and edits in config.toml that keep its comments."""

import tomllib
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.setting_list import list_settings
from tui_agent.protocol.events.plugin import PluginLoaded, SettingInfo
from tui_agent.tui.commands.keys import KeyCapture
from tui_agent.tui.modals.picker import Picker

SIZES = [(120, 40), (80, 24)]
FILE = """\
# mine
symbols = "unicode"  # as I like it

[context]
keep = 0.3  # more
"""


def options(tmp_path: Path) -> SessionOptions:
    return SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")


def config_file(tmp_path: Path, text: str = FILE) -> Path:
    path = tmp_path / "tui-agent" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path), **more}


def configured(
    tmp_path: Path, size: tuple[int, int] = SIZES[0], **variables: str
) -> AbstractAsyncContextManager[Driven]:
    """The app with the user's files in `tmp_path`."""
    given = environ(tmp_path, **variables)
    return open_app(golden("night_shift"), size=size, options=options(tmp_path), environ=given)


async def run(driven: Driven, line: str) -> None:
    driven.app.prompt.editor.put_text(line)
    await driven.press("escape", "enter")


def rows(driven: Driven) -> dict[str, str]:
    picker = driven.app.screen
    assert isinstance(picker, Picker), driven.text()
    return {item.value: item.right for item in picker.items}


def test_every_setting_has_an_explanation_a_value_and_an_origin(tmp_path: Path) -> None:
    path = config_file(tmp_path)
    given = environ(tmp_path, TUI_AGENT_MOTION="off")
    (tmp_path / ".git").mkdir()
    settings = {one.name: one for one in list_settings(load_config(options(tmp_path), given))}
    assert [name for name, one in settings.items() if not one.about] == []
    shown = {name: (one.kind, one.shown_value, one.origin) for name, one in settings.items()}
    assert shown["symbols"] == ("choice", "unicode", "your file")
    assert shown["motion"] == ("choice", "off", "environment TUI_AGENT_MOTION")
    assert shown["mouse"] == ("switch", "on", "default")
    assert shown["context.keep"] == ("number", "0.3", "your file")
    assert shown["context.compact_at"] == ("number", "0.85", "default")
    assert shown["budgets.max_cost_usd"] == ("number", "", "default")
    assert shown["reasoning_effort"][0] == "choice"
    assert shown["notes_dir"] == ("text", "", "default")
    assert shown["data_dir"] == ("text", str(tmp_path / "data"), "option")
    assert shown["models"] == ("table", "0 entries", "default")
    assert path.read_text() == FILE


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_settings_are_found_by_a_word_of_their_explanation_and_show_where_they_come_from(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    config_file(tmp_path)
    async with configured(tmp_path, size) as driven:
        await run(driven, "/settings")
        assert "The model to start with" in driven.text(), "a description has room"
        shown = driven.text().split("The model to start with")[1].split("base_url")[0]
        assert not any(line.strip(" ▌▐│█") == "" for line in shown.splitlines()[1:-1]), shown
        assert rows(driven)["context.keep"] == "0.3  your file"
        await driven.type("context.keep")
        assert "1 of" in driven.text()
        await driven.press("ctrl+u")
        await driven.type("newest messages")
        text = driven.text()
        assert " keep " in text and "0.3  your file" in text and "Share of the model's context" in text
        assert "compact_at" not in text
        await driven.press("enter")
        assert "context.keep" in driven.text() and "Share of the model's context" in driven.text()
        await driven.press("escape")
        assert rows(driven)["mouse"] == "on  default"


@pytest.mark.parametrize("size", SIZES)
async def test_a_number_a_choice_a_switch_and_a_text_are_written_and_every_comment_stays(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    path = config_file(tmp_path)
    async with configured(tmp_path, size) as driven:
        await run(driven, "/settings context.keep")
        assert "type a value" in driven.text()
        await driven.type("0.4")
        await driven.press("enter")
        assert path.read_text() == FILE.replace("keep = 0.3 ", "keep = 0.4 ")
        assert "context.keep saved in" in driven.app.notice.text
        assert driven.app.notice.text.endswith("Takes effect at the next start.")
        await run(driven, "/settings symbols")
        await driven.type("ascii")
        await driven.press("enter")
        assert 'symbols = "ascii"  # as I like it' in path.read_text()
        await run(driven, "/settings vim")
        await driven.type("on")
        await driven.press("enter")
        assert driven.app.prompt.editor.vim is not None
        await run(driven, "/settings vim")
        await driven.press("escape")
        await driven.press("escape")
        assert tomllib.loads(path.read_text())["vim"] is True
        driven.app.prompt.editor.use_vim(on=False)
        await run(driven, "/settings theme")
        await driven.type("ember")
        await driven.press("enter")
        assert driven.app.looks.palette.theme.name == "ember"
        await run(driven, "/settings symbols")
        await driven.type("reset")
        await driven.press("enter")
        assert tomllib.loads(path.read_text()) == {"vim": True, "theme": "ember", "context": {"keep": 0.4}}
        assert path.read_text().startswith("# mine\n") and "# more" in path.read_text()


async def test_the_way_of_notifications_is_used_at_once(tmp_path: Path) -> None:
    config_file(tmp_path)
    async with configured(tmp_path) as driven:
        assert driven.app.terminal.notifications == "auto"
        await run(driven, "/settings notifications")
        await driven.type("bell")
        await driven.press("enter")
        assert driven.app.terminal.notifications == "bell"
        assert "next start" not in driven.app.notice.text


async def test_a_value_that_is_not_valid_or_has_no_effect_is_reported(tmp_path: Path) -> None:
    path = config_file(tmp_path)
    async with configured(tmp_path, TUI_AGENT_MOTION="off") as driven:
        await run(driven, "/settings context.keep")
        await driven.type("7")
        await driven.press("enter")
        assert "'context.keep' is 7: input should be less than or equal to 0.6" in driven.app.notice.text
        assert path.read_text() == FILE
        assert isinstance(driven.app.screen, Picker), "the value can be corrected"
        await driven.type("x")
        await driven.press("enter")
        assert driven.app.notice.text == "context.keep must be a number."
        await driven.press("backspace", "backspace")
        await driven.type("0.2")
        await driven.press("enter")
        assert "keep = 0.2 " in path.read_text() and len(driven.app.screen_stack) == 1
        await run(driven, "/settings motion")
        await driven.type("on")
        await driven.press("enter")
        assert "no effect now, because environment TUI_AGENT_MOTION overrides it" in driven.app.notice.text
        await run(driven, "/settings models")
        assert "tui-agent config edit" in driven.app.notice.text
        await run(driven, "/settings compact")
        assert "compact_at" in driven.text() and "mouse" not in driven.text()


async def test_an_agent_is_chosen_from_those_that_exist(tmp_path: Path) -> None:
    path = config_file(tmp_path, FILE.replace("[context]", 'agent = "reader"\n[context]'))
    async with configured(tmp_path) as driven:
        await run(driven, "/settings agent")
        assert "type to filter" in driven.text()
        assert {"default", "reader", "\0reset"} <= rows(driven).keys()
        await driven.type("nosuch")
        await driven.press("enter")
        assert 'agent = "reader"' in path.read_text() and isinstance(driven.app.screen, Picker)


@pytest.mark.slow
async def test_a_theme_is_chosen_from_those_that_exist(tmp_path: Path) -> None:
    path = config_file(tmp_path)
    async with configured(tmp_path) as driven:
        await run(driven, "/settings theme")
        assert {"night", "ember"} <= rows(driven).keys() and "type to filter" in driven.text()
        await driven.type("bogus")
        await driven.press("enter")
        assert path.read_text() == FILE and isinstance(driven.app.screen, Picker)


@pytest.mark.parametrize("size", SIZES)
async def test_a_key_is_pressed_checked_saved_used_and_reset(tmp_path: Path, size: tuple[int, int]) -> None:
    path = config_file(tmp_path)
    async with configured(tmp_path, size) as driven:
        await run(driven, "/keys")
        await driven.type("find any action by name")
        await driven.press("enter")
        sheet = driven.app.screen
        assert isinstance(sheet, KeyCapture)
        assert [hint.word for hint in sheet.key_hints()] == ["cancel"]
        await driven.press("f5")
        assert "F5 is set for both" in driven.text()
        assert [hint.word for hint in sheet.key_hints()] == ["cancel"]
        await driven.press("ctrl+c")
        assert "Ctrl+C is set for both" in driven.text() and driven.app.screen is sheet
        await driven.press("f9")
        assert [hint.word for hint in sheet.key_hints()] == ["save", "cancel"]
        assert "would mean" not in driven.text()
        await driven.press("enter")
        assert path.read_text() == f'{FILE}\n[keys]\npalette = "f9"\n'
        await driven.press("ctrl+p")
        assert len(driven.app.screen_stack) == 1
        await driven.press("f9")
        assert isinstance(driven.app.screen, Picker)
        await driven.press("escape")
        await run(driven, "/keys palette")
        await driven.type("reset")
        await driven.press("enter")
        assert tomllib.loads(path.read_text())["keys"] == {}
        await driven.press("ctrl+p")
        assert isinstance(driven.app.screen, Picker)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_the_key_tester_names_each_key_and_changes_nothing(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    path = config_file(tmp_path)
    async with configured(tmp_path, size) as driven:
        await run(driven, "/keys")
        await driven.type("test keys")
        await driven.press("enter")
        await driven.press("ctrl+p", "enter", "shift+f5")
        text = driven.text()
        assert "Shift+F5" in text and "shift+f5" in text and "not known" in text
        await driven.press("escape")
        assert isinstance(driven.app.screen, Picker)
        assert path.read_text() == FILE


async def test_an_action_with_two_keys_asks_for_both(tmp_path: Path) -> None:
    path = config_file(tmp_path)
    async with configured(tmp_path) as driven:
        await run(driven, "/keys undo_typing")
        sheet = driven.app.screen
        assert isinstance(sheet, KeyCapture)
        assert "Press 2 keys, one after the other." in driven.text()
        await driven.press("f7")
        assert "F7  Press 1 key." in driven.text()
        assert [hint.word for hint in sheet.key_hints()] == ["cancel"]
        await driven.press("f8", "enter")
        assert tomllib.loads(path.read_text())["keys"] == {"undo_typing": ["f7", "f8"]}
        assert {action.keys for action in driven.app.actions if action.name == "undo_typing"} == {
            ("f7", "f8")
        }


@pytest.mark.slow
async def test_the_settings_of_a_plugin_are_shown_with_their_origin_and_written_into_its_table(
    tmp_path: Path,
) -> None:
    path = config_file(tmp_path, FILE + "\n[plugins.acme]\nlimit = 7  # mine\n")
    settings = (
        SettingInfo(name="limit", help="How many.", kind="number", default=3),
        SettingInfo(name="loud", kind="switch", choices=("on", "off"), default=False),
        SettingInfo(name="ACME_API_KEY", kind="key", default=False),
    )
    offer = PluginLoaded(plugin="acme", version="1", source="user", contributions=(), settings=settings)
    async with configured(tmp_path) as driven:
        driven.session.feed(offer)
        await driven.settle()
        await run(driven, "/settings")
        shown = rows(driven)
        assert shown["plugins.acme.limit"] == "7  your file" and shown["plugins.acme.loud"] == "off  default"
        assert shown["plugins.acme.ACME_API_KEY"] == "not set  default" and "plugins" not in shown
        await driven.type("many")
        await driven.until(lambda: "acme.limit" in driven.text())
        await driven.press("escape")
        await driven.press("escape")
        await run(driven, "/settings plugins.acme.limit")
        for typed, said in (("many", "plugins.acme.limit must be a number."), ("9", "saved in")):
            await driven.press("ctrl+u")
            await driven.type(typed)
            await driven.press("enter")
            await driven.settle()
            assert said in driven.text()
        assert path.read_text() == FILE + "\n[plugins.acme]\nlimit = 9  # mine\n"
