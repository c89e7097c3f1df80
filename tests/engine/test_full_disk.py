"""A disk that is full at any event: told, nothing runs unrecorded, and once there is space the session goes on."""

import errno
from pathlib import Path

import pytest

from tests.engine.harness import EchoTool, call, running, say
from tests.stubs.legal_history import check_pairs
from tui_agent.folds.projection import fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.store.file_ops import FileOps
from tui_agent.store.log_reader import read_records


class Disk(FileOps):
    """The real files, until `full`."""

    full = False

    def write(self, fd: int, data: bytes) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(fd, data)


def _ended(kinds: list[str]) -> bool:
    """Whether the turn is over, to its last event."""
    return "turn.finished" in kinds and kinds[-1] == "agent.state_changed"


async def _filled_after(tmp_path: Path, number: int) -> bool:
    """A turn on a disk that is full from its `number`-th event on; False when the turn has fewer."""
    disk = Disk()
    write = EchoTool("write", safe=False, writes=True)
    answers = [call(("write", '{"words":"a"}'), ("write", '{"words":"b"}'), text="Two."), say("Done.")]
    async with running(tmp_path, answers, [write], session=f"ses_{number}", ops=disk) as bench:
        ran_before: list[int] = []
        await bench.until("agent.state_changed")
        last = len(bench.events) + number

        def fill(event: Envelope) -> None:
            if len(bench.events) == last:
                disk.full = True
                ran_before.append(len(write.ran))

        bench.on_event = fill
        bench.submit(SubmitPrompt(text="go"))
        await bench.until_so(lambda: bench.troubles or _ended(bench.kinds()))
        if not bench.troubles:
            assert bench.recorder.state.last_turn_end == "finished"
            return False
        stored = bench.kinds()
        assert "space" in str(bench.troubles[0]), number
        assert len(write.ran) <= ran_before[0] + (stored[-1] == "tool.started"), number
        disk.full = False
        bench.on_event = None
        bench.model.answers[:] = [say("Here again.")]
        bench.submit(SubmitPrompt(text="and now?"))
        await bench.until("turn.finished", stored.count("turn.finished") + 1)
        assert bench.recorder.state.last_turn_end == "finished", number
        assert check_pairs(bench.model.requests[-1].messages) == [], number
        state = bench.recorder.state
    records = read_records(tmp_path / "sessions" / f"ses_{number}")
    assert [record.seq for record in records] == list(range(len(records)))
    assert fold(SessionState(), records) == state, number
    return True


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_disk_that_fills_up_after_any_event_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    number = 1
    while await _filled_after(tmp_path, number):
        number += 1
    assert number > 15
