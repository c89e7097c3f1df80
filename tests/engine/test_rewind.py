"""Going back and forth in time: the conversation and the files, over a real store of checkpoints."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.engine.harness import Bench, call, running, say
from tests.stubs.legal_history import check_pairs
from tests.stubs.sandboxed import git
from tests.stubs.tool_context import tools_of
from tui_agent.folds.projection import current_branch
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.commands import (
    Command,
    ContinueTurn,
    Interrupt,
    PlanRevert,
    Queue,
    Redo,
    Revert,
    RunUserShell,
    SendQueued,
    SetPolicy,
    SubmitPrompt,
    Undo,
)
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointTaken,
    FileChanged,
)
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised, SessionHeadMoved
from tui_agent.protocol.events.todo import TodoUpdated
from tui_agent.protocol.messages import UserMessage
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore


def tools() -> list[object]:
    return [*tools_of("files").values(), *tools_of("shell").values(), *tools_of("todo").values()]


def write(path: str, text: str) -> object:
    return call(("write_file", f'{{"path": "{path}", "content": "{text}"}}'))


def shell(script: str) -> object:
    return call(("run_command", f'{{"command": "{script}"}}'))


@asynccontextmanager
async def told(
    tmp_path: Path, *answers: object, store: object = True, **more: object
) -> AsyncIterator[Bench]:
    """An engine with checkpoints, real tools and these answers."""
    async with running(tmp_path, answers, tools(), checkpoints=store, **more) as bench:  # type: ignore[arg-type]
        await bench.until("agent.state_changed")
        yield bench


async def turn(bench: Bench, text: str) -> None:
    """One turn from a message to its end."""
    ended = bench.kinds().count("turn.finished")
    bench.submit(SubmitPrompt(text=text))
    await bench.until("turn.finished", ended + 1)


async def go(bench: Bench, command: Command) -> None:
    """Carry out a command that goes back or forth, or that runs a command of the user, to its end."""
    before = len(bench.events)
    bench.submit(command)
    count = bench.kinds().count("agent.state_changed")
    await bench.until("agent.state_changed", count + 2)
    assert not [event for event in bench.events[before:] if event.payload.kind == "error.raised"]


def files(tmp_path: Path) -> dict[str, str]:
    """What stands in the workspace."""
    root = tmp_path / "workspace"
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


def said(bench: Bench) -> list[str]:
    """The user's messages as the model sees them now."""
    return [
        str(message.content[0].text)  # type: ignore[union-attr]
        for message in bench.recorder.messages()
        if isinstance(message, UserMessage)
    ]


