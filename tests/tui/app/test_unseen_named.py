"""A command, a path or a host that is asked about or runs is shown with what an eye cannot see, wherever it is named."""

import pytest

from tests.tui.app.driving import golden, open_app
from tests.tui.app.test_approval_sight import command
from tests.tui.app.test_approvals import ask, request
from tests.tui.app.test_linear import told
from tui_agent.protocol.effects import NetworkEffect, WriteEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionChoice
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserShellStarted
from tui_agent.protocol.ids import CallId

UNSEEN = {
    "direction": ("rm -rf b\u202euild", "b<U+202E>uild"),
    "no width": ("cat a\u200b.txt", "a<U+200B>.txt"),
    "odd blank": ("rm\u00a0-rf src", "rm<U+00A0>-rf src"),
    "wide blank": ('touch "a\u2003b"', "a<U+2003>b"),
    "tag": ("touch a\U000e0041b", "a<U+E0041>b"),
    "letter": ("touch p\u0430ypal.txt", "p<U+0430>ypal.txt"),
}


@pytest.mark.parametrize("script", [one for one, _ in UNSEEN.values()])
def test_a_row_holds_every_character_of_a_command_but_plain_blanks(script: str) -> None:
    assert command(script).commands[0].command == script


def test_the_row_of_a_command_has_one_blank_for_several() -> None:
    [deed] = command("cat  \t a   b").commands
    assert deed.command == "cat a b"


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize("name", list(UNSEEN))
async def test_box_row_and_activity_line_say_the_same_of_a_command(name: str, size: tuple[int, int]) -> None:
    script, sign = UNSEEN[name]
    async with open_app(golden("night_shift"), size=size) as driven:
        await ask(driven, command(script))
        rows = [" ".join(row.rpartition("▌")[2].split()) for row in driven.rows()]
        assert any(row.startswith(script[:2]) and sign in row for row in rows), driven.text()
        assert any(row.startswith(f"1 {script[:2]}") and sign in row for row in rows), driven.text()
        view = driven.app.status.view
        assert view.word == "waiting for you" and sign in view.detail


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_path_and_a_host_are_named_with_what_is_hidden_in_them(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        path, host = "src/\u202eyp.yrtne", "pypi\u200b.org"
        await ask(driven, request(effects=(WriteEffect(path=path), NetworkEffect(host=host)), target=path))
        rows = [" ".join(row.rpartition("▌")[2].split()) for row in driven.rows()]
        for wanted in ("edit src/<U+202E>yp.yrtne", "Writes src/<U+202E>yp.yrtne", "pypi<U+200B>.org"):
            assert any(wanted in row for row in rows), driven.text()
        assert driven.app.status.view.detail == "edit <U+202E>yp.yrtne"


async def test_what_runs_is_named_with_what_is_hidden_in_it_in_the_activity_line_and_in_the_trace() -> None:
    async with open_app(golden("night_shift"), size=(160, 45), environ={"TUI_AGENT_MOTION": "off"}) as driven:
        call, script = CallId("call_unseen"), "make\u200b \u202ex"
        driven.session.feed(
            TurnStarted(turn=3),
            ToolCalled(
                call_id=call, name="run_command", arguments={}, iteration=9, verb="run", target=script
            ),
            ToolStarted(call_id=call, writes=True),
        )
        await driven.settle()
        assert driven.app.status.view.detail == "make<U+200B> <U+202E>x"
        text = driven.text()
        assert text.count("run       make<U+200B> <U+202E>x") == 1, text  # in the talk
        assert text.count("● run make<U+200B>") == 2, text  # in the trace beside it, and in the activity line


async def test_a_command_of_the_users_own_is_named_with_what_is_hidden_in_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnFinished(turn=2, reason="finished"), UserShellStarted(command="ls \u202ex"))
        await driven.settle()
        assert driven.app.status.view.detail == "ls <U+202E>x"
        assert driven.text().count("ls <U+202E>x") == 2, driven.text()


def test_lines_name_a_call_and_a_rule_with_what_is_hidden_in_them() -> None:
    linear, said, session = told("night_shift")
    said.clear()
    call = CallId("c")
    rule = PermissionChoice(reach="always", rule="allow exact ls \u202ex")
    session.feed(
        TurnStarted(turn=3),
        request(choices=(rule,), risk="It is ls \u202ex."),
        ToolCalled(
            call_id=call, name="run_command", arguments={}, iteration=9, verb="run", target="ls \u202ex"
        ),
        ToolFinished(
            call_id=call,
            name="run_command",
            status="ok",
            part=None,
            content=(),
            duration_ms=100,
        ),
    )
    for record in session.records[-4:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert (
        "3. Always, this project: allow exact ls <U+202E>x" in said and "Warning: It is ls <U+202E>x." in said
    )
    assert any(line.startswith("tool run, ls <U+202E>x, ok") for line in said), said
