"""What is approved was in sight, on a screen of any size; the answers never leave it."""

import re

import pytest

from tests.stubs.story import called
from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tests.tui.app.test_approvals import CHOICES, ask, request
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display_blocks import DiffBlock, TextBlock
from tui_agent.protocol.effects import ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.policy import PermissionChoice, PermissionRequested

LONG = f"echo {'a' * 3000}; rm -rf sub"
MANY = "\n".join([*(f"echo line {number}" for number in range(60)), "rm -rf victim"])
BLANKS = f"echo start{' ' * 400}; touch HIDDEN"
COMMANDS = {"long": (LONG, "rm -rf sub"), "many": (MANY, "rm -rf victim"), "blanks": (BLANKS, "touch HIDDEN")}
SIZES = [(120, 40), (80, 24), (60, 20), (40, 8), (20, 5), (10, 3)]


def command(script: str) -> PermissionRequested:
    """As the engine asks about it."""
    effects = (RunEffect(script=script),)
    policy, facts = RulePolicy(), PolicyFacts("/home/ada/timesheet", "ask")
    decided = policy.decide("run_command", effects, facts)
    asked = request(
        effects=effects,
        preview=(TextBlock(text=script),),
        choices=decided.choices,
        risk=decided.risk,
        default_no=decided.default_no,
        target=script,
    )
    return asked.model_copy(
        update={
            "commands": policy.describe_effects(effects, (), facts),
            "reason": decided.reason,
            "time_limit_s": 120.0,
        }
    )


def packed(driven: Driven) -> str:
    """What the sheet shows, without the places where it is broken."""
    return "".join(driven.text().replace("▌", "").split())


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("name", "size"),
    [("long", (80, 24)), ("long", (40, 8)), ("many", (60, 20)), ("many", (20, 5)), ("blanks", (10, 3))],
)
async def test_nothing_is_allowed_before_its_end_was_in_sight(name: str, size: tuple[int, int]) -> None:
    script, end = COMMANDS[name]
    wanted, seen = set(end.split()), set[str]()
    async with open_app(golden("night_shift"), size=size) as driven:
        modal = await ask(driven, command(script))
        for _ in range(120):
            seen |= {word for word in wanted if word in packed(driven)}
            await driven.press("y")
            if driven.session.submitted:
                break
            assert modal.is_gated
            if size[1] >= 16 and not modal.is_expanded:
                await driven.press("d")
            await driven.press("space")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.decision == "allow"
        assert seen == wanted or size[0] < 20  # there a word stands on several rows


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_beginning_and_the_end_of_a_command_stand_together(
    name: str, size: tuple[int, int]
) -> None:
    script, end = COMMANDS[name]
    async with open_app(golden("night_shift"), size=size) as driven:
        modal = await ask(driven, command(script))
        text = driven.text()
        assert not modal.is_gated
        assert script[:4] in text and end in text
        if name != "blanks":
            assert "more lines, D shows all" in text
        if name == "blanks":
            assert "<400 blanks>" in text


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("name", "size"), [("long", size) for size in SIZES] + [("many", size) for size in SIZES[1:5]]
)
async def test_answers_and_keys_stay_on_the_screen(name: str, size: tuple[int, int]) -> None:
    rule = f"allow exact {COMMANDS[name][0]}"
    choices = (
        PermissionChoice(reach="once", rule=""),
        PermissionChoice(reach="session", rule=rule),
        PermissionChoice(reach="always", rule=rule),
    )
    async with open_app(golden("night_shift"), size=size) as driven:
        asked = command(COMMANDS[name][0]).model_copy(update={"choices": choices})
        await ask(driven, asked)
        text = driven.text()
        if size[1] < 16:
            assert "N" in driven.rows()[-1]
            return
        for word in (
            "Yes, this once",
            "Yes, this session",
            "Always, this project",
            "No, and say why",
            "Esc no",
        ):
            assert word in text, word


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_a_command_that_deletes_has_its_row_whatever_is_cut(size: tuple[int, int]) -> None:
    script = "\n".join(
        [
            *(f"echo {number}" for number in range(30)),
            "rm -rf middle",
            *(f"cat a{number}" for number in range(30)),
        ]
    )
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, command(script))
        rows = [" ".join(row.replace("▌", " ").split()) for row in driven.rows()]
        assert any("31 rm -rf middle" in row and "deletes middle" in row for row in rows)
        assert any("Not shown: 60 commands that read, change" in row for row in rows)


