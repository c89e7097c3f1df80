"""Who decides before the look at the files has ended goes behind it, and is not refused."""

from pathlib import Path

from tests.engine.harness import say
from tests.engine.test_rewind import told, turn, write
from tui_agent.protocol.commands import PlanRevert, Revert, SubmitPrompt
from tui_agent.protocol.events.session import CommandRejected


async def test_a_revert_that_is_decided_while_the_files_are_looked_at_goes_behind_the_look(
    tmp_path: Path,
) -> None:
    async with told(
        tmp_path, write("a.txt", "one"), say("First."), write("b.txt", "two"), say("Second.")
    ) as bench:
        await turn(bench, "first")
        back_to = bench.recorder.state.seq
        await turn(bench, "second")
        bench.submit(PlanRevert(to_seq=back_to))
        bench.submit(Revert(to_seq=back_to))
        await bench.until("session.head_moved")
        await bench.until("checkpoint.restored")
        kinds = bench.kinds()
        assert "command.rejected" not in kinds
        assert kinds.index("checkpoint.planned") < kinds.index("session.head_moved")
        assert not (tmp_path / "workspace" / "b.txt").exists()


async def test_a_message_that_came_before_it_wins(tmp_path: Path) -> None:
    async with told(tmp_path, say("First."), say("Second.")) as bench:
        await turn(bench, "first")
        bench.submit(PlanRevert(to_seq=1))
        bench.submit(SubmitPrompt(text="second"))
        bench.submit(Revert(to_seq=1))
        await bench.until("turn.finished", 2)
        assert [rejected.command for rejected in bench.of(CommandRejected)] == ["revert"]
        assert "session.head_moved" not in bench.kinds()
