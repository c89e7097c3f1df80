"""The footer names the keys of what has the focus, from the registry: each one does something, and none is another's."""

from collections.abc import Sequence

import pytest
from rich.style import Style

from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tests.tui.app.test_approvals import ask, request
from tests.tui.app.test_question_sheet import ask_question
from tui_agent.protocol.display_blocks import DiffBlock
from tui_agent.protocol.events.policy import PermissionChoice
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.keys_and_commands import ACTIONS, BY_NAME, KeyHint
from tui_agent.tui.modals.confirm import open_link
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.keymap import KeyScreen
from tui_agent.tui.widgets.sheet import Sheet

SCREENS = [
    *("/status", "/diff", "/context", "/policy", "/model", "/theme", "/provider openai", "/help", "/todo"),
    *("/trace", "/replay", "/tree", "/checkpoints", "/jobs", "/map", "/sessions", "/export html"),
    *("/settings", "/settings mouse", "/settings context.keep", "/keys", "/keys palette"),
    *("approval", "reason", "rule", "whole change", "question", "plan", "confirm"),
]
QUIET = {"view_scroll", "map_refresh", "checkpoint_author"}
"""Keys that may show nothing: a text that fits cannot scroll, the map may be the same, and a filter only be marked."""
PLAN = QuestionAsked(question_id=RequestId("q_1"), text="1. Fix", form="plan", options=("Approve", "Plan on"))
QUESTION = QuestionAsked(question_id=RequestId("q_1"), text="Which?", form="choice", options=("csv", "json"))
LONG = DiffBlock(
    path="src/entry.py",
    added=90,
    removed=0,
    diff="@@ -0,0 +1,90 @@\n" + "\n".join(f"+line {n}" for n in range(90)),
)


async def open_screen(driven: Driven, name: str) -> None:
    """Open a screen by its command, or by what the agent asks."""
    if name.startswith("/"):
        driven.app.prompt.editor.put_text(name)
        await driven.press("escape", "enter")
        await driven.until(lambda: len(driven.app.screen_stack) > 1)
        await driven.pilot.pause(0.05)
    elif name == "confirm":
        open_link(driven.app, "https://example.org/a")
        await driven.pilot.pause()
    elif name in ("question", "plan"):
        await ask_question(driven, PLAN if name == "plan" else QUESTION)
    else:
        await ask(driven, request(preview=(LONG,)))
        await driven.press({"reason": "n", "rule": "e", "whole change": "d"}.get(name, "f12"))
    if isinstance(driven.app.screen, Sheet):
        end_grace_period(driven.app.screen)


def footer(driven: Driven) -> Footer:
    """The footer that is visible."""
    return next(foot for screen in reversed(driven.app.screen_stack) for foot in screen.query(Footer))


def footer_hints(driven: Driven) -> list[str]:
    """The keys in the visible footer, each with its word."""
    return [f"{hint.key} {hint.word}" for hint in footer(driven).hints]


def visible_state(driven: Driven) -> tuple[object, ...]:
    """Everything that a key may change."""
    app = driven.app
    return driven.rows(), app.notice.text, list(app.screen_stack), list(driven.session.submitted), app.focused


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", SCREENS)
async def test_each_key_in_the_footer_belongs_to_the_screen_on_top_and_does_something(name: str) -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        hints = await press_one_hint(driven, name, 0)
        again = (
            name.startswith("/") or name == "confirm"
        )  # what an answer has closed is not asked again in the same session
        for number in range(1, len(hints)) if again else ():
            await driven.app.close_screens()
            driven.app.prompt.editor.put_text("")
            await driven.settle()
            await press_one_hint(driven, name, number)
    for number in () if again else range(1, len(hints)):
        async with open_app(golden("night_shift"), size=(120, 40)) as driven:
            await press_one_hint(driven, name, number)


async def press_one_hint(driven: Driven, name: str, number: int) -> Sequence[KeyHint]:
    """Open a screen and press the keys of one of the hints in its footer. Return all its hints."""
    await open_screen(driven, name)
    top = driven.app.screen
    assert isinstance(top, KeyScreen)
    row = driven.rows()[-1]
    hints = [hint for hint in footer(driven).hints if f"{hint.key} {hint.word}" in row]
    hint = hints[number]
    action = BY_NAME[hint.action]
    assert action.scope in top.key_scopes() and (action.method or action.name in top.key_methods)
    states = [visible_state(driven)]
    for key in action.keys[: action.choices]:
        await driven.press(key)
        states.append(visible_state(driven))
    assert any(state != states[0] for state in states) or action.name in QUIET, hint
    return hints


