"""The registry of actions: complete, consistent, and the source of every list of keys."""

import pytest

from docs.generate_keys import PAGE, page
from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.app_commands import APP_COMMANDS
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.tui.commands.handlers import HANDLERS
from tui_agent.tui.keys_and_commands import (
    ACTIONS,
    BY_NAME,
    TYPED,
    footer,
)
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.prompt.completion import command_candidates
from tui_agent.tui.widgets.key_settings import apply_key_settings

OWN = {"quit", "stop", "copy_or_stop"}
"""Actions that the app itself carries out, before a session is open too."""


def test_every_action_of_the_app_has_a_handler() -> None:
    wanted = {action.name for action in ACTIONS if action.scope == "app"} - OWN
    assert wanted <= set(HANDLERS)


def test_every_handler_with_a_command_is_in_the_registry() -> None:
    without_command = {
        "limit_cost",
        "shell",
        "open_session",
        "watch_session",
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


def test_names_and_typed_words_are_unique_and_all_have_help() -> None:
    words = [word for action in ACTIONS for word, _ in action.typed_words]
    assert len(set(words)) == len(words) and all(word.startswith("/") for word in words)
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
    assert palette.keys == ("ctrl+t", "f9") and palette.all_keys == "Ctrl+T or F9"
    assert ("Ctrl+T", "palette", "palette") in footer(actions, ("app",), running=False)


def test_no_action_is_described_by_its_own_name() -> None:
    assert [
        one.name for one in ACTIONS if one.scope == "app" and one.help == one.name.replace("_", " ")
    ] == []


FOLDED = [
    "accept-edits",
    "base-url",
    "bug",
    "checkpoints",
    "compare",
    "delegate",
    "editor",
    "keys",
    "models",
    "pause",
    "plan",
    "plugins",
    "read",
    "rename",
    "reset-session",
    "resume",
    "revert",
    "run",
    "search",
    "send-queued",
    "session",
    "todo",
    "tools",
    "trust",
    "unqueue",
]
"""Commands that are listed no more. `/reasoning` too, which has its own rows in the test below."""


def test_thirty_three_commands_are_listed_and_the_folded_ones_can_still_be_typed() -> None:
    listed = [action.slash for action in ACTIONS if action.slash]
    assert len(listed) == 33
    assert listed[:6] == ["/new", "/model", "/undo", "/redo", "/diff", "/compact"]
    assert not {f"/{name}" for name in FOLDED} & set(listed)
    assert {f"/{name}" for name in FOLDED} <= set(TYPED)


def test_the_engine_knows_every_command_of_the_app() -> None:
    assert {f"/{name}" for name in APP_COMMANDS} == set(TYPED)


@pytest.mark.parametrize(
    ("word", "name", "argument"),
    [
        ("/clear", "new", ""),
        ("/exit", "quit", ""),
        ("/q", "quit", ""),
        ("/config", "settings", ""),
        ("/usage", "cost", ""),
        ("/login", "provider", ""),
        ("/review", "diff", ""),
        ("/accept-edits", "policy", "accept-edits"),
        ("/plan", "policy", "plan"),
        ("/reset-session", "new", "summary"),
        ("/reasoning", "model", "reasoning"),
        ("/bug", "doctor", "report"),
        ("/run", "shell", ""),
        ("/trust", "trust", ""),
    ],
)
def test_an_alias_stands_for_its_command(word: str, name: str, argument: str) -> None:
    assert TYPED[word] == (BY_NAME[name], argument)


async def test_help_lists_every_command_and_the_keys_of_the_prompt_first() -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        await driven.press("f1")
        picker = driven.app.screen
        assert isinstance(picker, Picker)
        labels = [item.label for item in picker.items]
        assert labels[:5] == ["Enter", "Enter", "Tab", "/", "@"]
        assert [action.slash for action in ACTIONS if action.slash not in ("", *labels)] == []
        assert "not while a turn runs" not in driven.text()


OTHER_WORDS = [
    ("ctrl+p", "dark", "/theme"),
    ("ctrl+p", "clear", "/new"),
    ("ctrl+p", "exit", "/quit"),
    ("ctrl+p", "vim", "/vim"),
    ("ctrl+p", "mouse", "/settings"),
    ("ctrl+p", "usage", "/cost"),
    ("f1", "/login", "/provider"),
    ("f1", "clear", "/new"),
    ("f1", "new line", "Shift+Enter"),
    ("f1", "accept-edits", "/policy"),
]


async def test_help_and_palette_find_by_other_words() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        for key, typed, label in OTHER_WORDS:
            await driven.press(key)
            picker = driven.app.screen
            assert isinstance(picker, Picker)
            await driven.type(typed)
            assert picker.matches[0].label == label, typed
            await driven.app.close_screens()
            await driven.pilot.pause()


async def test_help_runs_the_chosen_command_and_a_key_of_the_prompt_is_only_to_be_read() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.press("f1")
        await driven.type("task list")
        await driven.press("enter")
        assert "Reproduce the negative hours" in driven.text() and len(driven.app.screen_stack) == 2
        await driven.press("escape", "f1", "enter")
        assert "send the message" in driven.text() and "Enter use it" not in driven.rows()[-1]
        assert len(driven.app.screen_stack) == 2 and driven.session.submitted == []


async def test_the_selected_row_of_help_shows_all_of_its_text() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.press("f1")
        await driven.type("start a new line")
        assert "start a new line" in driven.text()
        assert (
            "  Keys: Shift+Enter, Alt+Enter, Ctrl+J or" in driven.text() and "  Ctrl+Enter" in driven.text()
        )


@pytest.mark.parametrize("more", [(), ("tab",)])
async def test_enter_on_a_bare_slash_runs_nothing(more: tuple[str, ...]) -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("slash", *more, "enter")
        assert driven.session.submitted == [] and len(driven.app.screen_stack) == 1
        assert driven.app.prompt.editor.text == "/" and driven.app.prompt.menu.display
        assert "Enter run" not in driven.text()
        rows = [row for row in driven.rows() if "▌ /" in row][1:]
        assert [row.split()[1] for row in rows[:3]] == ["/new", "/model", "/undo"]
        await driven.press("escape", "enter")
        assert driven.app.prompt.editor.text == "/" and driven.session.submitted == []


def test_a_word_that_loosens_the_policy_is_never_the_first_of_several() -> None:
    candidates = [
        [candidate.label for candidate in command_candidates(query, ACTIONS, running=False)]
        for query in ("/", "/a", "/p")
    ]
    assert [labels[0] for labels in candidates] == ["/new", "/agent", "/policy"]
    assert "/accept-edits" not in candidates[0] and "/accept-edits" in candidates[1][1:]


@pytest.mark.parametrize(("arrow", "chosen"), [("down", "/new"), ("up", "/quit")])
async def test_an_arrow_key_selects_in_the_menu_of_a_bare_slash(arrow: str, chosen: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("slash", arrow)
        candidate = driven.app.prompt.menu.candidate
        assert candidate is not None and candidate.label == chosen
        assert "Enter run" in driven.text()


async def test_enter_after_a_command_and_a_space_takes_no_option_that_was_not_chosen() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/policy ")
        assert driven.app.prompt.menu.display
        await driven.press("enter")
        assert driven.session.submitted == [] and len(driven.app.screen_stack) == 2


@pytest.mark.slow
async def test_what_changes_the_ground_of_a_turn_is_refused_while_it_runs() -> None:
    words = sorted(word for word, (action, _) in TYPED.items() if action.ground)
    assert words
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        for slash in words:
            driven.app.hide_notice()
            driven.app.prompt.editor.put_text(f"{slash} zzz")
            await driven.press("enter")
            assert driven.session.submitted == [], slash
            assert "A turn is running. Press Esc to stop it, then try again." in driven.text(), slash
            assert driven.app.prompt.editor.text == f"{slash} zzz"


@pytest.mark.slow
async def test_what_only_reads_works_while_a_turn_runs() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        for slash in ("/help", "/status", "/trace", "/todo", "/context", "/cost", "/tools", "/diff", "/keys"):
            await driven.type(slash)
            await driven.press("enter")
            assert len(driven.app.screen_stack) == 2, slash
            await driven.press("escape")
            assert len(driven.app.screen_stack) == 1, slash
            assert driven.session.submitted == [], slash
