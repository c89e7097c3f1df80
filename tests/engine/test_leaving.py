"""A session that ends while its first checkpoint is taken: it ends at once, and what was not kept is none of its changes."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, running, say
from tests.engine.test_rewind import files, go, tools, turn, write
from tests.stubs.checkpoints import workspace
from tui_agent.protocol.commands import Close, Interrupt, Revert, SubmitPrompt
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.workspace.checkpoints.git_runner import ProgramResult, run_program
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

LONG_S = 20.0


class BlockedGit:
    """Runs git, but for a listing of files: that has not ended yet, whenever one looks."""

    def __init__(self) -> None:
        self.listing = anyio.Event()
        self.ended = 0

    async def __call__(
        self, argv: Sequence[str], stdin: bytes, env: Mapping[str, str], cwd: Path
    ) -> ProgramResult:
        if "ls-files" not in argv:
            return await run_program(argv, stdin, env, cwd)
        self.listing.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended += 1
        raise AssertionError


def store(tmp_path: Path, git: BlockedGit) -> GitCheckpoints:
    (tmp_path / "workspace").mkdir(exist_ok=True)
    place = tmp_path / "sessions" / "ses_test" / "checkpoints.git"
    return GitCheckpoints(tmp_path / "workspace", place, run=git)


@asynccontextmanager
async def until_its_end(bench: Bench) -> AsyncIterator[None]:
    """The engine serves what the block asks for, is closed, and ends."""
    with anyio.fail_after(LONG_S):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.engine.serve)
            yield
            bench.submit(Close(reason="done"))


@pytest.mark.parametrize("interactive", [True, False])
async def test_a_session_ends_though_its_first_checkpoint_is_not_taken_yet(
    tmp_path: Path, interactive: bool
) -> None:
    git = BlockedGit()
    kept = store(tmp_path, git)
    async with running(
        tmp_path, [say("Hi.")], checkpoints=kept, interactive=interactive, serve=False
    ) as bench:
        async with until_its_end(bench):
            await turn(bench, "hello")
            await git.listing.wait()
        assert not bench.of(ErrorRaised) and not bench.of(CheckpointTaken)
    assert git.ended == 1


async def test_a_call_that_waits_for_the_first_checkpoint_is_stopped_with_the_session(tmp_path: Path) -> None:
    git = BlockedGit()
    kept = store(tmp_path, git)
    answers = [write("a.txt", "one"), say("Written.")]
    async with running(tmp_path, answers, tools(), checkpoints=kept, serve=False) as bench:
        async with until_its_end(bench):
            bench.submit(SubmitPrompt(text="write"))
            await bench.until("permission.decided")
            await git.listing.wait()
        assert not bench.of(ErrorRaised) and not bench.of(CheckpointTaken)
    assert files(tmp_path) == {}


async def test_what_a_later_run_changes_is_taken_back_though_an_earlier_one_ended_without_a_checkpoint(
    tmp_path: Path,
) -> None:
    git = BlockedGit()
    kept = store(tmp_path, git)
    (tmp_path / "workspace" / "mine.txt").write_text("mine")
    async with (
        running(tmp_path, [say("Hi.")], checkpoints=kept, serve=False) as bench,
        until_its_end(bench),
    ):
        await turn(bench, "hello")
        await git.listing.wait()
    first = next(event.seq for event in bench.events if isinstance(event.payload, UserMessageReceived))
    answers = [write("a.txt", "one"), write("b.txt", "two"), say("Written.")]
    async with running(tmp_path, answers, tools(), checkpoints=True) as bench:
        await turn(bench, "write")
        assert files(tmp_path) == {"a.txt": "one", "b.txt": "two", "mine.txt": "mine"}
        await go(bench, Revert(to_seq=first))
    assert files(tmp_path) == {"mine.txt": "mine"}


@pytest.mark.slow_variants
@pytest.mark.parametrize("stopped", [True, False])
async def test_a_run_that_was_stopped_does_no_upkeep_at_its_end(tmp_path: Path, stopped: bool) -> None:
    folder = workspace(tmp_path, repository=True)
    answers = [write("a.txt", "one"), [anyio.sleep_forever] if stopped else say("Written.")]
    async with running(
        tmp_path, answers, tools(), checkpoints=True, workspace=folder, interactive=False, serve=False
    ) as bench:
        async with until_its_end(bench):
            bench.submit(SubmitPrompt(text="write"))
            await bench.until("model.requested", 2)
            if stopped:
                bench.submit(Interrupt())
            await bench.until("turn.finished")
        assert len(bench.of(CheckpointTaken)) == 2
    store = tmp_path / "sessions" / "ses_test" / "checkpoints.git"
    assert (store / "objects" / "info" / "alternates").exists() == stopped
