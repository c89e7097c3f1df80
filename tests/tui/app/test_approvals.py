"""Approvals and questions: by key and by mouse, never by accident, whole and unshortened."""

from collections.abc import Sequence

import pytest

from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display_blocks import DiffBlock, TextBlock
from tui_agent.protocol.effects import Effect, NetworkEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.policy import (
    CommandEffect,
    CommandEffects,
    PermissionChoice,
    PermissionDecided,
    PermissionRequested,
    Reach,
)
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.tui.modals.approval import Approval

CHOICES = (
    PermissionChoice(reach="once", rule="edit src/entry.py"),
    PermissionChoice(reach="session", rule="edit src/**"),
    PermissionChoice(reach="always", rule="allow edit src/**"),
)


def request(
    number: int = 1,
    *,
    effects: Sequence[Effect] = (WriteEffect(path="src/entry.py"),),
    preview: Sequence[DiffBlock | TextBlock] = (),
    choices: Sequence[PermissionChoice] = CHOICES,
    default_no: bool = False,
    risk: str = "",
    target: str = "src/entry.py",
) -> PermissionRequested:
    return PermissionRequested(
        request_id=RequestId(f"req_{number}"),
        call_id=CallId(f"call_{number}"),
        tool="edit_file",
        verb="edit",
        target=target,
        effects=tuple(effects),
        digest="0" * 32,
        preview=tuple(preview),
        choices=tuple(choices),
        risk=risk,
        reason="because policy ask requires approval for every write",
        default_no=default_no,
    )


async def ask(driven: Driven, *requests: PermissionRequested, hearing: bool = True) -> Approval:
    driven.session.feed(TurnStarted(turn=3), *requests)
    await driven.settle()
    modal = driven.app.screen
    assert isinstance(modal, Approval)
    if hearing:
        end_grace_period(modal)
    else:
        modal._grace_s = 3600
    return modal


@pytest.mark.slow
@pytest.mark.parametrize("key", ["y", "n"])
async def test_an_approval_stays_open_and_whole_while_the_terminal_is_resized(key: str) -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        modal = await ask(driven, request())
        for size in ((40, 8), (200, 50), (20, 5), (80, 24), (1, 1), (60, 20)):
            await driven.pilot.resize_terminal(*size)
            await driven.pilot.pause()
            assert driven.app.screen is modal and driven.session.submitted == []
        await driven.until(lambda: "src/entry.py" in driven.text() and "Enter answer" in driven.rows()[-1])
        await driven.press(key)
        if key == "n":
            await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission)
        assert answer.decision == {"y": "allow", "n": "deny"}[key]


@pytest.mark.parametrize(
    ("keys", "decision", "reach"),
    [
        ("y", "allow", "once"),
        ("ss", "allow", "session"),
        (("s", "enter"), "allow", "session"),
        ("aa", "allow", "always"),
    ],
)
async def test_a_letter_answers_with_its_reach(keys: Sequence[str], decision: str, reach: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        assert "Change a file?" in driven.text() and "src/entry.py" in driven.text()
        await driven.press(*keys)
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission)
        assert (answer.request_id, answer.decision, answer.reach) == ("req_1", decision, reach)


async def test_a_letter_that_allows_more_than_this_call_only_selects_its_answer() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        await driven.press("s", "a")
        assert driven.session.submitted == [] and "press A again or Enter to allow the call" in driven.text()


async def test_a_warning_is_not_repeated_as_the_reason_for_asking() -> None:
    why = "/data/releases.md is outside this workspace"
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request(risk=f"{why}.").model_copy(update={"reason": why}))
        assert driven.text().count(why) == 1 and "Asked" not in driven.text()


@pytest.mark.parametrize(
    ("changes", "undo"),
    [
        ({"outside_paths": ("src/entry.py",)}, "/undo restores nothing outside this workspace"),
        ({"rerun": "outside", "unrestorable": (".env",)}, "/undo cannot restore .env"),
    ],
)
async def test_the_undo_line_promises_no_more_than_an_undo_does(
    changes: dict[str, object], undo: str
) -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request().model_copy(update=changes))
        undo_line = next(row for row in driven.rows() if " Undo " in row)
        assert undo in undo_line
        assert ("src/entry.py, outside this workspace" in driven.text()) == ("outside_paths" in changes)