async def test_more_that_changes_things_than_fits_must_be_read_to_its_end() -> None:
    script = "\n".join(f"rm -rf victim{number}" for number in range(40))
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(driven, command(script))
        assert (
            modal.is_gated
            and "Scroll to the end first" in driven.text()
            and "more commands: D shows all" in driven.text()
        )
        assert (
            driven.text().count("read to the end first (D)") == 3
            and "not available either" not in driven.text()
        )
        assert "D whole command" in driven.rows()[-1]
        await driven.press("y", "s", "a", "enter")
        assert driven.session.submitted == []
        await driven.press("ctrl+o")
        assert "rm -rf victim0" in driven.text() and modal.is_gated
        for _ in range(20):
            await driven.press("space")
        await driven.until(lambda: driven.rows()[-1].strip() == "D less   P policies   Esc back")
        assert not modal.is_gated and "victim39" in driven.text()
        await driven.press("y")
        assert len(driven.session.submitted) == 1


async def test_rows_that_wrap_beside_the_scrollbar_must_be_seen_too() -> None:
    script = (
        r'sed -i s/hello/HELLO/ "my dir/a file.txt"; mv bom.py bom2.py; rm latin.py; chmod +x nonl.txt; mkdir newd; '
        r'echo z > newd/z; ln -sf nonl.txt link.py; printf "\x00\x01" > bin.dat; git rm -q --cached crlf.py; rm -rf docs'
    )
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(driven, command(script).model_copy(update={"sandbox": "bubblewrap"}))
        await driven.press("d")
        assert not re.search("10 +rm -rf docs", driven.text()) and modal.is_gated
        await driven.press("y")
        assert driven.session.submitted == []
        for _ in range(4):
            await driven.press("space")
        await driven.until(lambda: not modal.is_gated)
        assert re.search("10 +rm -rf docs", driven.text())
        await driven.press("y")
        assert len(driven.session.submitted) == 1


async def test_a_small_screen_says_how_to_read_on() -> None:
    async with open_app(golden("night_shift"), size=(20, 5)) as driven:
        await ask(driven, command(LONG))
        assert "Space reads on" in driven.rows()[-1]
    async with open_app(golden("night_shift"), size=(10, 3)) as driven:
        await ask(driven, command(LONG))
        assert "Space" in driven.rows()[-1] and "N" in driven.rows()[-1]


async def test_how_long_a_command_may_run_is_said() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, command("make"))
        assert ", at most 120 s" in driven.text()


async def test_a_rule_that_cannot_stand_is_said_and_can_be_mended() -> None:
    wrong = "The rule 'allow edit new.pyl demo' does not fit what is asked here."
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        asked = request().model_copy(update={"rule_error": wrong, "rejected_rule": "allow edit new.pyl demo"})
        modal = await ask(driven, asked)
        assert modal.typing and wrong in " ".join(driven.text().replace("▌", " ").split())
        assert (
            "saved as typed" in driven.text()
            and "Enter allow   Tab every project   Esc back" in driven.text()
        )
        assert (
            "Enter allow   Tab every project   Esc back" in driven.rows()[-1]
            and "send reason" not in driven.text()
        )
        await driven.press("ctrl+u")
        await driven.type("allow edit src/entry.py")
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.rule == "allow edit src/entry.py"


async def test_p_shows_the_policy_and_esc_goes_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, command("make"))
        await driven.press("p")
        assert (
            "asks before writing or running" in driven.text()
            and "asks when unsure or when a rule says so" in driven.text()
        )
        assert (
            "Rules of this session" in driven.text()
            and "none yet; “Yes, this session” adds one" in driven.text()
        )
        assert "/policy shows saved rules too" in driven.text()
        await driven.press("escape")
        assert (
            driven.session.submitted == [] and "asks when unsure or when a rule says so" not in driven.text()
        )


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_footer_of_an_approval_names_the_key_for_the_policies(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, command("make"))
        assert "P policies   Esc no" in driven.rows()[-1]


async def test_the_policies_are_not_cut_in_a_narrow_terminal() -> None:
    async with open_app(golden("night_shift"), size=(60, 20)) as driven:
        await ask(driven, command("make"))
        await driven.press("p")
        [row] = [row for row in driven.rows() if "bypass" in row]
        assert "…" not in row and "says so" in driven.text()


