"""What a move in time leaves in the log: one event for each thing that happened, and none for what did not."""

import hashlib
from pathlib import Path

import pytest

from tests.engine.harness import Bench, say
from tests.engine.test_rewind import files, go, said, shell, told, turn, write
from tui_agent.folds.comparison.net_changes import net_file_changes
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.changed_files import ModifiedFiles
from tui_agent.folds.session.known_files import find_event_with_known_files
from tui_agent.protocol.commands import PlanRevert, Queue, Redo, Revert, SetPolicy, SubmitPrompt, Undo
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointRestoreStarted,
    CheckpointTaken,
    FileChanged,
)
from tui_agent.protocol.events.session import CommandRejected, ForkChange, SessionHeadMoved, SettingsChanged
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.session.fork import find_files_at, find_fork_start
from tui_agent.session.fork_workspace import load_state
from tui_agent.store.log_reader import read_records


async def kinds(bench: Bench, command: Undo | Redo | Revert) -> list[Payload]:
    """What a move appended, without the states of the agent."""
    before = len(bench.events)
    await go(bench, command)
    payloads = [event.payload for event in bench.events[before:]]
    return [one for one in payloads if one.kind not in ("agent.state_changed", "command.accepted")]


async def test_an_undo_with_files_is_an_intent_a_move_and_what_was_put_back(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        before, start = bench.recorder.state, bench.recorder.branches.undo_to
        assert start is not None
        intent, moved, restored = await kinds(bench, Undo())
        assert isinstance(intent, CheckpointRestoreStarted) and isinstance(moved, SessionHeadMoved)
        assert isinstance(restored, CheckpointRestored)
        assert (intent.to_seq, intent.paths, intent.unlisted_count) == (start, ("a.txt",), 0)
        assert (moved.to_seq, moved.reason, moved.files) == (start, "undo", True)
        assert (moved.parts, moved.turn, moved.iteration, moved.run_id) == (
            before.parts,
            before.turn,
            before.iteration,
            before.run_id,
        )
        assert (restored.source, restored.paths, restored.skipped_paths, restored.unlisted_count) == (
            intent.source,
            ("a.txt",),
            (),
            0,
        )
        assert restored.commit == bench.recorder.state.commit


async def test_a_fork_can_start_right_after_an_undo_that_left_changes_by_somebody_else(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "kept.txt").write_text("old\n")
    async with told(tmp_path, write("a.txt", "one"), say("A."), say("B.")) as bench:
        await turn(bench, "first")
        (workspace / "kept.txt").write_text("old\nmine\n")
        *_, moved, kept, restored = await kinds(bench, Undo())
        assert isinstance(moved, SessionHeadMoved) and isinstance(restored, CheckpointRestored)
        assert isinstance(kept, FileChanged) and (kept.path, kept.author) == ("kept.txt", "human")
        assert bench.recorder.state.uncheckpointed == {}
        bench.submit(SetPolicy(policy="plan"))
        await turn(bench, "second")
        records = read_records(bench.recorder._log.folder)
        message = next(event.seq for event in bench.events if _is_message(event, "second"))
        starts = {
            seq: find_event_with_known_files(records, seq) for seq in (message - 1, message, records[-1].seq)
        }
        assert starts == {seq: seq for seq in starts}
        start = find_fork_start(records, records[-1].seq, ForkChange(message="other words"))
        settings = load_state(bench.recorder._log.folder, start.at_seq).settings
        assert settings is not None and settings.policy == "plan"
        found = find_files_at(bench.recorder._log.folder, start.at_seq)
        assert (found.commit, found.note) == (restored.commit, "")


def _is_message(event: Envelope, text: str) -> bool:
    return isinstance(event.payload, UserMessageReceived) and event.payload.text == text


async def test_an_undo_that_keeps_the_users_earlier_change_leaves_the_file_as_the_user_left_it(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    original = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    (workspace / "a.txt").write_text(original)
    answers = [shell("sed -i s/9/nine/ a.txt"), say("A."), shell("sed -i s/5/five/ a.txt"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        (workspace / "a.txt").write_text(original)
        await turn(bench, "second")
        await go(bench, Undo())
        assert (workspace / "a.txt").read_text() == original
        assert fold(ModifiedFiles(), bench.events) == ()


async def test_files_that_stay_behind_are_the_newest_checkpoint_on_the_branch(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        start, commit, parts = (
            bench.recorder.branches.undo_to,
            bench.recorder.state.commit,
            bench.recorder.state.parts,
        )
        assert start is not None
        moved, kept, taken = await kinds(bench, Revert(to_seq=start, files=False))
        assert isinstance(moved, SessionHeadMoved) and isinstance(taken, CheckpointTaken)
        assert isinstance(kept, FileChanged)
        assert (kept.path, kept.before, kept.after_size, kept.added) == ("a.txt", None, 3, 1)
        assert (kept.author, kept.original_author, kept.call_id) == ("human", "agent", None)
        assert (moved.files, moved.reason) == (False, "revert")
        assert (taken.commit, taken.author, taken.part) == (commit, "human", parts - 1)
        assert files(tmp_path) == {"a.txt": "one"}


async def test_a_move_over_talk_alone_tells_of_no_files(tmp_path: Path) -> None:
    async with told(tmp_path, say("A."), say("B.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        (moved,) = await kinds(bench, Undo())
        assert isinstance(moved, SessionHeadMoved)
        assert (moved.files, said(bench)) == (False, ["first"])


async def test_files_that_go_back_alone_are_changes_by_a_person_and_redo_restores_them(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        start = bench.recorder.branches.undo_to
        assert start is not None
        found = await kinds(bench, Revert(to_seq=start, conversation=False))
        changed = [one for one in found if isinstance(one, FileChanged)]
        assert [(one.path, one.author) for one in changed] == [("a.txt", "human")]
        (moved,) = [one for one in found if isinstance(one, SessionHeadMoved)]
        assert (moved.reason, moved.files) == ("files", True)
        assert (files(tmp_path), said(bench)) == ({}, ["first"])
        await go(bench, Redo())
        assert (files(tmp_path), said(bench)) == ({"a.txt": "one"}, ["first"])


@pytest.mark.slow
async def test_redo_after_a_restored_conflict_restores_the_users_version_and_then_the_turn(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        (tmp_path / "workspace" / "a.txt").write_text("mine")
        await go(bench, Undo())
        to_seq = bench.recorder.branches.moves[-1].to_seq
        await go(bench, Revert(to_seq=to_seq, conversation=False, overwrite=("a.txt",)))
        assert (files(tmp_path), said(bench)) == ({}, [])
        await go(bench, Redo())
        assert (files(tmp_path), said(bench)) == ({"a.txt": "mine"}, [])
        await go(bench, Redo())
        assert (files(tmp_path), said(bench)) == ({"a.txt": "mine"}, ["first"])


async def test_files_that_all_stay_move_nothing(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        start = bench.recorder.branches.undo_to
        assert start is not None
        (tmp_path / "workspace" / "a.txt").write_text("mine")
        found = await kinds(bench, Revert(to_seq=start, conversation=False))
        assert not [one for one in found if isinstance(one, SessionHeadMoved)]
        assert files(tmp_path) == {"a.txt": "mine"}


async def test_the_very_first_event_can_be_gone_back_to_and_no_other_below_it(tmp_path: Path) -> None:
    async with told(tmp_path, say("A.")) as bench:
        await turn(bench, "first")
        last = bench.recorder.state.seq
        for seq in (last + 50, last + 51):
            await go(bench, Revert(to_seq=seq))
        rejected = bench.of(CommandRejected)
        assert [
            f"There is no event {seq}" in one.reason
            for seq, one in zip((last + 50, last + 51), rejected, strict=True)
        ]
        assert not bench.of(SessionHeadMoved)
        await go(bench, Revert(to_seq=0))
        assert said(bench) == []
        assert len(bench.of(SessionHeadMoved)) == 1


async def test_neither_conversation_nor_files_is_refused(tmp_path: Path) -> None:
    async with told(tmp_path, say("A.")) as bench:
        await turn(bench, "first")
        await go(bench, Revert(to_seq=1, conversation=False, files=False))
        (rejected,) = bench.of(CommandRejected)
        assert "Nothing to revert" in rejected.reason
        await go(bench, Redo())
        assert "Nothing to redo" in [str(one) for one in bench.of(CommandRejected)][-1]


async def test_only_settings_that_differ_are_set_again(tmp_path: Path) -> None:
    async with told(tmp_path, say("A.")) as bench:
        await turn(bench, "first")
        bench.submit(SetPolicy(policy="plan"))
        await bench.until("settings.changed")
        found = await kinds(bench, Undo())
        changed = [one for one in found if isinstance(one, SettingsChanged)]
        assert [(one.key, one.value, one.previous, one.changed_by) for one in changed] == [
            ("policy", "plan", "ask", "engine")
        ]


async def test_a_turn_that_is_gone_back_into_ends_there_and_one_that_ended_does_not_again(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        await turn(bench, "first")
        started = next(event.seq for event in bench.events if event.payload.kind == "turn.started")
        ended = next(event.seq for event in bench.events if event.payload.kind == "turn.finished")
        assert not [one for one in await kinds(bench, Revert(to_seq=ended)) if isinstance(one, TurnFinished)]
        found = [one for one in await kinds(bench, Revert(to_seq=started)) if isinstance(one, TurnFinished)]
        assert [(one.turn, one.reason, one.detail) for one in found] == [
            (1, "interrupted", "The session was reverted to the middle of this turn.")
        ]
        assert not bench.recorder.state.turn_running


async def test_a_plan_is_told_and_one_without_a_checkpoint_says_why(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A.")) as bench:
        bench.submit(PlanRevert(to_seq=0))
        await bench.until("checkpoint.planned")
        await turn(bench, "first")
        start = bench.recorder.branches.undo_to
        assert start is not None
        bench.submit(PlanRevert(to_seq=start))
        await bench.until("checkpoint.planned", 2)
        first, second = bench.of(CheckpointPlanned)
        assert (first.to_seq, first.changes, first.unavailable) == (
            0,
            (),
            "There is no checkpoint of the files yet.",
        )
        assert (second.to_seq, second.unlisted_count, second.unavailable) == (start, 0, "")
        assert [
            (one.path, one.operation, one.added, one.removed, one.conflict) for one in second.changes
        ] == [("a.txt", "remove", 0, 1, "")]


def shown_change(bench: Bench, tmp_path: Path) -> tuple[int, int, str]:
    """The lines that /diff adds and removes in the only changed file, and the row with the user's line.

    The newest content of the file is on the disk.
    """
    records = read_records(bench.recorder._log.folder)
    events = [record for record in current_branch(records) if isinstance(record, Envelope)]
    (change,) = net_file_changes(events, bench.recorder._log.blobs.find)
    disk = (tmp_path / "workspace" / change.path).read_bytes()
    assert change.after == hashlib.sha256(disk).hexdigest()
    return change.added, change.removed, next(row for row in change.hunks.split("\n") if "mine" in row)


async def test_a_line_of_the_users_that_stays_after_an_undo_is_in_the_diff_and_not_counted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "workspace" / "a.txt"
    answers = [write("a.txt", "a\\nb\\nc\\n"), say("A."), shell("echo d >> a.txt"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        path.write_text("a\nb\nc\nmine\n")
        await turn(bench, "second")
        assert shown_change(bench, tmp_path) == (4, 0, " mine")
        await go(bench, Undo())
        assert path.read_text() == "a\nb\nc\nmine\n"
        assert shown_change(bench, tmp_path) == (3, 0, " mine")
        await go(bench, Redo())
        assert shown_change(bench, tmp_path) == (4, 0, " mine")
        await go(bench, Undo())
        assert shown_change(bench, tmp_path) == (3, 0, " mine")


@pytest.mark.slow_variants
@pytest.mark.parametrize("sent", [SubmitPrompt, Queue], ids=["sent", "queued"])
@pytest.mark.parametrize("move", ["undo", "preview"])
async def test_a_message_sent_during_an_undo_or_its_preview_is_answered_after_it(
    tmp_path: Path, sent: type[SubmitPrompt | Queue], move: str
) -> None:
    async with told(tmp_path, write("a.py", "1"), say("Made."), say("Hello.")) as bench:
        await turn(bench, "make a.py")
        before = len(bench.events)
        bench.submit(Undo() if move == "undo" else PlanRevert(to_seq=bench.recorder.branches.undo_to or 0))
        bench.submit(sent(text="hello"))
        await bench.until("turn.finished", 2)
        kinds = [event.payload.kind for event in bench.events[before:]]
        ended = "session.head_moved" if move == "undo" else "checkpoint.planned"
        assert kinds.index(ended) < kinds.index("user.message")
        assert "user.queued" not in kinds
        assert bench.of(UserMessageReceived)[-1].text == "hello"
        assert files(tmp_path) == ({} if move == "undo" else {"a.py": "1"})
