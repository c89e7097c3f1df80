"""The user's own command (`!`) shows while it runs, can be stopped, and lets messages wait for its end."""

import re
from pathlib import Path

import pytest

from tests.engine.harness import Bench, running, say
from tui_agent.engine.tools.live_output import MAX_UNSAMPLED_CHARS
from tui_agent.protocol.commands import (
    Close,
    Interrupt,
    Pause,
    Queue,
    RunUserShell,
    SetModel,
    SetOutputWidth,
    Steer,
    SubmitPrompt,
)
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.turn import (
    UserMessageReceived,
    UserShellFinished,
    UserShellProgress,
    UserShellStarted,
)
from tui_agent.protocol.stored_text import BlobText, LongText, text_preview
from tui_agent.store.lineage import open_blobs
from tui_agent.workspace.local.running_command import Child


def _end(bench: Bench) -> UserShellFinished:
    (event,) = bench.of(UserShellFinished)
    return event


def _stored(tmp_path: Path, text: LongText | None) -> str:
    """A text of the session's log, all of it."""
    assert isinstance(text, BlobText)
    return open_blobs(tmp_path / "sessions" / "ses_test").read(text.blob_sha256).decode()


async def test_a_running_command_is_in_the_state_with_its_output_until_it_ends(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command="echo begun; sleep 60", typed="/read begun"))
        await bench.until("user.shell_progress")
        state = bench.recorder.state
        assert state.is_busy and not state.turn_running
        assert state.shell is not None and state.shell.command == "echo begun; sleep 60"
        assert state.shell.label == "/read begun"
        (piece,) = bench.of(UserShellProgress)
        assert piece.text == "begun\n"
        bench.submit(Interrupt())
        await bench.until("user.shell_finished")
        assert not bench.recorder.state.is_busy


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("sleep 300 & echo x", "1 process left running was"),
        (
            "(sleep 300; true) > /dev/null 2>&1 & sleep 300 > /dev/null 2>&1 & echo x",
            "3 processes left running were",
        ),
    ],
)
async def test_a_process_left_running_is_stopped_and_you_and_the_model_read_it(
    tmp_path: Path, command: str, left: str
) -> None:
    async with running(tmp_path, [say("Seen.")]) as bench:
        bench.submit(RunUserShell(command=command))
        await bench.until("user.shell_finished")
        end, note = _end(bench), f"[{left} stopped. To keep a process running, start it in another terminal.]"
        assert (end.exit_code, text_preview(end.output)) == (0, f"x\n{note}")
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert note in str(bench.model.requests[0].messages)


@pytest.mark.parametrize("command", ["sleep 0.1 & wait; echo x", "echo x | cat", "echo x > >(cat)"])
async def test_a_command_that_leaves_nothing_has_no_note(tmp_path: Path, command: str) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command=command))
        await bench.until("user.shell_finished")
    assert text_preview(_end(bench).output) == "x\n"


async def test_output_is_formed_for_the_width_of_the_client_which_no_event_records(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command="echo $COLUMNS"))
        await bench.until("user.shell_finished")
        bench.submit(SetOutputWidth(columns=114))
        bench.submit(RunUserShell(command="echo $COLUMNS"))
        await bench.until("user.shell_finished", 2)
    outputs = [one.output for one in bench.of(UserShellFinished)]
    assert outputs == ["80\n", "114\n"]
    before = bench.kinds().index("user.shell_finished") + 1
    between = bench.kinds()[before : bench.kinds().index("user.shell_started", before)]
    assert set(between) <= {"agent.state_changed", "checkpoint.taken"}


async def test_esc_stops_even_a_command_that_ignores_it_within_300_ms_and_keeps_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graces = list[float]()
    end_program = Child.end

    async def end_and_note(program: Child, grace: float) -> None:
        graces.append(grace)
        await end_program(program, grace)

    async with running(tmp_path, []) as bench:
        monkeypatch.setattr(Child, "end", end_and_note)
        bench.submit(RunUserShell(command="trap '' TERM; echo begun; while :; do sleep 1; done"))
        await bench.until("user.shell_progress")
        bench.submit(Interrupt())
        await bench.until("user.shell_finished")
    end = _end(bench)
    assert (end.end, end.exit_code, text_preview(end.output)) == ("interrupted", None, "begun\n")
    assert graces and max(graces) < 0.3


async def test_messages_sent_meanwhile_wait_for_the_end_and_then_go(tmp_path: Path) -> None:
    async with running(tmp_path, [say("One."), say("Two.")]) as bench:
        bench.submit(RunUserShell(command="echo begun; until [ -e go ]; do sleep 0.05; done"))
        await bench.until("user.shell_progress")
        bench.submit(Steer(text="first"))
        bench.submit(SubmitPrompt(text="second"))
        await bench.until("user.queued", 2)
        assert [text_preview(one.text) for one in bench.recorder.state.queue] == ["first", "second"]
        (tmp_path / "workspace" / "go").touch()
        await bench.until("turn.finished", 2)
        said = [text_preview(one.text) for one in bench.of(UserMessageReceived)]
        assert said == ["first", "second"]
        assert "begun" in str(bench.model.requests[0].messages)


