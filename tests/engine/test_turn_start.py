"""The user's own edits between turns: part of no turn, kept by an undo, and in a fork of the turn's start."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.engine.harness import Bench, running, say
from tests.engine.test_rewind import files, go, shell, told, tools, turn, write
from tui_agent.protocol.commands import ContinueTurn, Redo, Revert, SetBudgets, Undo
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.settings import Budgets
from tui_agent.session.fork import find_files_at
from tui_agent.workspace.checkpoints.git_runner import ProgramResult, run_program
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

AGENT_LINE = "printf 'agent\\\\n' >> a.txt"


def place(tmp_path: Path, name: str = "a.txt") -> Path:
    return tmp_path / "workspace" / name


def message_seq(bench: Bench, number: int) -> int:
    """The event of the user's message with this number, from 1."""
    seqs = [event.seq for event in bench.events if event.payload.kind == "user.message"]
    return seqs[number - 1]


def skipped(bench: Bench) -> tuple[str, ...]:
    """The files that the newest restore kept."""
    restored = bench.of(CheckpointRestored)[-1]
    return restored.skipped_paths


async def test_undo_restores_the_users_version_at_the_turns_start(tmp_path: Path) -> None:
    answers = (write("a.txt", "one"), say("A."), shell(AGENT_LINE), say("B."))
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        place(tmp_path).write_text("one\nmine\n")
        place(tmp_path, "mine.txt").write_text("mine")
        await turn(bench, "second")
        assert place(tmp_path).read_text() == "one\nmine\nagent\n"
        await go(bench, Undo())
        assert (files(tmp_path), skipped(bench)) == ({"a.txt": "one\nmine\n", "mine.txt": "mine"}, ())
        await go(bench, Redo())
        assert (files(tmp_path), skipped(bench)) == (
            {"a.txt": "one\nmine\nagent\n", "mine.txt": "mine"},
            (),
        )


async def test_the_start_of_the_first_turn_has_the_users_edits_since_the_session_began(
    tmp_path: Path,
) -> None:
    place(tmp_path).parent.mkdir()
    place(tmp_path).write_text("old\n")
    async with told(tmp_path, say("A."), shell(AGENT_LINE), say("B.")) as bench:
        await turn(bench, "hello")
        place(tmp_path).write_text("mine\n")
        await turn(bench, "work")
        await go(bench, Undo())
        assert (files(tmp_path), skipped(bench)) == ({"a.txt": "mine\n"}, ())


async def test_what_the_user_removed_and_the_agent_made_again_goes_with_the_turn(tmp_path: Path) -> None:
    make = shell("mkdir -p .venv dist; for i in $(seq 9); do echo $i > .venv/m$i.py; done; echo x > dist/a")
    async with told(tmp_path, make, say("A."), make, say("B.")) as bench:
        await turn(bench, "first")
        shutil.rmtree(place(tmp_path, ".venv"))
        shutil.rmtree(place(tmp_path, "dist"))
        await turn(bench, "second")
        place(tmp_path, ".venv/m1.py").write_text("mine")
        await go(bench, Undo())
        assert files(tmp_path) == {".venv/m1.py": "mine"}
        restored = bench.of(CheckpointRestored)[-1]
        assert (restored.paths, restored.skipped_paths) == (("dist/a",), ())
        assert [(folder.path, folder.files, folder.conflicts) for folder in restored.folders] == [
            (".venv/", 8, 1)
        ]


async def test_going_back_past_a_removal_by_the_user_removes_what_the_agent_made_again(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), write("a.txt", "two"), say("B.")) as bench:
        await turn(bench, "first")
        place(tmp_path).unlink()
        await turn(bench, "second")
        await go(bench, Revert(to_seq=message_seq(bench, 1) - 1))
        assert (files(tmp_path), skipped(bench)) == ({}, ())


async def test_going_back_past_an_edit_by_the_user_asks(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), shell(AGENT_LINE), say("B.")) as bench:
        await turn(bench, "first")
        place(tmp_path).write_text("mine\n")
        await turn(bench, "second")
        await go(bench, Revert(to_seq=message_seq(bench, 1) - 1))
        assert (files(tmp_path), skipped(bench)) == ({"a.txt": "mine\nagent\n"}, ("a.txt",))


