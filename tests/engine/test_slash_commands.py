"""Slash commands of the engine: what they send, show and run, and what happens when they fail."""

import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, EchoTool, Words, running, say
from tui_agent.config.extensions.command_files import CommandFile, load_command_files
from tui_agent.config.project.project_files import read_project_files
from tui_agent.engine.input import slash_commands
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.session_figures import describe_context
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.servers import McpServers, StartTimes
from tui_agent.plugin_host.offers import OfferedSlashCommand
from tui_agent.ports.policy import Decision
from tui_agent.ports.slash_command import CommandAnswer, SlashCommand
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.app_commands import NO_OWN_COMMANDS
from tui_agent.protocol.commands import Interrupt, RunCommand, SendQueued, Steer, SubmitPrompt
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised, SessionHeadMoved
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered, OfferedCommand
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.messages import UserMessage
from tui_agent.session.command_effects import describe_effect
from tui_agent.session.pending_commands import RunningPrompt
from tui_agent.wiring.extensions import PROJECT_FILES_CHANGED, ProjectCommand
from tui_agent.workspace.local.environment import LocalEnvironment


def plugin_command(function: Callable[[str, SessionStateView], Awaitable[object]]) -> SlashCommand:
    return OfferedSlashCommand("mine", OfferedCommand(name="standup"), function)


def file_command(tmp_path: Path, text: str) -> CommandFile:
    folder = tmp_path / "commands"
    folder.mkdir()
    (folder / "standup.md").write_text(text, encoding="utf-8")
    return load_command_files(folder, None)[0].commands[0]


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


async def test_the_command_of_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path) -> None:
    faults = {"big": "commands/big.md is larger than 1 MB."}
    async with running(tmp_path, [], unusable_commands=faults) as bench:
        bench.submit(RunCommand(name="big"))
        first = (await bench.until("command.rejected")).payload
        bench.submit(SubmitPrompt(text="/big now"))
        second = (await bench.until("command.rejected")).payload
    for rejected in first, second:
        assert isinstance(rejected, CommandRejected)
        assert (rejected.reason, rejected.hint) == ("There is no command /big.", faults["big"])


async def test_the_command_of_a_server_that_does_not_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    servers = McpServers(
        [ServerSettings("notes", "none")], LocalEnvironment(tmp_path), "", StartTimes(tmp_path)
    )
    async with running(tmp_path, [], servers=servers) as bench:
        bench.submit(RunCommand(name="notes:day"))
        rejected = await bench.until_payload(CommandRejected)
    assert rejected.hint == "The MCP server notes has not started yet."


class Shell(EchoTool):
    """Stands for `run_command`."""

    def __init__(self) -> None:
        super().__init__("run_command", safe=False)
        self.spec = type(self.spec)("run_command", "Runs.", CommandArgs, "run")

    async def run(self, args: "CommandArgs", ctx: ToolContext) -> ToolResult:  # type: ignore[override]
        return await super().run(Words(words=args.command), ctx)


class CommandArgs(Words):
    command: str


async def test_a_markdown_command_fills_in_arguments_and_runs_its_shell_commands_first(
    tmp_path: Path,
) -> None:
    text = "---\ndescription: Say what is new\nargument-hint: '[DAY]'\n---\nSince $1: !`git log --since $1`. All: $ARGUMENTS"
    command, shell = file_command(tmp_path, text), Shell()
    assert command.offer.model_dump(exclude={"source", "completes"}) == {
        "name": "standup",
        "help": "Say what is new",
        "arguments": "[DAY]",
    }
    async with running(tmp_path, [say("News.")], [shell], commands={"standup": command}) as bench:
        await run(bench, "'last Monday' now")
        (message,) = bench.of(UserMessageReceived)
        (request,) = bench.model.requests
    assert message.text == (
        "Since last Monday: `git log --since 'last Monday'` (its output follows). All: 'last Monday' now"
    )
    assert message.shell == ("git log --since 'last Monday'",) and shell.ran == list(message.shell)
    assert [part.role for part in request.messages[-3:]] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("text", "arguments", "prompt"),
    [
        ("Read $FILE twice: $FILE.", "FILE=abc", "Read abc twice: abc."),
        ("Read $FILE for $WHO_1.", 'WHO_1="Ann B" FILE=a=b', "Read a=b for Ann B."),
        ("Read $FILE.", "FILE=abc be quick", "Read abc.\n\nbe quick"),
        ("Read $FILE in $HOME.", "FILE=abc", "Read abc in $HOME."),
        ("Read $FILE.", "abc", "Read $FILE.\n\nabc"),
        ("Read $FILE.", "OTHER=abc", "Read $FILE.\n\nOTHER=abc"),
        ("Read $FILE. $1 $ARGUMENTS", "FILE=$1 x", "Read $1. FILE=$1 FILE=$1 x"),
        ("Keep $$FILE and $$1: $FILE", "FILE=abc", "Keep $$FILE and $$1: abc"),
        ("See !`echo $FILE`.", "FILE=abc", "See `echo $FILE` (its output follows).\n\nFILE=abc"),
    ],
)
async def test_a_named_placeholder_gets_the_value_of_its_argument(
    text: str, arguments: str, prompt: str
) -> None:
    command = CommandFile(OfferedCommand(name="x"), text)
    assert (await command.answer(arguments, SessionStateView())).prompt == prompt


