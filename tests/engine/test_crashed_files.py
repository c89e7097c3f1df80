"""Files that a session had changed when it crashed stay the session's own, so that going back takes them back."""

from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.protocol.commands import SubmitPrompt, Undo
from tui_agent.protocol.events.files import CheckpointTaken


async def _crashed(tmp_path: Path, kind: str) -> None:
    """A turn that writes a.txt, ended by a crash before the event of this kind behind the call's start."""
    answers = [call(("write_file", '{"path": "a.txt", "content": "one"}')), say("Done.")]
    async with running(tmp_path, answers, list(tools_of("files").values()), checkpoints=True) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    path = tmp_path / "sessions" / "ses_test" / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if b'"kind":"tool.started"' in line)
    end = next(at for at, line in enumerate(lines) if at > start and b'"kind":"%b"' % kind.encode() in line)
    path.write_bytes(b"".join(lines[:end]))


@pytest.mark.parametrize("kind", ["checkpoint.taken", "tool.finished", "file.changed"])
@pytest.mark.parametrize("opened_before", [0, 1])
async def test_an_undo_takes_back_what_a_crash_kept_from_its_checkpoint(
    tmp_path: Path, kind: str, opened_before: int
) -> None:
    await _crashed(tmp_path, kind)
    for _ in range(opened_before):
        async with running(tmp_path, [], checkpoints=True) as bench:
            await bench.until("checkpoint.taken")
    (tmp_path / "workspace" / "mine.txt").write_text("mine")
    async with running(tmp_path, [], checkpoints=True) as bench:
        if not opened_before:
            await bench.until("checkpoint.taken")
        bench.submit(Undo())
        await bench.until("session.head_moved")
        await bench.until("checkpoint.restored")
        authors = [each.author for each in bench.of(CheckpointTaken) if isinstance(each, CheckpointTaken)]
    assert not (tmp_path / "workspace" / "a.txt").exists()
    if opened_before or kind == "checkpoint.taken":
        assert (tmp_path / "workspace" / "mine.txt").read_text() == "mine", authors