async def test_effects_stand_in_their_fixed_order() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        text = driven.text()
        places = [text.index(word) for word in ("Reads ", "Writes ", "Network ", "Undo ", "Asked ")]
        assert places == sorted(places)
        assert (
            text.index("Yes, this once")
            < text.index("Yes, this session")
            < text.index("Always")
            < text.index("No, and")
        )


async def test_no_takes_a_word_and_letters_in_it_answer_nothing() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        await driven.press("n")
        await driven.type("yes is wrong, say why")
        assert driven.session.submitted == []
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission)
        assert (answer.decision, answer.message) == ("deny", "yes is wrong, say why")


async def test_esc_refuses() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        await driven.press("escape")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.decision == "deny"


async def test_esc_while_a_reason_is_typed_goes_back_to_the_answers_and_the_footer_follows() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        assert driven.rows()[-1].split("   ")[-1] == "Esc no"
        await driven.press("n")
        await driven.type("no way")
        # The footer belongs to the screen below the question and is painted by that screen, a moment later.
        await driven.until(lambda: "Enter send reason   Esc back" in driven.rows()[-1])
        await driven.press("escape")
        assert driven.app.screen is modal and driven.session.submitted == []
        await driven.until(lambda: driven.rows()[-1].endswith("Esc no"))
        await driven.press("escape")
        assert len(driven.session.submitted) == 1


DEEDS = (
    CommandEffects(
        command="pip install …",
        classes=("network",),
        effects=(
            CommandEffect(verb="network", target="package index", risky=True),
            CommandEffect(verb="runs", target="code from outside", risky=True),
        ),
    ),
    CommandEffects(
        command="pytest -q …", effects=(CommandEffect(verb="runs", target="code in this workspace"),)
    ),
    CommandEffects(
        command="> report.txt",
        effects=(CommandEffect(verb="writes", target="report.txt, a new file", risky=True),),
    ),
)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_every_command_of_a_line_has_its_row_in_sight(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        script = 'pip install "freezegun>=1.5" && pytest -q tests/test_entry.py > report.txt'
        asked = request(
            effects=(RunEffect(script=script),), preview=(TextBlock(text=script),), default_no=True
        )
        await ask(driven, asked.model_copy(update={"commands": DEEDS, "risk": "It downloads a package."}))
        rows = [" ".join(row.split()) for row in driven.rows()]
        for wanted in (
            "1 pip install … network package index",
            "runs code from outside",
            "2 pytest -q … runs code in this workspace",
            "3 > report.txt writes report.txt, a new file",
            "Undo /undo restores only changed files, and no ignored ones",
            "Y Yes, this once",
        ):
            assert any(wanted in row for row in rows), wanted
        assert "D whole change" not in driven.text()


async def test_more_commands_than_fit_are_read_with_the_whole_command() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        asked = request(effects=(RunEffect(script="make"),), preview=(TextBlock(text="make"),))
        await ask(driven, asked.model_copy(update={"commands": DEEDS * 20}))
        assert "Yes, this once" in driven.text() and "1   pip install" in driven.text()
        await driven.press("d", *["space"] * 12)
        assert "60  > report.txt" in driven.text()


@pytest.mark.parametrize("size", [(80, 24), (80, 12)])
async def test_an_answer_that_is_not_available_says_why_also_where_all_answers_share_a_row(
    size: tuple[int, int],
) -> None:
    reason = "not available for commands that use the network"
    choices = (PermissionChoice(reach="always", rule="", offered=False, explanation=reason),)
    async with open_app(golden("night_shift"), size=size) as driven:
        asked = request(
            effects=(RunEffect(script="make"),), preview=(TextBlock(text="make"),), choices=choices
        )
        await ask(driven, asked.model_copy(update={"commands": DEEDS * 20}))
        await driven.press("d", *["space"] * 40, "a")
        assert f"A: {reason}"[: 50 if size[1] == 24 else 16] in driven.text()
        assert driven.session.submitted == []


async def test_each_command_of_a_call_is_shown_whole() -> None:
    message = "a subject that " + "goes on " * 12 + "to its end"
    commands = (("git", "add", "--", "a.py"), ("git", "commit", "-m", message))
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            await ask(driven, request(effects=[RunEffect(argv=argv) for argv in commands]))
            shown = "".join(driven.text().split())
            assert "gitadd--a.py" in shown and "toitsend'" in shown


async def test_the_focus_goes_back_to_the_prompt_when_all_is_answered() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request(1), request(2, target="src/other.py"))
        await driven.press("y")
        assert isinstance(driven.app.screen, Approval)
        end_grace_period(driven.app.screen)
        await driven.press("escape")
        await driven.type("and now")
        assert driven.app.focused is driven.app.prompt.editor and driven.app.prompt.editor.text == "and now"
        assert [one.decision for one in driven.session.submitted if isinstance(one, DecidePermission)] == [
            "allow",
            "deny",
        ]


