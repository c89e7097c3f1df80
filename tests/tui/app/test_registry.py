"""The registry of actions: complete, consistent, and the source of every list of keys."""

import pytest

from docs.generate_keys import PAGE, page
from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.tui.actions import (
    ACTIONS,
    BY_SLASH,
    commands,
    footer,
)
from tui_agent.tui.commands.handlers import HANDLERS
from tui_agent.tui.widgets.key_settings import apply_key_settings

OWN = {"quit", "stop", "copy_or_stop"}
"""Actions that the app itself carries out, before a session is open too."""


def test_every_action_of_the_app_has_a_handler() -> None:
    wanted = {action.name for action in ACTIONS if action.scope == "app"} - OWN
    assert wanted <= set(HANDLERS)


def test_every_handler_with_a_command_is_in_the_registry() -> None:
    without_command = {
        "limit_cost",
        "open_session",
        "start",
        "demo",
        "write",
        "local",
        "play",
        "to_end",
        "open_block",
        "page_up",
        "page_down",
    }
    assert set(HANDLERS) - {action.name for action in ACTIONS} <= without_command


def test_names_and_slash_commands_are_unique_and_all_have_help() -> None:
    slashes = [action.slash for action in ACTIONS if action.slash]
    assert len(set(slashes)) == len(slashes)
    names = [(action.name, action.scope, action.when) for action in ACTIONS]
    assert len(set(names)) == len(names)
    assert all(action.help and not action.help.endswith(".") for action in ACTIONS)


def test_no_key_of_the_app_is_one_that_the_line_editor_or_tmux_needs() -> None:
    taken = {f"ctrl+{letter}" for letter in "abefkuwy"}
    assert not taken & {key for action in ACTIONS if action.scope == "app" for key in action.keys}


def test_no_two_actions_of_the_app_share_a_key() -> None:
    keys = [key for action in ACTIONS if action.scope == "app" for key in action.keys]
    assert len(set(keys)) == len(keys)


def test_the_document_of_keys_is_the_registry() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m docs.generate_keys`"


def test_the_footer_names_what_applies_most_useful_first() -> None:
    idle = footer(ACTIONS, ("app", "prompt", "transcript"), running=False)
    assert [hint[:2] for hint in idle[:2]] == [("Enter", "send"), ("/", "commands")]
    running = footer(ACTIONS, ("app", "prompt", "transcript"), running=True)
    assert [hint[:2] for hint in running[:3]] == [
        ("Enter", "steer now"),
        ("Tab", "queue for after"),
        ("Esc", "stop"),
    ]


def test_keys_can_be_changed_and_the_lists_follow() -> None:
    actions = apply_key_settings({"palette": "ctrl+t, f9"}).actions
    palette = next(action for action in actions if action.name == "palette")
    assert palette.keys == ("ctrl+t", "f9") and palette.shown == "Ctrl+T or F9"
    assert ("Ctrl+T", "palette", "palette") in footer(actions, ("app",), running=False)


def test_no_action_is_described_by_its_own_name() -> None:
    assert [
        one.name for one in ACTIONS if one.scope == "app" and one.help == one.name.replace("_", " ")
    ] == []


async def test_help_lists_every_command() -> None:
    async with open_app(golden("night_shift"), size=(160, 120)) as driven:
        await driven.press("f1")
        text = driven.text()
        missing = [action.slash for action in commands() if action.slash not in text]
        assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize("slash", sorted(slash for slash, action in BY_SLASH.items() if action.ground))
async def test_what_changes_the_ground_of_a_turn_is_refused_while_it_runs(slash: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        driven.app.prompt.editor.put_text(f"{slash} zzz")
        await driven.press("enter")
        assert driven.session.submitted == []
        assert f"A turn is running. Press Esc to stop it, then use {slash}." in driven.text()
        assert driven.app.prompt.editor.text == f"{slash} zzz"


@pytest.mark.slow
@pytest.mark.parametrize(
    "slash", ["/help", "/status", "/trace", "/todo", "/context", "/cost", "/tools", "/diff", "/keys"]
)
async def test_what_only_reads_works_while_a_turn_runs(slash: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await driven.type(slash)
        await driven.press("enter")
        assert len(driven.app.screen_stack) == 2
        await driven.press("escape")
        assert len(driven.app.screen_stack) == 1
        assert driven.session.submitted == []


async def test_an_unknown_command_is_said_and_kept() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/modle")
        await driven.press("enter")
        assert "Unknown command /modle. Did you mean /model or /models? /help lists all." in driven.text()
        assert driven.app.prompt.editor.text == "/modle"


async def test_a_path_at_the_start_of_a_message_is_no_command() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/etc/hosts is wrong")
        await driven.press("enter")
        assert len(driven.session.submitted) == 1


async def test_the_palette_runs_an_action_by_a_piece_of_its_name() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("ctrl+p")
        await driven.type("todo")
        await driven.press("enter")
        assert "Reproduce the negative hours" in driven.text() and len(driven.app.screen_stack) == 2