@pytest.mark.parametrize(
    ("arguments", "first"),
    [("!`rm -rf .`", "!`rm"), ("x; rm -rf .", "x;"), ("$(rm -rf .)", "$(rm"), ("' ; rm -rf .", "'")],
)
async def test_an_argument_adds_no_shell_command(arguments: str, first: str) -> None:
    command = CommandFile(OfferedCommand(name="x"), "Look at !`cat $1` and $ARGUMENTS.")
    answer = await command.answer(arguments, SessionStateView())
    (only,) = answer.shell
    assert shlex.split(only) == ["cat", first]
    assert answer.prompt == f"Look at `{only}` (its output follows) and {arguments}."


async def test_a_projects_command_that_changed_uses_the_trusted_text_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / ".tui_agent/commands/sumup.md"
    file.parent.mkdir(parents=True)
    file.write_text("Sum up $1.")
    trusted = read_project_files(tmp_path)
    (command,) = load_command_files(tmp_path / "none", trusted)[1].commands
    ours = ProjectCommand(command, trusted)
    assert ours.offer.name == "sumup"
    assert await ours.answer("a", SessionStateView()) == CommandAnswer("Sum up a.")
    file.write_text("Sum up $1. extra")
    changed = await ours.answer("a", SessionStateView())
    assert changed.prompt == "Sum up a." and changed.display == (TextBlock(text=PROJECT_FILES_CHANGED),)


async def test_a_denied_shell_command_does_not_run_and_the_agent_is_told(tmp_path: Path) -> None:
    command, shell = file_command(tmp_path, "Clean up: !`rm -rf /`"), Shell()

    def deny(tool: str, effects: object, facts: object) -> Decision:
        return Decision("deny", "test.deny", "the test denies it")

    async with running(
        tmp_path, [say("I cannot.")], [shell], commands={"standup": command}, policy=deny
    ) as bench:
        await run(bench)
    assert shell.ran == [] and [end.status for end in bench.results()] == ["denied"]


async def test_during_a_turn_its_message_is_queued(tmp_path: Path) -> None:
    asked, go = anyio.Event(), anyio.Event()

    async def hold() -> None:
        asked.set()
        await go.wait()

    async def standup(arguments: str, state: SessionStateView) -> CommandAnswer:
        return CommandAnswer("Report.", shell=("git log",) if arguments else ())

    commands = {"standup": plugin_command(standup)}
    async with running(tmp_path, [[hold, *say("One.")], say("Two.")], commands=commands) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await asked.wait()
        await run(bench, until="user.queued")
        await run(bench, "x", until="command.rejected")
        go.set()
        await bench.until("turn.finished", 2)
    (rejected,) = bench.of(CommandRejected)
    assert rejected.hint == "Run /standup x after the turn."
    sent = bench.of(UserMessageReceived)[-1]
    assert (sent.source, sent.command) == ("queue", "/standup")


def test_a_file_that_is_no_command_is_told_and_the_others_are_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "commands"
    (folder / "git").mkdir(parents=True)
    (folder / "fine.md").write_text("# Do it\nNow.")
    (folder / "git" / "log.md").write_text("Log.")
    (folder / "odd name.md").write_text("x")
    (folder / "large.md").write_text("x" * 5_000_000)
    (folder / "long.md").write_text("x" * 200_000)
    (folder / "bytes.md").write_bytes(b"\xff\xfe\x00")
    user, project = load_command_files(folder, None)
    assert [(item.offer.name, item.offer.help) for item in user.commands] == [
        ("fine", "Do it"),
        ("git:log", "Log."),
    ]
    assert [(name, fault.partition(str(folder))[2]) for name, fault in user.faults] == [
        ("bytes", "/bytes.md is not UTF-8 text (byte 0)."),
        ("large", "/large.md is larger than 1 MB."),
        ("long", "/long.md is not used: it has more than 100,000 characters."),
        ("odd name", "/odd name.md is not used: a command's name may contain only letters, digits, - and _."),
    ]
    assert project.commands == () and project.faults == ()


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