async def test_enter_takes_the_chosen_answer_and_the_arrows_choose() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        await driven.press("down", "enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.reach == "session"


async def test_the_focus_starts_on_no_where_code_from_outside_would_run() -> None:
    async with open_app(golden("night_shift")) as driven:
        risk = "It downloads a package and runs it."
        script = 'pip install "freezegun>=1.5" && pytest -q > report.txt'
        effects = (RunEffect(script=script, cwd="/home/ada/timesheet"), NetworkEffect(host="pypi.org"))
        await ask(driven, request(effects=effects, default_no=True, risk=risk))
        text = driven.text()
        assert "Run a command?" in text and script in text and f"! {risk}" in text and "pypi.org" in text
        assert "› N" in text
        await driven.press("enter", "enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.decision == "deny"


@pytest.mark.parametrize("words", [4, 40])
async def test_the_whole_command_shows_the_warning_once(words: int) -> None:
    risk = "It downloads a package" + " and another" * words + "."
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(
            driven, request(effects=(RunEffect(script="make\n" * 30),), default_no=True, risk=risk)
        )
        await driven.press("d")
        rows = [*modal.body(66), *modal.foot(66)]
        shown = " ".join("".join(segment.text for segment in one).strip() for one in rows)
        assert " ".join(shown.split()).count("! It downloads a package") == 1
        assert " ".join(shown.split()).count("and another") == words


async def test_an_answer_that_is_not_offered_says_why_and_does_nothing() -> None:
    async with open_app(golden("night_shift")) as driven:
        never = PermissionChoice(
            reach="always",
            rule="",
            offered=False,
            explanation="not available for commands that download code",
        )
        await ask(driven, request(choices=(*CHOICES[:2], never)))
        assert "not available for commands that download code" in driven.text()
        await driven.press("a", "enter")
        assert driven.session.submitted == []


@pytest.mark.parametrize("choices", [(), [PermissionChoice(reach="session", rule="", offered=False)]])
async def test_an_answer_without_a_rule_or_a_reason_says_that_no_rule_is_offered(
    choices: Sequence[PermissionChoice],
) -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request(choices=choices))
        assert "Yes, this session     not available for this call" in driven.text()


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_why_two_answers_are_not_offered_stands_once(size: tuple[int, int]) -> None:
    why = "not offered where nothing is known of what it does"
    reaches: tuple[Reach, Reach] = ("session", "always")
    async with open_app(golden("night_shift"), size=size) as driven:
        never = [PermissionChoice(reach=reach, rule="", offered=False, explanation=why) for reach in reaches]
        await ask(driven, request(choices=(CHOICES[0], *never)))
        text = driven.text()
        assert text.count("not offered where nothing is known") == 1 and "not available either" in text
        await driven.press("s", "a", "enter")
        assert driven.session.submitted == []


async def test_the_rule_can_be_edited() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        await driven.press("e", "ctrl+u")
        await driven.type("allow edit src/a.py")
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission)
        assert (answer.reach, answer.rule) == ("always", "allow edit src/a.py")


async def test_a_click_answers() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        rows = driven.rows()
        y = next(at for at, row in enumerate(rows) if "Yes, this session" in row)
        await driven.pilot.click(offset=(rows[y].index("Yes, this session") + 3, y))
        await driven.pilot.pause()
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.reach == "session"


async def test_the_next_request_follows_and_the_count_is_said() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request(1), request(2, target="src/other.py"))
        assert "1 of 2 waiting" in driven.text()
        await driven.press("y")
        modal = driven.app.screen
        assert isinstance(modal, Approval) and modal.request_id == "req_2"


async def test_a_request_that_went_away_closes_its_question() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        driven.session.feed(TurnFinished(turn=3, reason="interrupted"))
        await driven.settle()
        assert not isinstance(driven.app.screen, Approval)
        assert driven.session.submitted == []