async def test_the_footer_names_the_answers_that_another_size_gives_back() -> None:
    async with open_app(golden("night_shift"), size=(20, 5)) as driven:
        modal = await ask(driven, command("\n".join(f"rm -rf victim{number}" for number in range(8))))
        assert modal.is_gated
        for size in ((40, 8), (60, 20), (120, 40)):
            await driven.pilot.resize_terminal(*size)
            await driven.pilot.pause()
        assert not modal.is_gated
        await driven.until(lambda: "Enter answer" in driven.rows()[-1])
        await driven.press("y")
        assert len(driven.session.submitted) == 1


@pytest.mark.slow_variants
@pytest.mark.parametrize("key", ["y", "s", "a", "enter"])
async def test_the_first_yes_to_a_command_that_is_cut_shows_what_was_left_out(key: str) -> None:
    heredoc = "\n".join(["cat > a.py <<'END'", *(f"line = {number}" for number in range(40)), "END"])
    rule = PermissionChoice(reach="session", rule="allow cat")
    choices = (PermissionChoice(reach="once", rule=""), rule, rule.model_copy(update={"reach": "always"}))
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        asked = command(heredoc).model_copy(update={"choices": choices, "default_no": False})
        modal = await ask(driven, asked)
        left = modal.hidden_rows
        assert left and f"press once to show {left} hidden rows" in driven.text()
        await driven.press(key)
        assert driven.session.submitted == [] and modal.is_expanded and "line = 3" in driven.text()
        for _ in range(20):
            await driven.press("space")
        assert "line = 39" in driven.text()
        await driven.press(key)
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.decision == "allow"


async def test_what_was_read_whole_may_be_allowed_from_the_short_view() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(driven, command(MANY))
        await driven.press("d", *["space"] * 20)
        await driven.press("d")
        assert not modal.is_expanded and not modal.hidden_rows and "press once to show" not in driven.text()
        await driven.press("y")
        assert len(driven.session.submitted) == 1


async def test_it_says_how_many_of_its_kind_are_asked_about_after_it() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        driven.session.feed(
            *(called(f"call_{n}").model_copy(update={"name": "edit_file"}) for n in (1, 2, 3))
        )
        driven.session.feed(called("call_4"))
        await ask(driven, request(choices=(PermissionChoice(reach="once", rule=""),)))
        text = driven.text()
        assert "2 more edit calls follow" in text
        assert "this call only, not the next ones" in text


async def test_a_long_change_says_how_many_of_its_rows_were_not_in_sight_yet() -> None:
    diff = "@@ -0,0 +1,60 @@\n" + "\n".join(f"+line {number}" for number in range(60))
    block = DiffBlock(path="src/new.py", diff=diff, added=60, removed=0)
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(
            driven, request(preview=(block,), choices=(PermissionChoice(reach="once", rule=""),))
        )
        left = modal.unseen_rows
        assert 40 < left < 60 and f"{left} rows not seen yet" in driven.text()
        await driven.press("space")
        assert 0 < modal.unseen_rows < left and f"{modal.unseen_rows} rows not seen yet" in driven.text()
        await driven.press("p", "p")
        assert 0 < modal.unseen_rows < left
        for _ in range(12):
            await driven.press("space")
        assert "line 59" in driven.text() and not modal.unseen_rows and "not seen yet" not in driven.text()
        await driven.press("ctrl+up", *["up"] * 3)
        assert not modal.unseen_rows
        await driven.press("y")
        assert len(driven.session.submitted) == 1


async def test_a_change_that_is_in_sight_whole_says_nothing_of_it() -> None:
    block = DiffBlock(path="a.py", diff="@@ -1 +1 @@\n-a\n+b", added=1, removed=1)
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(driven, request(preview=(block,)))
        assert not modal.unseen_rows and "not seen" not in driven.text()


@pytest.mark.parametrize(("size", "whole"), [((80, 24), True), ((60, 20), False)])
async def test_a_long_warning_stands_whole_or_says_that_it_is_cut(size: tuple[int, int], whole: bool) -> None:
    risk = "It runs again in the sandbox and can read .env; the model sees what it prints. Always writes it into your configuration."
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, command("make").model_copy(update={"risk": risk}))
        text = " ".join(driven.text().replace("▌", " ").split())
        assert ("into your configuration." in text) is whole
        assert whole or re.search(r"the model sees .*…", text)


@pytest.mark.parametrize("size", [(80, 24), (80, 30)])
async def test_on_a_low_screen_the_effects_stand_apart_from_the_folder(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, command("make test").model_copy(update={"sandbox": "bubblewrap"}))
        rows = [row[6:74].strip() for row in driven.rows()]
        effects = rows.index("1  make test   runs or changes code in this workspace")
        assert rows[effects - 2 : effects] == ["", "What it does"] and rows[effects + 1] == "", driven.text()


