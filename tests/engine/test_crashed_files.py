"""Files that a session had changed when it crashed stay the session's own, so that going back takes them back."""

import json
from pathlib import Path

import pytest

from tests.engine.harness import Bench, QuickClock, call, running, say
from tests.engine.test_rewind import files, go
from tests.stubs.tool_context import tools_of
from tui_agent.folds.transcript.entries import TurnEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.commands import SubmitPrompt, Undo
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged


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


@pytest.mark.slow_variants
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
        authors = [each.author for each in bench.of(CheckpointTaken)]
    assert not (tmp_path / "workspace" / "a.txt").exists()
    if opened_before or kind == "checkpoint.taken":
        assert (tmp_path / "workspace" / "mine.txt").read_text() == "mine", authors


class SlowClock(QuickClock):
    """Behind the file system's: to it all that changes is of later."""

    def now(self) -> float:
        return super().now() - 100


SCRIPT = "printf 'new\\nline\\n' > made; rm gone; printf 'two\\nmore\\n' > both"


async def _cut_command(tmp_path: Path, kind: str, *, last: bool = False, behind: bool = False) -> None:
    """A turn whose command makes, changes and removes a file, ended by a crash before an event of this kind behind its start
    (`last`: the last one of that kind). `behind`: what the command did came long after the newest event."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    for name in ("gone", "both"):
        (folder / name).write_text("one\n")
    answers = [call(("run_command", f'{{"command": "{SCRIPT}"}}'.replace("\\", "\\\\"))), say("Done.")]
    clock = SlowClock() if behind else QuickClock()
    shell = list(tools_of("shell").values())
    async with running(tmp_path, answers, shell, checkpoints=True, clock=clock) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    _cut(tmp_path, kind, last=last)


def _cut(tmp_path: Path, kind: str, *, last: bool = False) -> None:
    path = tmp_path / "sessions" / "ses_test" / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if b'"kind":"tool.started"' in line)
    ends = [at for at, line in enumerate(lines) if at > start and b'"kind":"%b"' % kind.encode() in line]
    path.write_bytes(b"".join(lines[: ends[-1 if last else 0]]))


def _authors(bench: Bench) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.author, one.paths) for one in bench.of(CheckpointTaken)]


def _lines(tmp_path: Path) -> tuple[int, int]:
    log = tmp_path / "sessions" / "ses_test" / "events.jsonl"
    told = [json.loads(line)["payload"] for line in log.read_text().splitlines()]
    changes = [one for one in told if one["kind"] == "file.changed"]
    return sum(one["added"] for one in changes), sum(one["removed"] for one in changes)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("kind", "last"),
    [("checkpoint.taken", False), ("tool.finished", False), ("file.changed", True), ("file.changed", False)],
)
async def test_what_a_command_changed_stays_the_sessions_wherever_the_program_was_killed(
    tmp_path: Path, kind: str, last: bool
) -> None:
    await _cut_command(tmp_path, kind, last=last)
    async with running(tmp_path, [], checkpoints=True) as bench:
        await bench.until("checkpoint.taken")
        assert _authors(bench) == [("command", ("both", "gone", "made"))]
        assert _lines(tmp_path) == (4, 2)
        await go(bench, Undo())
    assert files(tmp_path) == {"both": "one\n", "gone": "one\n"}


async def test_a_message_sent_at_once_begins_after_the_lost_changes_are_checkpointed(tmp_path: Path) -> None:
    await _cut_command(tmp_path, "file.changed")
    async with running(tmp_path, [say("Hi.")], checkpoints=True) as bench:
        bench.submit(SubmitPrompt(text="go on"))
        await bench.until("turn.finished", 2)
        transcript = Transcript()
        for record in bench.recorder.records_after(-1):
            if isinstance(record, Envelope):
                transcript.apply(record)
    turns = [entry for entry in transcript.view().entries if isinstance(entry, TurnEntry)]
    assert [(turn.files, turn.added, turn.removed) for turn in turns] == [(3, 4, 2), (0, 0, 0)]
    assert not any(turn.has_unknown_changes for turn in turns)


@pytest.mark.slow
async def test_a_resume_that_is_killed_before_its_checkpoint_changes_nothing_of_that(tmp_path: Path) -> None:
    await _cut_command(tmp_path, "checkpoint.taken")
    for cut in ("checkpoint.taken", "run.resumed"):
        async with running(tmp_path, [], checkpoints=True) as bench:
            await bench.until("checkpoint.taken")
        _cut(tmp_path, cut, last=True)
    (tmp_path / "workspace" / "mine").write_text("mine")
    async with running(tmp_path, [], checkpoints=True) as bench:
        await bench.until("checkpoint.taken", 2)
        assert _authors(bench) == [("command", ("both", "gone", "made")), ("human", ("mine",))]
        await go(bench, Undo())
    assert files(tmp_path) == {"both": "one\n", "gone": "one\n", "mine": "mine"}


async def test_what_a_person_writes_over_a_command_s_file_before_the_resume_is_asked_about(
    tmp_path: Path,
) -> None:
    await _cut_command(tmp_path, "checkpoint.taken")
    (tmp_path / "workspace" / "both").write_text("two\nmore\nmine\n")
    async with running(tmp_path, [], checkpoints=True) as bench:
        await bench.until("checkpoint.taken")
        assert _lines(tmp_path) == (5, 2)
        changed = bench.of(FileChanged)
        assert [(one.path, one.author, one.added) for one in changed] == [("both", "human", 1)]
        await go(bench, Undo())
        restored = bench.of(CheckpointRestored)
    assert restored[-1].skipped_paths == ("both",)
    assert files(tmp_path) == {"both": "two\nmore\nmine\n", "gone": "one\n"}


@pytest.mark.slow
async def test_what_changes_long_after_a_run_broke_off_in_a_command_is_asked_about(tmp_path: Path) -> None:
    await _cut_command(tmp_path, "file.changed", behind=True)
    (tmp_path / "workspace" / "mine").write_text("mine")
    before = files(tmp_path)
    async with running(tmp_path, [], checkpoints=True) as bench:
        await bench.until("checkpoint.taken")
        await go(bench, Undo())
        restored = bench.of(CheckpointRestored)
        assert not restored or restored[-1].skipped_paths == ("both", "gone", "made", "mine")
    assert files(tmp_path) == before
