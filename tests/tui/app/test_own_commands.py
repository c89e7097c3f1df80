"""Slash commands of plugins and Markdown files: in the menu, in /commands, and sent to the engine."""

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.commands import RunCommand, Steer
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.slash_command import CommandsOffered, OfferedCommand
from tui_agent.protocol.events.turn import UserMessageReceived, UserQueued
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import AgentState

OFFERED = CommandsOffered(
    owner="reports",
    items=(
        OfferedCommand(
            name="standup", help="Report on a [bold]day[/].", arguments="[DAY]", source="/x/standup.md"
        ),
        OfferedCommand(name="help", help="Hides the app's help."),
    ),
)


async def _offer(driven: Driven) -> None:
    driven.session.feed(OFFERED)
    await driven.settle()


async def test_without_any_the_list_has_no_filter_and_no_key_that_does_nothing() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.type("/commands")
        await driven.press("escape", "enter")
        assert (
            "There are no commands of your own yet." in driven.text()
            and "type to filter" not in driven.text()
        )
        assert driven.rows()[-1].strip() == "Esc close"
        await driven.type("x")
        assert "There are no commands of your own yet." in driven.text()
        await driven.press("escape")
        assert "There are no commands of your own yet." not in driven.text()


async def test_they_are_completed_and_run_in_the_engine() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            await _offer(driven)
            await driven.type("/stan")
            assert "/standup [DAY]" in driven.text() and "Report on a [bold]day[/]." in driven.text()
            await driven.press("tab")
            assert driven.app.prompt.editor.text == "/standup "
            await driven.type("monday")
            await driven.press("enter")
            (sent,) = driven.session.submitted
            assert isinstance(sent, RunCommand) and (sent.name, sent.arguments) == ("standup", "monday")


async def test_a_message_typed_while_one_runs_is_said_to_wait_for_its_end() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _offer(driven)
        driven.session.feed(AgentStateChanged(state=AgentState.RUNNING, reason="/standup"))
        await driven.settle()
        await driven.type("and then")
        assert "waits for /standup" in driven.text() and "steer" not in driven.text()
        await driven.press("enter")
        assert isinstance(driven.session.submitted[-1], Steer)
        driven.session.feed(UserQueued(queue_id=RequestId("req_1"), text="and then"))
        await driven.settle()
        row = next(row for row in driven.rows() if "and then" in row and "after" in row)
        assert "after /standup   Up edits or removes" in row and "Enter" not in row


async def test_the_words_among_its_arguments_complete() -> None:
    async with open_app(golden("night_shift")) as driven:
        item = OfferedCommand(name="deploy", help="Deploy.", arguments="[staging|production|HOST]")
        driven.session.feed(CommandsOffered(owner="ops", items=(item,)))
        await driven.settle()
        await driven.type("/deploy pro")
        await driven.press("tab")
        assert driven.app.prompt.editor.text.rstrip() == "/deploy production"


async def test_a_commands_own_function_completes_its_arguments() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.completions = ["staging eu", "staging us", "live"]
        item = OfferedCommand(name="deploy", help="Deploy.", arguments="[TARGET]", completes=True)
        driven.session.feed(CommandsOffered(owner="ops", items=(item,)))
        await driven.settle()
        await driven.type("/deploy sta")
        await driven.until(lambda: "staging us" in driven.text())
        assert "live" not in driven.text()
        await driven.press("tab")
        assert driven.app.prompt.editor.text.rstrip() == "/deploy staging eu"
        assert ("deploy", "sta") in driven.session.completed


async def test_the_list_names_the_owner_and_what_a_command_of_the_app_hides() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _offer(driven)
        await driven.type("/commands")
        await driven.press("escape", "enter")
        await driven.settle()
        assert "reports" in driven.text() and "the app has its own command of this name" in driven.text()
        assert "/x/standup.md" in driven.text()
        await driven.press("enter")
        await driven.settle()
        assert driven.app.prompt.editor.text == "/standup "


async def test_a_wrong_name_suggests_one_of_them() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _offer(driven)
        await driven.type("/standdup")
        await driven.press("enter")
        await driven.settle()
        assert "Did you mean /standup?" in driven.text() and driven.session.submitted == []


async def test_a_removed_command_is_gone() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _offer(driven)
        driven.session.feed(CommandsOffered(owner="reports", items=()))
        await driven.settle()
        await driven.type("/stan")
        assert "/standup" not in driven.text()


async def test_the_chat_shows_what_was_typed_and_what_was_sent() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(UserMessageReceived(text="Summarise Monday.", command="/standup monday"))
        await driven.settle()
        lines = [line.strip() for line in driven.text().split("\n")]
        typed = next(number for number, line in enumerate(lines) if "/standup monday" in line)
        assert "Summarise Monday." in lines[typed + 1]