async def test_undo_takes_back_a_turn_with_its_files_and_redo_brings_both_again(tmp_path: Path) -> None:
    answers = [write("a.txt", "one"), say("A."), write("b.txt", "two"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        assert files(tmp_path) == {"a.txt": "one", "b.txt": "two"}
        await go(bench, Undo())
        assert (files(tmp_path), said(bench)) == ({"a.txt": "one"}, ["first"])
        await go(bench, Undo())
        assert (files(tmp_path), said(bench)) == ({}, [])
        await go(bench, Redo())
        assert (files(tmp_path), said(bench)) == ({"a.txt": "one"}, ["first"])
        await go(bench, Redo())
        assert (files(tmp_path), said(bench)) == ({"a.txt": "one", "b.txt": "two"}, ["first", "second"])
        assert check_pairs(bench.recorder.messages()) == []


async def test_one_undo_takes_back_a_turn_that_a_crash_cut_in_two(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), [anyio.sleep_forever]) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await bench.until("tool.finished")
    async with told(tmp_path, write("b.txt", "two"), say("A.")) as bench:
        ended = bench.kinds().count("turn.finished")
        bench.submit(ContinueTurn())
        await bench.until("turn.finished", ended + 1)
        assert files(tmp_path) == {"a.txt": "one", "b.txt": "two"}
        await go(bench, Undo())
        assert (files(tmp_path), said(bench)) == ({}, [])
        await go(bench, Redo())
        assert (files(tmp_path), said(bench)[0]) == ({"a.txt": "one", "b.txt": "two"}, "first")


def ran(bench: Bench) -> list[str]:
    """The user's messages and commands as the model sees them now, each as its last line."""
    return [text.splitlines()[-1] for text in said(bench)]


async def test_redo_keeps_the_users_commands_since_the_undo_in_the_conversation(tmp_path: Path) -> None:
    async with told(tmp_path, say("A."), say("B."), say("C.")) as bench:
        await turn(bench, "first")
        await go(bench, RunUserShell(command="echo before"))
        await turn(bench, "second")
        await go(bench, Undo())
        await go(bench, RunUserShell(command="echo one"))
        await go(bench, Undo())
        await go(bench, RunUserShell(command="echo two > two.txt; cat two.txt", typed="/read two.txt"))
        await go(bench, RunUserShell(command="echo hidden", hidden=True))
        assert ran(bench) == ["two"]
        await go(bench, Redo())
        assert ran(bench) == ["first", "before", "one", "two"]
        await go(bench, Redo())
        assert ran(bench) == ["first", "before", "second", "one", "two"]
        assert files(tmp_path) == {"two.txt": "two\n"}
        chat = Transcript()
        for event in current_branch(bench.events):
            chat.apply(event)
        commands = [entry.command for entry in chat.view().entries if isinstance(entry, NoticeEntry)]
        assert [text for text in commands if text] == [
            "echo before",
            "echo one",
            "/read two.txt",
            "echo hidden",
        ]
        await turn(bench, "third")
        assert str(bench.model.requests[-1].messages).count("\\ntwo") == 1
        assert check_pairs(bench.recorder.messages()) == []


async def test_a_switch_back_to_a_branch_takes_only_the_commands_since_the_switch_along(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, say("A."), say("B.")) as bench:
        await turn(bench, "first")
        await go(bench, RunUserShell(command="echo old"))
        there = bench.recorder.state.seq
        await go(bench, Undo())
        await turn(bench, "other")
        await go(bench, Revert(to_seq=there))
        await go(bench, RunUserShell(command="echo new"))
        assert ran(bench) == ["first", "old", "new"]
        await go(bench, Redo())
        assert ran(bench) == ["other", "new"]


async def test_an_undo_names_the_commits_that_git_keeps(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    git(root, "init", "-q")
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        git(root, "config", key, value)
    answers = [write("a.txt", "one"), shell("git add a.txt && git commit -qm 'Add a'"), say("A."), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await go(bench, Undo())
        await go(bench, Undo())
        commit = f"{git(root, 'rev-parse', 'HEAD')[:7]} Add a"
        assert [move.kept_commits for move in bench.of(SessionHeadMoved)] == [(), (commit,)]
        assert not (root / "a.txt").exists()
        await go(bench, Redo())
        assert bench.of(SessionHeadMoved)[-1].kept_commits == ()


@pytest.mark.slow
async def test_three_undos_and_three_redos_stop_at_the_same_states_to_the_byte(tmp_path: Path) -> None:
    answers: list[object] = []
    for number in (1, 2, 3):
        todo = f'{{"todos": [{{"content": "task {number}", "status": "in_progress"}}]}}'
        answers += [
            call(("write_todos", todo)),
            write("a.txt", f"version {number}"),
            shell(
                f"printf 'x{number}\\\\0y' > b{number}.bin; chmod 7{number}0 b{number}.bin; rm -f b{number - 1}.bin"
            ),
            say(f"Turn {number}."),
        ]
    root = tmp_path / "workspace"

    async with told(tmp_path, *answers) as bench:

        def stop() -> tuple[object, ...]:
            found = [path for path in sorted(root.rglob("*")) if path.is_file()]
            kept = {path.name: (path.read_bytes(), path.stat().st_mode) for path in found}
            return kept, bench.recorder.state.todo, bench.recorder.messages()

        stops = [stop()]
        for number in (1, 2, 3):
            await turn(bench, f"message {number}")
            stops.append(stop())
        assert len({str(each) for each in stops}) == 4
        assert set(files(tmp_path)) == {"a.txt", "b3.bin"}
        assert (root / "b3.bin").read_bytes() == b"x3\0y"
        for at in (2, 1, 0):
            await go(bench, Undo())
            assert stop() == stops[at], f"undone to {at}"
        for at in (1, 2, 3):
            await go(bench, Redo())
            assert stop() == stops[at], f"redone to {at}"


async def test_every_part_that_changed_files_has_its_checkpoint_and_none_else(tmp_path: Path) -> None:
    answers = [write("a.txt", "one"), shell("echo two > b.txt"), shell("true"), say("Done.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "go")
    taken = bench.of(CheckpointTaken)
    assert [(one.part, one.author, one.paths) for one in taken[1:]] == [
        (1, "agent", ("a.txt",)),
        (3, "command", ("b.txt",)),
    ]
    assert taken[0].part == -1
    changed = bench.of(FileChanged)
    assert [(one.path, one.author) for one in changed] == [("a.txt", "agent"), ("b.txt", "command")]


async def test_what_a_person_changed_in_between_is_theirs_and_is_left_alone(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), write("b.txt", "two"), say("B.")) as bench:
        await turn(bench, "first")
        (tmp_path / "workspace" / "mine.txt").write_text("mine")
        (tmp_path / "workspace" / "a.txt").write_text("mine too")
        await turn(bench, "second")
        await go(bench, Undo())
        assert files(tmp_path) == {"a.txt": "mine too", "mine.txt": "mine"}
        await go(bench, Undo())
        assert files(tmp_path) == {"a.txt": "mine too", "mine.txt": "mine"}, "a.txt asks first"
        restored = bench.of(CheckpointRestored)
        assert restored[-1].skipped_paths == ("a.txt",)
        to_seq = bench.recorder.branches.moves[-1].to_seq
        await go(bench, Revert(to_seq=to_seq, conversation=False, overwrite=("a.txt",)))
        assert files(tmp_path) == {"mine.txt": "mine"}, "once it was named, it is put back too"
    authors = {one.author for one in bench.of(CheckpointTaken)}
    assert "human" in authors


async def test_a_file_in_conflict_is_put_back_where_the_user_said_so(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        (tmp_path / "workspace" / "a.txt").write_text("mine")
        await go(bench, Undo(overwrite=("a.txt",)))
        assert files(tmp_path) == {}
        await go(bench, Redo())
        assert files(tmp_path) == {"a.txt": "mine"}, "and even that can be taken back"


async def test_files_alone_and_the_conversation_alone(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        start = bench.recorder.branches.undo_to
        assert start is not None
        await go(bench, Revert(to_seq=start, conversation=False))
        assert (files(tmp_path), said(bench)) == ({}, ["first"])
        await go(bench, Revert(to_seq=start, files=False))
        assert (files(tmp_path), said(bench)) == ({}, [])
        await go(bench, Redo())
        assert said(bench) == ["first"]


async def test_todos_and_grants_go_back_and_what_the_user_works_with_stays(tmp_path: Path) -> None:
    todo = call(("write_todos", '{"todos": [{"content": "x", "status": "in_progress"}]}'))
    async with told(tmp_path, todo, say("A.")) as bench:
        await turn(bench, "first")
        assert bench.of(TodoUpdated)
        bench.submit(SetPolicy(policy="plan"))
        await bench.until("settings.changed")
        parts, number = bench.recorder.state.parts, bench.recorder.state.turn
        await go(bench, Undo())
        state = bench.recorder.state
        assert state.todo == ()
        assert state.settings is not None
        assert state.settings.policy == "plan"
        assert (state.parts, state.turn) == (parts, number), "no number is used twice"
        assert state.title == "first"


async def test_a_queued_message_that_was_sent_does_not_return_to_the_queue(tmp_path: Path) -> None:
    async with told(tmp_path, shell("sleep 0.2"), say("A."), say("B."), say("C.")) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await bench.until("tool.started")
        bench.submit(Queue(text="second task"))
        await bench.until("turn.finished", 2)
        assert said(bench) == ["first", "second task"]
        await go(bench, Undo())
        assert (said(bench), bench.recorder.state.queue) == (["first"], ())
        await go(bench, Redo())
        assert (said(bench), bench.recorder.state.queue) == (["first", "second task"], ())
        await go(bench, Undo())
        await turn(bench, "something else")
        assert said(bench) == ["first", "something else"]


async def test_a_message_that_waits_in_the_queue_still_waits_after_an_undo_and_a_redo(tmp_path: Path) -> None:
    async with told(tmp_path, shell("sleep 30"), say("A."), say("B.")) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await bench.until("tool.started")
        bench.submit(Queue(text="later"))
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        waiting, stopped = bench.recorder.state.queue, said(bench)
        assert [message.text for message in waiting] == ["later"]
        await go(bench, Undo())
        assert (said(bench), bench.recorder.state.queue) == ([], waiting)
        await go(bench, Redo())
        assert (said(bench), bench.recorder.state.queue) == (stopped, waiting)
        bench.submit(SendQueued(queue_id=waiting[0].queue_id))
        await bench.until("turn.finished", 2)
        assert (said(bench), bench.recorder.state.queue) == ([*stopped, "later"], ())


@pytest.mark.slow
async def test_back_into_the_middle_of_a_turn_the_history_is_legal(tmp_path: Path) -> None:
    answers = [write("a.txt", "one"), write("b.txt", "two"), say("Done."), say("Again.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "go")
        for seq in range(3, bench.recorder.state.seq):
            await go(bench, Revert(to_seq=seq))
            assert check_pairs(bench.recorder.messages()) == []
            assert not bench.recorder.state.turn_running
            assert not bench.recorder.state.open_calls
        await turn(bench, "and on")
        assert check_pairs(bench.model.requests[-1].messages) == []


async def test_while_a_turn_runs_and_where_nothing_was_done_it_is_refused(tmp_path: Path) -> None:
    async with told(tmp_path, shell("sleep 30")) as bench:
        await go(bench, Undo())
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("tool.started")
        bench.submit(Undo())
        await bench.until("command.rejected", 2)
        bench.submit(Interrupt())
        await bench.until("turn.finished")
    assert not bench.of(SessionHeadMoved)
    rejected = bench.of(CommandRejected)
    assert "Nothing to undo" in rejected[0].reason
    assert "You can undo or redo afterwards" in rejected[1].reason


async def test_what_a_stopped_command_had_changed_is_the_commands(tmp_path: Path) -> None:
    async with told(tmp_path, shell("echo x > a.txt; sleep 30")) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("tool.started")
        while not (tmp_path / "workspace" / "a.txt").exists():
            await anyio.lowlevel.checkpoint()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        taken = bench.of(CheckpointTaken)
        assert [(one.author, one.paths) for one in taken[1:]] == [("command", ("a.txt",))]
        await go(bench, Undo())
        assert files(tmp_path) == {}


async def test_what_a_call_had_changed_is_its_own_where_the_turn_is_stopped_at_its_end(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, write("a.txt", "one")) as bench:
        bench.on_event = lambda event: (
            bench.submit(Interrupt()) if event.payload.kind == "tool.finished" else None
        )
        await turn(bench, "first")
        taken = bench.of(CheckpointTaken)
        assert [(one.author, one.paths) for one in taken[1:]] == [("agent", ("a.txt",))]
        await go(bench, Undo())
        assert files(tmp_path) == {}


async def test_a_session_taken_up_again_goes_back_as_before(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), write("a.txt", "x"), say("B.")) as bench:
        await turn(bench, "first")
        await go(bench, Undo())
    async with told(tmp_path, say("C.")) as again:
        assert said(again) == []
        await go(again, Redo())
        assert (files(tmp_path), said(again)) == ({"a.txt": "one"}, ["first"])
        await go(again, Undo())
        assert (files(tmp_path), said(again)) == ({}, [])


async def test_files_that_stayed_behind_in_a_session_taken_up_again_go_back_with_the_next_move(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        asked = next(event.seq for event in bench.events if event.payload.kind == "user.message")
    async with told(tmp_path) as again:
        await go(again, Revert(to_seq=asked, files=False))
        assert (files(tmp_path), said(again)) == ({"a.txt": "one"}, ["first"])
        await go(again, Undo())
        assert (files(tmp_path), said(again)) == ({}, [])


async def test_a_plan_says_what_would_happen_and_changes_nothing(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), shell("echo x > b.txt"), say("B.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        (tmp_path / "workspace" / "a.txt").write_text("mine")
        start = bench.of(SessionHeadMoved)
        bench.submit(PlanRevert(to_seq=5))
        plan = await bench.until_payload(CheckpointPlanned)
        acts = {act.path: (act.operation, bool(act.conflict)) for act in plan.changes}
        assert acts == {"a.txt": ("remove", True), "b.txt": ("remove", False)}
        assert files(tmp_path) == {"a.txt": "mine", "b.txt": "x\n"}
        assert start == []


@pytest.mark.slow
async def test_going_to_an_event_beside_the_branch_is_told_as_that_and_brings_its_files(
    tmp_path: Path,
) -> None:
    answers = [write("a.txt", "one"), say("A."), write("b.txt", "two"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        end = bench.recorder.state.seq
        await go(bench, Undo())
        await turn(bench, "second")
        assert files(tmp_path) == {"b.txt": "two"}
        await go(bench, Revert(to_seq=end))
        assert (files(tmp_path), said(bench)) == ({"a.txt": "one"}, ["first"])
        await go(bench, Revert(to_seq=end - 1))
        moved = [one.reason for one in bench.of(SessionHeadMoved)]
        assert moved == ["undo", "branch", "revert"]


async def test_a_fork_cannot_go_to_an_event_that_it_did_not_take_over(tmp_path: Path) -> None:
    async with told(tmp_path, say("A."), say("B."), session="ses_parent") as bench:
        await turn(bench, "first")
        aside = bench.recorder.state.seq
        await go(bench, Undo())
        await turn(bench, "second")
        at = bench.recorder.state.seq
    SessionStore(tmp_path / "sessions", SystemClock(), Redactor()).fork("ses_parent", at, "ses_fork")
    async with told(tmp_path, session="ses_fork") as bench:
        bench.submit(Revert(to_seq=aside))
        rejected = await bench.until_payload(CommandRejected)
        assert rejected.reason == f"There is no event {aside} in this session."
        await go(bench, Revert(to_seq=at))
        assert said(bench) == ["second"]


async def test_a_file_whose_folder_is_a_file_now_is_told_with_the_reason_and_not_offered(
    tmp_path: Path,
) -> None:
    (tmp_path / "workspace" / "old").mkdir(parents=True)
    (tmp_path / "workspace" / "old" / "o.txt").write_text("o")
    async with told(tmp_path, shell("rm -r old"), say("Done.")) as bench:
        await turn(bench, "go")
        (tmp_path / "workspace" / "old").write_text("mine")
        bench.submit(Undo())
        await bench.until("session.head_moved")
        error = await bench.until_payload(ErrorRaised)
        assert error.message == "old/o.txt could not be restored: old is not a folder any more."
        restored = bench.of(CheckpointRestored)
        assert restored[-1].skipped_paths == ()
    assert files(tmp_path) == {"old": "mine"}