async def test_an_edit_during_the_turn_is_asked_about(tmp_path: Path) -> None:
    edit = "echo agent > a.txt; echo done > b.txt"
    answers = (shell(edit), shell("echo more >> a.txt"), say("B."))

    def edit_between_the_calls(event: Envelope) -> None:
        if isinstance(event.payload, CheckpointTaken) and event.payload.paths == ("a.txt", "b.txt"):
            place(tmp_path).write_text("mine\n")

    async with told(tmp_path, *answers, on_event=edit_between_the_calls) as bench:
        await turn(bench, "work")
        await go(bench, Undo())
        assert (files(tmp_path), skipped(bench)) == ({"a.txt": "mine\nmore\n"}, ("a.txt",))


async def test_a_turn_that_changes_nothing_leaves_the_users_files(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), say("B.")) as bench:
        await turn(bench, "first")
        place(tmp_path).write_text("mine")
        await turn(bench, "second")
        place(tmp_path).write_text("mine too")
        await go(bench, Undo())
        assert files(tmp_path) == {"a.txt": "mine too"}


@pytest.mark.slow
async def test_a_turn_that_goes_on_without_a_message_has_a_start_of_its_own(tmp_path: Path) -> None:
    limit = Budgets(max_iterations=1)
    async with told(tmp_path, write("a.txt", "one"), shell(AGENT_LINE), budgets=limit) as bench:
        await turn(bench, "first")
        place(tmp_path).write_text("mine\n")
        ended = bench.kinds().count("turn.finished")
        bench.submit(SetBudgets(budgets=Budgets()))
        bench.submit(ContinueTurn())
        await bench.until("turn.finished", ended + 1)
        await go(bench, Undo())
        assert (files(tmp_path), skipped(bench)) == ({"a.txt": "mine\n"}, ())


async def test_a_fork_of_the_turns_start_has_the_users_version(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), shell(AGENT_LINE), say("B.")) as bench:
        await turn(bench, "first")
        end, folder = bench.recorder.state, tmp_path / "sessions" / "ses_test"
        place(tmp_path).write_text("mine\n")
        await turn(bench, "second")
        start = message_seq(bench, 2) - 1
        human = [one for one in bench.of(CheckpointTaken) if one.as_of_seq][-1]
        assert (human.author, human.as_of_seq) == ("human", start)
        assert bench.recorder.commit_at(start) == human.commit
        assert find_files_at(folder, start).commit == human.commit
        assert find_files_at(folder, end.seq - 1).commit == end.commit


async def test_the_start_of_a_turn_costs_no_process_before_the_first_request(tmp_path: Path) -> None:
    """The user's edits are found with what the first call needs anyway, and cost one checkpoint of their own."""
    commands: list[str] = []
    before_request: list[int] = []

    async def run(argv: Sequence[str], stdin: bytes, env: Mapping[str, str], cwd: Path) -> ProgramResult:
        commands.append("commit-tree" if "commit-tree" in argv else "other")
        return await run_program(argv, stdin, env, cwd)

    def on_event(event: Envelope) -> None:
        if event.payload.kind == "model.requested":
            before_request.append(len(commands))

    place(tmp_path).parent.mkdir()
    store = GitCheckpoints(tmp_path / "workspace", tmp_path / "checkpoints.git", run=run)
    answers = (write("a.txt", "one"), say("A."), say("B."), write("b.txt", "one"), say("C."))
    answers += (write("c.txt", "one"), say("D."))
    async with running(tmp_path, answers, tools(), checkpoints=store, on_event=on_event) as bench:
        await bench.until("agent.state_changed")
        counts = []
        for number in range(4):
            if number == 3:
                place(tmp_path).write_text("mine")
            commands.clear()
            before_request.clear()
            await turn(bench, f"message {number}")
            counts.append((before_request[0], len(commands), commands.count("commit-tree")))
    (_, talk, unchanged, changed) = counts
    assert talk == (0, 0, 0)
    assert (unchanged[0], unchanged[2]) == (0, 1), "the call's own checkpoint"
    assert (changed[0], changed[2]) == (0, 2), "and the user's"