async def test_messages_sent_meanwhile_wait_if_the_command_is_stopped(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command="echo begun; sleep 60"))
        await bench.until("user.shell_progress")
        bench.submit(Queue(text="later"))
        await bench.until("user.queued")
        bench.submit(Interrupt())
        await bench.until("user.shell_finished")
        bench.submit(RunUserShell(command="true"))
        await bench.until("user.shell_finished", 2)
    async with running(tmp_path, [say("One."), say("Two.")]) as bench:
        await bench.until("agent.state_changed")
        assert bench.of(UserMessageReceived) == [] and len(bench.recorder.state.queue) == 1
        bench.submit(SubmitPrompt(text="now"))
        await bench.until("turn.finished", 2)
        assert [text_preview(one.text) for one in bench.of(UserMessageReceived)] == ["now", "later"]
        assert re.search(r"stopped by the user after [\d.]+ m?s", str(bench.model.requests[0].messages))


async def test_what_cannot_be_done_meanwhile_names_the_command_as_the_reason(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command="sleep 60"))
        for command in (RunUserShell(command="ls"), SetModel(model="other"), Pause()):
            bench.submit(command)
        await bench.until("command.rejected", 3)
        rejected = bench.of(CommandRejected)
        assert all(one.reason.startswith("Your command is running.") for one in rejected)
        assert all(one.hint == "Stop it or wait." for one in rejected)
        bench.submit(Interrupt())
        await bench.until("user.shell_finished")


async def test_an_endless_printer_is_recorded_in_samples(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command="head -c 3000000 /dev/zero | tr '\\0' 'y'"))
        await bench.until("user.shell_finished")
        recorded = sum(len(one.text) for one in bench.of(UserShellProgress))
    assert recorded < 2 * MAX_UNSAMPLED_CHARS
    assert _end(bench).exit_code == 0


async def test_nothing_queued_begins_when_the_session_closes_in_a_command(tmp_path: Path) -> None:
    async with running(tmp_path, [say("never")]) as bench:
        bench.submit(RunUserShell(command="echo begun; sleep 60"))
        await bench.until("user.shell_progress")
        bench.submit(Queue(text="later"))
        await bench.until("user.queued")
        bench.submit(Close())
        await bench.until("user.shell_finished")
    assert bench.model.requests == []
    assert [text_preview(one.text) for one in bench.recorder.state.queue] == ["later"]


async def test_a_command_that_a_crash_left_open_is_closed_as_lost_with_its_output(tmp_path: Path) -> None:
    async with running(tmp_path, [], serve=False) as bench:
        bench.recorder.append(UserShellStarted(command="make"))
        bench.recorder.append(UserShellProgress(text="half\n"))
    async with running(tmp_path, [say("I see.")]) as bench:
        assert bench.recorder.state.shell is None
        bench.submit(SubmitPrompt(text="well?"))
        await bench.until("turn.finished")
    told = str(bench.model.requests[0].messages)
    assert "make (tui-agent crashed during the command" in told and "half" in told


async def test_all_of_a_long_output_is_kept_and_the_model_gets_its_ends(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command="seq 1 200000"))
        await bench.until("user.shell_finished")
        end = _end(bench)
        assert "lines left out" in text_preview(end.output)
        numbers = _stored(tmp_path, end.full_output).split()
        assert (len(numbers), numbers[0], numbers[-1]) == (200_000, "1", "200000")


async def test_the_model_gets_the_output_without_colours_and_overwritten_lines_and_the_screen_all(
    tmp_path: Path,
) -> None:
    printed = "\x1b[31mred\x1b[0m \x1b]0;title\x07ok\r\nprogress 1\rprogress 2\n"
    command = r"printf '\033[31mred\033[0m \033]0;title\007ok\r\nprogress 1\rprogress 2\n'"
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command=command))
        await bench.until("user.shell_finished")
        end = _end(bench)
        assert (end.output, end.full_output) == ("red ok\nprogress 2\n", printed)


async def test_of_an_output_that_is_too_long_to_keep_both_ends_are_kept(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        bench.submit(RunUserShell(command="seq 1 500000"))
        await bench.until("user.shell_finished")
        end = _end(bench)
        text = _stored(tmp_path, end.full_output)
        assert text.startswith("1\n2\n") and text.endswith("\n500000\n")
        assert re.search(r"\n\[1(\.\d)? MB of output was not kept\]\n", text)
