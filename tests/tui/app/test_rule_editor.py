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
        assert any("Enter allow always   Esc back" in row for row in driven.rows()[:-1])


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