async def test_a_decision_made_elsewhere_closes_the_question() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request())
        driven.session.feed(
            PermissionDecided(
                call_id=CallId("call_1"),
                request_id=RequestId("req_1"),
                decision="deny",
                decided_by="user",
                policy="ask",
                rule_id="user",
                reason="",
                digest="0" * 32,
                effects=(),
            )
        )
        await driven.settle()
        assert not isinstance(driven.app.screen, Approval)


async def test_every_line_of_a_long_change_can_be_reached_and_hidden_characters_show() -> None:
    lines = "".join(f"+line {number}\n" for number in range(1, 301))
    preview = DiffBlock(
        path="src/entry.py", diff=f"@@ -0,0 +1,300 @@\n{lines}+\u202eevil\u200b\n", added=301, removed=0
    )
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request(preview=(preview,)))
        seen = "\n".join("".join(segment.text for segment in strip) for strip in modal.body(90))
        assert all(f"line {number}" in seen for number in range(1, 301))
        assert "<U+202E>evil<U+200B>" in seen
        assert "line 299" not in driven.text()
        for _ in range(40):
            await driven.press("space")
        assert "line 300" in driven.text()


async def test_the_whole_path_is_shown_however_long() -> None:
    path = "src/" + "/".join(f"very_long_folder_name_{number}" for number in range(12)) + "/entry.py"
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(driven, request(target=path, effects=(WriteEffect(path=path),)))
        shown = [*modal.head(66), *modal.body(66)]
        letters = "".join("".join(segment.text for segment in strip) for strip in shown).replace(" ", "")
        assert path in letters and "…" not in letters


@pytest.mark.parametrize("size", [(40, 8), (20, 5)])
async def test_the_smallest_screen_still_asks_and_answers(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, request())
        assert "Y" in driven.rows()[-1] and "N" in driven.rows()[-1]
        await driven.press("y")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.decision == "allow"


async def test_of_what_is_done_elsewhere_it_says_that_undo_does_not_reach_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request(effects=(NetworkEffect(host="tracker.example"),), target="create_issue"))
        assert "/undo cannot reverse effects on other machines" in driven.text()


@pytest.mark.parametrize("size", [(120, 40), (40, 8)])
async def test_no_key_answers_while_the_policies_are_shown_instead_of_the_request(
    size: tuple[int, int],
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        modal = await ask(driven, request())
        for key in ("y", "s", "a", "n", "enter", "e"):
            await driven.press("p")
            await driven.until(lambda: modal.shows_policy and "Yes, this once" not in driven.text())
            await driven.until(lambda: "P back" in driven.text() and "Y once" not in driven.rows()[-1])
            await driven.press(key)
            await driven.until(lambda: not modal.shows_policy and "src/entry.py" in driven.text())
            assert driven.session.submitted == [], key


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_the_question_about_a_second_run_has_its_own_title_and_says_what_failed(
    size: tuple[int, int],
) -> None:
    failed = "The sandbox blocked the network: it could not reach pypi.org."
    asked = request(effects=(RunEffect(script="pip install x"),), target="pip install x", default_no=True)
    outside = asked.model_copy(update={"rerun": "outside", "reason": failed})
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, outside)
        rows = [" ".join(row.split()) for row in driven.rows()]
        [title] = [at for at, row in enumerate(rows) if "Run it again outside the sandbox?" in row]
        assert failed[:30] in " ".join(rows[title + 1 : title + 3])
        assert "Run a command?" not in driven.text() and driven.text().count("blocked the network") == 1


@pytest.mark.slow
async def test_on_a_tiny_screen_the_question_about_a_second_run_says_what_failed() -> None:
    failed = "The sandbox blocked the network."
    asked = request(effects=(RunEffect(script="pip install x"),), target="pip install x")
    update = {"rerun": "outside", "reason": failed, "commands": DEEDS[:1]}
    async with open_app(golden("night_shift"), size=(60, 14)) as driven:
        await ask(driven, asked.model_copy(update=update))
        await driven.press(*["space"] * 4)
        assert "Run it again outside the sandbox?" in driven.text() and "the sandbox blocked" in driven.text()


async def test_the_question_about_a_second_run_with_files_has_its_own_title() -> None:
    asked = request(effects=(RunEffect(script="make"),), target="make")
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, asked.model_copy(update={"rerun": "with_files", "reason": "It needs .env."}))
        assert (
            "Run it again with access to hidden files?" in driven.text() and "It needs .env." in driven.text()
        )
