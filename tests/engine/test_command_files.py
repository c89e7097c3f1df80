"""Slash commands from Markdown files: their arguments, their shell commands, and files that cannot be used."""

import shlex
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import EchoTool, Words, running, say
from tests.engine.test_slash_commands import plugin_command, run
from tui_agent.config.extensions.command_files import CommandFile, load_command_files
from tui_agent.config.project.project_files import read_project_files
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.policy import Decision
from tui_agent.ports.slash_command import CommandAnswer
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.commands import RunCommand, SubmitPrompt
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.slash_command import OfferedCommand
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.wiring.extensions import PROJECT_FILES_CHANGED, ProjectCommand


def file_command(tmp_path: Path, text: str) -> CommandFile:
    folder = tmp_path / "commands"
    folder.mkdir()
    (folder / "standup.md").write_text(text, encoding="utf-8")
    return load_command_files(folder, None)[0].commands[0]


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
