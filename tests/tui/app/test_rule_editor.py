"""The rule that `always` would keep, while it is edited: it stands whole, and so does what is wrong with it."""

import pytest

from tests.tui.app.driving import golden, open_app
from tests.tui.app.test_approvals import ask, request
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.events.policy import PermissionChoice, Reach


async def test_a_rule_is_kept_by_a_key_that_a_small_screen_names_too() -> None:
    async with open_app(golden("night_shift"), size=(60, 20)) as driven:
        await ask(driven, request())
        await driven.press("e")
        await driven.until(lambda: "Enter allow   Tab every project   Esc back" in driven.rows()[-1])


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_rule_that_is_edited_and_what_is_wrong_with_it_stand_whole(size: tuple[int, int]) -> None:
    rule = "allow run python -m pytest " + " ".join(f"tests/part_{at}.py" for at in range(7))
    wrong = (
        "This rule is no rule: "
        + "it needs a verdict, what it is about and a pattern, " * 2
        + "as the others."
    )
    async with open_app(golden("night_shift"), size=size) as driven:
        modal = await ask(driven, request().model_copy(update={"rule_error": wrong, "rejected_rule": rule}))
        shown = "".join("".join(strip.text for strip in modal._foot.strips).split())
        assert "".join(wrong.split()) in shown and "".join(rule.split()) in shown
        await driven.press("home")
        await driven.type("x")
        assert "xallow run python" in driven.text()
        await driven.press("end", "enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.rule == f"x{rule}"


async def test_what_opens_a_file_to_commands_is_not_offered_to_be_written_otherwise() -> None:
    reaches: tuple[Reach, ...] = ("session", "always")
    opens = [PermissionChoice(reach=reach, rule="sandbox readable .env") for reach in reaches]
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request(choices=(PermissionChoice(reach="once", rule=""), *opens)))
        assert "sandbox readable .env" in driven.text() and "edit the rule" not in driven.text()
        await driven.press("e")
        assert not modal.typing


async def test_the_rule_for_all_tools_of_a_server_is_offered_and_saved_as_typed() -> None:
    rule, wider = "allow tool mcp_time_convert#aaaa", "allow tool mcp_time_*"
    choices = (
        PermissionChoice(reach="once", rule=""),
        PermissionChoice(reach="session", rule=rule),
        PermissionChoice(reach="always", rule=rule, wider_rule=wider),
    )
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request(choices=choices))
        assert "E all its tools" in driven.text()
        await driven.press("e")
        await driven.until(lambda: wider in driven.text())
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and (answer.reach, answer.rule) == ("always", wider)


async def test_esc_from_the_rule_puts_the_cursor_back_so_that_enter_means_what_it_meant() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        await driven.press("e", "escape")
        assert (modal.chosen, modal.typing, driven.session.submitted) == ("y", False, [])
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission)
        assert (answer.decision, answer.reach, answer.rule) == ("allow", "once", "")


@pytest.mark.slow_variants
@pytest.mark.parametrize(("chosen", "keys"), [("n", ()), ("s", ("down",)), ("a", ("down", "down"))])
async def test_the_cursor_goes_back_to_the_answer_from_which_the_rule_was_opened(
    chosen: str, keys: tuple[str, ...]
) -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request(default_no=chosen == "n"))
        await driven.press(*keys, "e")
        await driven.type("x")
        await driven.press("escape")
        assert (modal.chosen, modal.rule, driven.session.submitted) == (chosen, None, [])


async def test_esc_from_a_rule_that_was_refused_goes_to_the_first_answer() -> None:
    refused = request().model_copy(update={"rule_error": "It is no rule.", "rejected_rule": "make it so"})
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, refused)
        assert (modal.chosen, modal.typing) == ("a", True)
        await driven.press("escape")
        assert (modal.chosen, modal.typing) == ("y", False)


async def test_a_refused_rule_keeps_the_projects_for_which_it_was_chosen() -> None:
    changes = {"rule_error": "It is no rule.", "rejected_rule": "make it so", "rejected_reach": "everywhere"}
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request().model_copy(update=changes))
        assert "Always, every project" in driven.text()
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission)
        assert (answer.reach, answer.rule) == ("everywhere", "make it so")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_a_rule_says_where_it_applies_and_every_project_is_chosen_by_a_key(
    size: tuple[int, int],
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, request())
        assert "Always, this project" in driven.text() and "every project" not in driven.text()
        await driven.press("e")
        assert "Always, this project" in driven.text() and "Tab every project" in driven.text()
        await driven.press("tab")
        await driven.until(
            lambda: "Always, every project" in driven.text() and "Tab this project" in driven.text()
        )
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission)
        assert (answer.reach, answer.rule) == ("everywhere", "allow edit src/**")


@pytest.mark.parametrize(
    ("keys", "reach"),
    [(("e", "tab", "tab", "enter"), "always"), (("e", "tab", "escape", "a", "enter"), "always")],
)
async def test_every_project_is_taken_back_by_the_same_key_and_by_esc(
    keys: tuple[str, ...], reach: Reach
) -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        await driven.press(*keys)
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.reach == reach


async def test_every_project_stays_in_sight_when_the_terminal_gets_tiny() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        await driven.press("e", "tab")
        await driven.pilot.resize_terminal(40, 8)
        assert "A every project: allow edit src/**" in driven.text()
        await driven.press("tab")
        assert "A this project: allow edit src/**" in driven.text()