async def test_the_footer_shows_the_keys_of_the_prompt_again_when_the_sheet_is_closed() -> None:
    async with open_app(golden("night_shift")) as driven:
        before = driven.rows()[-1]
        assert before.strip().startswith("Enter send   ") and before.endswith("F1 help")
        await driven.press("f2")
        await driven.until(lambda: driven.rows()[-1].strip() == "Esc close")
        await driven.press("escape")
        await driven.until(lambda: driven.rows()[-1] == before)


def style_of(driven: Driven, key: str) -> Style | None:
    """The style in which the footer names this key."""
    row = driven.app.screen._compositor.render_strips()[-1]
    return next(segment.style for segment in row if segment.text.strip() == key)


@pytest.mark.slow
async def test_the_keys_of_a_sheet_are_not_dimmed_with_the_screen_below() -> None:
    async with open_app(golden("night_shift")) as driven:
        style = style_of(driven, "/")
        for sheet in ("f1", "f2", "f4"):
            await driven.press(sheet)
            await driven.until(lambda: len(driven.app.screen_stack) == 2, sheet)
            assert style_of(driven, "Esc") == style, sheet
            await driven.press("escape")


@pytest.mark.slow
async def test_the_footer_is_there_at_once_when_a_page_is_closed() -> None:
    async with open_app(golden("night_shift")) as driven:
        before = driven.rows()[-1]
        for name in ("/map", "/jobs", "/trace", "/tree"):
            await open_screen(driven, name)
            driven.app.show_keys()
            driven.app.footer.show()
            await driven.pilot.pause()
            hints = [hint for hint in driven.app.footer.keys if hint.action != "help"]
            assert driven.app.footer.hints == hints, name
            await driven.press("escape")
            assert driven.rows()[-1] == before, name


async def test_esc_in_the_view_of_a_whole_change_is_back_and_not_no() -> None:
    async with open_app(golden("night_shift")) as driven:
        await open_screen(driven, "approval")
        assert driven.rows()[-1].endswith("Esc no")
        await driven.press("d")
        await driven.until(lambda: driven.rows()[-1].endswith("Esc back"))


def test_the_key_that_leaves_is_the_last_one_in_each_footer() -> None:
    for scope in {action.scope for action in ACTIONS} - {"app"}:
        named = [action for action in ACTIONS if action.scope == scope and action.footer and action.rank]
        named.sort(key=lambda action: action.rank)
        leaving = ["escape" in action.keys for action in named]
        assert leaving == sorted(leaving), scope


def test_one_word_of_the_footer_has_one_meaning() -> None:
    of_esc = {action.footer for action in ACTIONS if "escape" in action.keys and action.footer}
    assert of_esc == {"back", "cancel", "close", "close search", "later", "no", "stop"}
    # Keys that give an answer have other words than keys that move between answers.
    choosing = {key for action in ACTIONS if action.footer == "choose" for key in action.keys}
    assert "enter" not in choosing and BY_NAME["approval_give"].footer == BY_NAME["answer"].footer == "answer"


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("command", "hints"),
    [
        ("/status tools", "Esc close"),  # all of it is in sight
        ("/trust", "Esc close"),  # this folder has no files to trust
        ("/policy", "Enter use it   Up/Down choose   Shift+Tab next policy   Esc close"),
        # no file to pin or hide
        ("/map", "+ - budget  I auto map on/off  / new question  R refresh  Esc back   F1 help"),
        ("/sessions", "Enter new session   Tab this folder only   Esc back                  F1 help"),
    ],
)
async def test_a_footer_names_only_keys_that_do_something_and_the_way_out_last(
    command: str, hints: str
) -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        driven.app.prompt.editor.put_text(command)
        await driven.press("enter")
        await driven.until(lambda: driven.rows()[-1].strip() == hints)


async def test_enter_is_not_named_where_it_does_nothing() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.type("/help recall an earlier")
        await driven.press("enter")
        await driven.until(lambda: "1 of" in driven.text())
        assert footer_hints(driven) == ["Esc clear"]
        await driven.press("enter")
        assert "recall an earlier" in driven.text()
        await driven.press("escape", "escape")
        choices = (PermissionChoice(reach="always", rule="", offered=False, explanation="not available"),)
        await ask(driven, request(choices=choices))
        await driven.press("up", "up")
        assert "› A" in driven.text() and not any("Enter" in word for word in footer_hints(driven))
        await driven.press("down")
        assert "Enter answer" in footer_hints(driven)
