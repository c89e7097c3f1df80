"""What was taken back before a fork is no part of it, so nothing there brings it again."""

from pathlib import Path

from tests.engine.harness import running, say
from tests.stubs.store import store
from tui_agent.protocol.commands import Redo, SubmitPrompt, Undo
from tui_agent.protocol.events.session import CommandRejected


async def test_a_redo_of_what_a_fork_does_not_hold_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, [say("A."), say("B.")]) as bench:
        for number, text in enumerate(("one", "two"), 1):
            bench.submit(SubmitPrompt(text=text))
            await bench.until("turn.finished", number)
        bench.submit(Undo())
        moved = (await bench.until("session.head_moved")).seq
        await bench.until("agent.state_changed", bench.kinds().count("agent.state_changed") + 1)
    store(tmp_path).fork("ses_test", moved, "ses_fork")
    async with running(tmp_path, [], session="ses_fork") as fork:
        before = fork.recorder.state.settings
        fork.submit(Redo())
        await fork.until("command.rejected")
        (rejected,) = fork.of(CommandRejected)
        assert "in this session" in rejected.reason
        assert "session.head_moved" not in fork.kinds() and fork.recorder.state.settings == before
    async with running(tmp_path, []) as parent:
        parent.submit(Redo())
        await parent.until("session.head_moved")
