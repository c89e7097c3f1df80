"""Slash commands of the engine: what they send, show and run, and what happens when they fail."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, Words, running, say
from tui_agent.engine.input import slash_commands
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.session_figures import describe_context
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.servers import McpServers, StartTimes
from tui_agent.plugin_host.registered_objects import OfferedSlashCommand
from tui_agent.ports.slash_command import SlashCommand
from tui_agent.protocol.app_commands import NO_OWN_COMMANDS
from tui_agent.protocol.commands import Interrupt, RunCommand, SendQueued, Steer, SubmitPrompt
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised, SessionHeadMoved
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered, OfferedCommand
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.messages import UserMessage
from tui_agent.session.command_effects import describe_effect
from tui_agent.session.pending_commands import RunningPrompt
from tui_agent.workspace.local.environment import LocalEnvironment


def plugin_command(function: Callable[[str, SessionStateView], Awaitable[object]]) -> SlashCommand:
    return OfferedSlashCommand("mine", OfferedCommand(name="standup"), function)


async def run(bench: Bench, arguments: str = "", until: str = "turn.finished") -> None:
    bench.submit(RunCommand(name="standup", arguments=arguments))
    await bench.until(until)


async def test_a_text_is_sent_as_the_users_message(tmp_path: Path) -> None:
    async def standup(arguments: str, state: SessionStateView) -> str:
        return f"Report on {arguments} in turn {state.turn}."

    async with running(tmp_path, [say("Done.")], commands={"standup": plugin_command(standup)}) as bench:
        await run(bench, "Monday")
        (message,) = bench.of(UserMessageReceived)
        asked = bench.model.requests[0].messages[-1]
    assert (message.text, message.command) == ("Report on Monday in turn 0.", "/standup Monday")
    assert isinstance(asked, UserMessage) and "Report on Monday in turn 0." in repr(asked)


async def test_a_block_is_shown_and_asks_no_model(tmp_path: Path) -> None:
    async def standup(arguments: str, state: SessionStateView) -> TextBlock:
        return TextBlock(text="All done.")

    async with running(tmp_path, [], commands={"standup": plugin_command(standup)}) as bench:
        await run(bench, until="command.ran")
        assert bench.of(CommandRan) == [CommandRan(name="standup", display=(TextBlock(text="All done."),))]
        assert bench.model.requests == [] and "turn.started" not in bench.kinds()


async def _exit(arguments: str, state: SessionStateView) -> str:
    raise SystemExit(1)


async def _nothing(arguments: str, state: SessionStateView) -> None:
    return None


async def _odd_block(arguments: str, state: SessionStateView) -> object:
    return Words(words="no block")


async def _huge_text(arguments: str, state: SessionStateView) -> str:
    return "y" * 200_001


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_exit, "SystemExit: 1"),
        (_nothing, "NoneType"),
        (_odd_block, "ValidationError"),
        (_huge_text, "its message has more than 200,000 characters"),
    ],
)
async def test_one_that_fails_is_named_and_the_session_goes_on(
    tmp_path: Path, function: Callable[[str, SessionStateView], Awaitable[object]], words: str
) -> None:
    commands = {"standup": plugin_command(function)}
    async with running(tmp_path, [say("Here.")], commands=commands) as bench:
        await run(bench, until="command.rejected")
        (rejected,) = bench.of(CommandRejected)
        assert (
            rejected.reason.startswith("The command /standup (plugin mine) failed: ")
            and words in rejected.reason
        )
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")


async def test_one_that_hangs_is_shown_and_stopped_by_the_user(tmp_path: Path) -> None:
    async def standup(arguments: str, state: SessionStateView) -> str:
        await anyio.sleep_forever()
        return ""

    async with running(tmp_path, [say("Here.")], commands={"standup": plugin_command(standup)}) as bench:
        bench.submit(RunCommand(name="standup", arguments="Monday"))
        await bench.until_so(lambda: bench.recorder.state.running_command)
        state = bench.recorder.state
        assert state.running_command == "/standup" and state.is_busy
        bench.submit(Interrupt())
        await bench.until("command.rejected")
        (rejected,) = bench.of(CommandRejected)
        assert rejected.reason == "You stopped /standup Monday." and not bench.recorder.state.is_busy
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")


async def test_one_that_takes_too_long_is_stopped_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def standup(arguments: str, state: SessionStateView) -> str:
        await anyio.sleep_forever()
        return ""

    monkeypatch.setattr(slash_commands, "COMMAND_LIMIT_S", 0.01)
    async with running(tmp_path, [], commands={"standup": plugin_command(standup)}) as bench:
        await run(bench, until="command.rejected")
        (rejected,) = bench.of(CommandRejected)
    assert rejected.reason == "The command /standup (plugin mine) failed: it took longer than 0.01 s"


async def test_messages_sent_meanwhile_wait_for_its_end_and_then_go(tmp_path: Path) -> None:
    go = anyio.Event()

    async def standup(arguments: str, state: SessionStateView) -> str | TextBlock:
        await go.wait()
        return "Report." if arguments else TextBlock(text="Fine.")

    commands = {"standup": plugin_command(standup)}
    for arguments, sent in (("", ["first", "second"]), ("now", ["Report.", "first", "second"])):
        go = anyio.Event()
        answers = [say(text) for text in sent]
        async with running(tmp_path, answers, commands=commands, session=f"ses_{len(sent)}") as bench:
            bench.submit(RunCommand(name="standup", arguments=arguments))
            await bench.until_so(lambda bench=bench: bench.recorder.state.running_command)
            bench.submit(Steer(text="first"))
            bench.submit(SubmitPrompt(text="second"))
            await bench.until("user.queued", 2)
            assert "turn.started" not in bench.kinds()
            bench.submit(SendQueued(queue_id=bench.recorder.state.queue[0].queue_id))
            rejected = await bench.until_payload(CommandRejected)
            assert rejected.reason == "/standup is running. The message is sent afterwards."
            go.set()
            await bench.until("turn.finished", len(sent))
            assert [message.text for message in bench.of(UserMessageReceived)] == sent


async def test_stopping_one_sends_the_messages_that_waited(tmp_path: Path) -> None:
    async def standup(arguments: str, state: SessionStateView) -> str:
        await anyio.sleep_forever()
        return ""

    async with running(tmp_path, [say("Here.")], commands={"standup": plugin_command(standup)}) as bench:
        bench.submit(RunCommand(name="standup"))
        bench.submit(RunCommand(name="standup", arguments="again"))
        await bench.until_so(lambda: bench.recorder.state.running_command)
        bench.submit(Steer(text="go"))
        await bench.until("user.queued")
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        assert [rejected.reason for rejected in bench.of(CommandRejected)] == [
            "You stopped /standup.",
            "You stopped /standup again.",
        ]


async def test_the_state_names_the_one_that_still_runs(tmp_path: Path) -> None:
    async def standup(arguments: str, state: SessionStateView) -> TextBlock:
        await anyio.sleep_forever()
        raise AssertionError

    async def count(arguments: str, state: SessionStateView) -> TextBlock:
        return TextBlock(text="3")

    quick = OfferedSlashCommand("mine", OfferedCommand(name="count"), count)
    commands = {"standup": plugin_command(standup), "count": quick}
    async with running(tmp_path, [], commands=commands) as bench:
        bench.submit(RunCommand(name="standup"))
        bench.submit(RunCommand(name="count"))
        await bench.until("command.ran")
        assert bench.recorder.state.running_command == "/standup"


async def test_an_unknown_one_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    async with running(tmp_path, [], commands={"standup": plugin_command(_nothing)}) as bench:
        bench.submit(RunCommand(name="standdup"))
        rejected = await bench.until_payload(CommandRejected)
    assert (rejected.reason, rejected.hint) == ("There is no command /standdup.", "Did you mean /standup?")


async def test_a_message_with_an_unknown_one_is_refused_and_a_path_is_sent(tmp_path: Path) -> None:
    async with running(tmp_path, [say("Read.")]) as bench:
        bench.submit(SubmitPrompt(text="/nosuch x"))
        assert (await bench.until_payload(CommandRejected)).reason == "There is no command /nosuch."
        bench.submit(SubmitPrompt(text="/etc/hosts is wrong"))
        await bench.until("turn.finished")
        (message,) = bench.of(UserMessageReceived)
    assert message.text == "/etc/hosts is wrong"


async def test_the_own_commands_are_listed_as_text_whatever_a_plugin_calls_its_command(
    tmp_path: Path,
) -> None:
    listed = {"commands": plugin_command(_nothing)}
    async with running(tmp_path, [], commands=listed) as bench:
        bench.submit(SubmitPrompt(text="/commands"))
        await bench.until("command.ran")
        standup = OfferedCommand(
            name="standup", help="Report on a day", arguments="[DAY]", source="/x/standup.md"
        )
        bench.recorder.append(CommandsOffered(owner="user", items=(standup, OfferedCommand(name="bare"))))
        bench.recorder.append(
            CommandsOffered(owner="demo", items=(OfferedCommand(name="deploy"), OfferedCommand(name="undo")))
        )
        bench.submit(RunCommand(name="commands"))
        await bench.until("command.ran", 2)
    assert [ran.display for ran in bench.of(CommandRan)] == [
        (TextBlock(text=NO_OWN_COMMANDS),),
        (
            TextBlock(
                text="- /deploy (demo)\n- /standup [DAY]: Report on a day (/x/standup.md)\n- /bare (user)"
            ),
        ),
    ]


async def test_the_figures_of_the_session_are_told_as_text(tmp_path: Path) -> None:
    async def shown(number: int, name: str) -> list[str]:
        bench.submit(SubmitPrompt(text=f"/{name}"))
        await bench.until("command.ran", number)
        (block,) = bench.of(CommandRan)[-1].display
        assert isinstance(block, TextBlock)
        return str(block.text).split("\n")

    async with running(tmp_path, [say("Done.")]) as bench:
        assert await shown(1, "context") == ["- context: empty"]
        before = await shown(2, "cost")
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        meter, status = bench.recorder.meter, await shown(3, "status")
        sections, spent = await shown(4, "context"), await shown(5, "cost")
        bench.submit(SubmitPrompt(text="/cost 2"))
        rejected = await bench.until_payload(CommandRejected)
    assert before[0] == "- session: none yet, 0 turns" and spent[0] == "- session: not known, 1 turn"
    assert f"- context: {describe_context(meter)}" in status and sections[0] in status
    assert [line.split(":")[0] for line in sections] == [
        "- context",
        *(f"- {each.name}" for each in meter.sections),
    ]
    assert {"- policy: ask", "- agent: default", "- limits: none"} <= {*status, *spent}
    assert rejected.reason == "/cost 2 works only in the full-screen app."


async def test_one_that_exists_only_in_the_app_is_refused_with_that_reason(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        for number, command in enumerate(
            (
                RunCommand(name="theme"),
                SubmitPrompt(text="/undo the turn"),
                SubmitPrompt(text=f"/find {'word ' * 99}"),
            ),
            1,
        ):
            bench.submit(command)
            await bench.until("command.rejected", number)
    assert [(rejected.reason, rejected.hint) for rejected in bench.of(CommandRejected)] == [
        ("/theme works only in the full-screen app.", "Open the session there, and type the command."),
        ("/undo the turn does not name a turn.", "Type the number of a turn, for example /undo 2."),
        (
            "/find word word word word word word… works only in the full-screen app.",
            "Open the session there, and type the command.",
        ),
    ]


async def test_a_message_with_a_command_about_the_session_runs_it(tmp_path: Path) -> None:
    async with running(tmp_path, [say("Done.")]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        undo = SubmitPrompt(text="/undo")
        bench.submit(undo)
        moved = await bench.until("session.head_moved")
        pending = RunningPrompt(undo.id)
        await bench.until_so(lambda: bench.events[-1].payload.kind == "agent.state_changed")
        for event in bench.events:
            pending.take(event)
        assert moved.cause == undo.id and pending.done.is_set() and pending.error is None


@pytest.mark.parametrize("text", ["/undo 2", "/undo turn 2"])
async def test_an_undo_of_an_older_turn_undoes_the_later_ones_too(tmp_path: Path, text: str) -> None:
    answers = [say("One."), say("Two."), say("Three."), say("New.")]
    async with running(tmp_path, answers) as bench:
        for number in (1, 2, 3):
            bench.submit(SubmitPrompt(text=f"message {number}"))
            await bench.until("turn.finished", number)
        bench.submit(SubmitPrompt(text="/undo 4"))
        rejected = await bench.until_payload(CommandRejected)
        undo = SubmitPrompt(text=text)
        bench.submit(undo)
        moved = await bench.until("session.head_moved")
        starts = [event.seq for event in bench.events if isinstance(event.payload, UserMessageReceived)]
        assert isinstance(moved.payload, SessionHeadMoved) and moved.cause == undo.id
        assert moved.payload.to_seq == starts[1] - 1
        assert describe_effect(moved) == "Undid these turns. /redo brings them back."
        await bench.until_so(lambda: bench.events[-1].payload.kind == "agent.state_changed")
        bench.submit(SubmitPrompt(text="/redo"))
        await bench.until("session.head_moved", 2)
        await bench.until_so(lambda: bench.events[-1].payload.kind == "agent.state_changed")
        bench.submit(SubmitPrompt(text="/undo 3"))
        newest = await bench.until("session.head_moved", 3)
        await bench.until_so(lambda: bench.events[-1].payload.kind == "agent.state_changed")
        assert isinstance(newest.payload, SessionHeadMoved)
        assert (newest.payload.to_seq, newest.payload.reason) == (starts[2] - 1, "undo")
        bench.submit(SubmitPrompt(text="/undo 3"))
        await bench.until("command.rejected", 2)
    assert rejected.reason == "There is no turn 4 to undo."
    assert bench.of(CommandRejected)[-1].reason == "There is no turn 3 to undo."


async def test_the_command_of_a_server_that_does_not_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    servers = McpServers(
        [ServerSettings("notes", "none")], LocalEnvironment(tmp_path), "", StartTimes(tmp_path)
    )
    async with running(tmp_path, [], servers=servers) as bench:
        bench.submit(RunCommand(name="notes:day"))
        rejected = await bench.until_payload(CommandRejected)
    assert rejected.hint == "The MCP server notes has not started yet."


async def test_a_commands_completion_is_asked_and_a_slow_or_faulty_one_is_told_once(
    tmp_path: Path,
) -> None:
    async def run_nothing(text: str, state: SessionStateView) -> str:
        return ""

    def list_days(text: str, state: SessionStateView) -> list[str]:
        return [day for day in ("monday", "tuesday") if day.startswith(text)]

    async def wait_long(text: str, state: SessionStateView) -> list[str]:
        await anyio.sleep_forever()
        return []

    def exit_program(text: str, state: SessionStateView) -> list[str]:
        raise SystemExit(1)

    completions = {"days": list_days, "slow": wait_long, "exits": exit_program, "odd": lambda text, state: 7}
    commands: dict[str, SlashCommand] = {
        name: OfferedSlashCommand("mine", OfferedCommand(name=name, completes=True), run_nothing, function)
        for name, function in completions.items()
    }
    async with running(tmp_path, [], commands=commands) as bench:
        assert await bench.engine.slash_commands.complete("days", "m") == ["monday"]
        for name in ("slow", "exits", "odd", "nothing", "exits"):
            assert await bench.engine.slash_commands.complete(name, "") == ()
        told = [event.message for event in bench.of(ErrorRaised)]
    assert [message.split(" failed")[0] for message in told] == [
        f"The completion of /{name} (plugin mine)" for name in ("slow", "exits", "odd")
    ]
    assert "took longer than 1 s" in told[0]