async def test_without_room_for_empty_rows_the_effects_keep_their_heading() -> None:
    line = 'pip install "freezegun>=1.5" && pytest -q tests/test_entry.py > report.txt'
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        modal = await ask(driven, command(line).model_copy(update={"sandbox": "bubblewrap"}))
        assert "What it does" in driven.text() and not modal.plan.is_cut


async def test_on_a_low_screen_an_empty_row_parts_a_change_from_its_effects() -> None:
    async with open_app(golden("approval"), size=(80, 24)) as driven:
        rows = [row[6:72].strip() for row in driven.rows()]
        assert rows[rows.index("Reads    nothing else") - 1] == "", driven.text()


SHORT_DIFF = DiffBlock(path="src/entry.py", diff="@@ -1 +1 @@\n-one\n+two\n", added=1, removed=1)


async def test_the_whole_change_is_offered_only_where_some_of_it_is_out_of_sight() -> None:
    rows = "".join(f"-old {at}\n+new {at}\n" for at in range(60))
    long = DiffBlock(path="src/entry.py", diff=f"@@ -1,60 +1,60 @@\n{rows}", added=60, removed=60)
    for diff, offered in ((SHORT_DIFF, False), (long, True)):
        async with open_app(golden("night_shift")) as driven:
            modal = await ask(driven, request(preview=(diff,)))
            assert ("D whole change" in driven.text()) is offered
            assert ("D whole change" in driven.rows()[-1]) is offered
            await driven.press("d")
            assert modal.is_expanded is offered
            await driven.press("d")
            assert not modal.is_expanded


async def test_esc_goes_back_from_the_whole_change_before_it_refuses() -> None:
    rows = "".join(f"-old {at}\n+new {at}\n" for at in range(60))
    long = DiffBlock(path="src/entry.py", diff=f"@@ -1,60 +1,60 @@\n{rows}", added=60, removed=60)
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request(preview=(long,)))
        await driven.press("d")
        assert modal.is_expanded and "Esc back" in driven.text()
        await driven.press("escape")
        assert driven.session.submitted == [] and driven.app.screen is modal and not modal.is_expanded
        assert "Esc no" in driven.rows()[-1]
        await driven.press("escape")
        [decided] = driven.session.submitted
        assert isinstance(decided, DecidePermission) and decided.decision == "deny"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_whole_change_gets_all_rows_but_six_of_a_low_screen(size: tuple[int, int]) -> None:
    lines = "\n".join(f"+line {number}" for number in range(440))
    change = DiffBlock(path="src/entry.py", added=440, removed=0, diff=f"@@ -0,0 +1,440 @@\n{lines}")
    async with open_app(golden("night_shift"), size=size) as driven:
        modal = await ask(driven, request(preview=(change,)))
        end_grace_period(modal)
        await driven.press("d")
        shown = sum(" + line " in row for row in driven.rows())
        assert shown == (18 if size[1] == 24 else 29)
        assert "› Y once    S session    A always    N no" in driven.text()
        assert f"{440 - shown} rows not seen yet" in driven.text() and "D less" in driven.rows()[-1]
        await driven.press("down")
        assert "› S session" in driven.text()
        await driven.press("n", "n", "o")
        assert "No, and say why" in driven.text() and "Yes, this session" in driven.text()
        await driven.press("escape", "d")
        assert "nothing runs until you answer" in driven.text()


@pytest.mark.parametrize(("symbols", "mark"), [("unicode", "⏎"), ("ascii", "\\n")])
async def test_a_line_break_in_a_file_name_is_a_mark_in_every_row_of_an_approval(
    symbols: str, mark: str
) -> None:
    name = "we\nird name.txt"
    choice = PermissionChoice(reach="always", rule=f"allow write {name}")
    effects = (ReadEffect(path=name), WriteEffect(path=name))
    config = {"TUI_AGENT_SYMBOLS": symbols}
    async with open_app(golden("night_shift"), size=(120, 40), environ=config) as driven:
        await ask(driven, request(effects=effects, target=name, choices=(*CHOICES[:2], choice)))
        shown = name.replace("\n", mark)
        rows = [row for row in driven.rows() if "ird name.txt" in row and "waiting for you" not in row]
        assert len(rows) == 4 and all(shown in row for row in rows)
