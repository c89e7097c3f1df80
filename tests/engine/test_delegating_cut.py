"""A session with a delegation, taken up after a crash at any event, and taken back into its midst."""

import shutil
from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, running, say
from tests.engine.talks import Talks, rules, spawn, tools, use
from tests.stubs.legal_history import check_pairs
from tui_agent.protocol.commands import ContinueTurn, Revert, SubmitPrompt
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.tool import ToolFinished


def talks() -> Talks:
    return Talks(
        Main=[
            call(
                ("spawn_subtask", '{"prompt": "One: go"}'),
                ("spawn_subtask", '{"prompt": "Two: go", "allowed_tools": ["spawn_subtask", "glob"]}'),
            ),
            say("Done."),
        ],
        One=[use("write_file", path="a.txt", content="a"), say("Wrote it.")],
        Two=[spawn("Three: go"), say("It looked.")],
        Three=[use("glob", pattern="*"), say("Nothing.")],
    )


async def _recorded(tmp_path: Path) -> list[bytes]:
    async with running(
        tmp_path, [], tools(), session="ses_whole", delegation=rules(max_parallel=2, max_depth=2)
    ) as bench:
        bench.use(talks())
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("turn.finished")
    return (tmp_path / "sessions" / "ses_whole" / "events.jsonl").read_bytes().splitlines(keepends=True)


async def back(bench: Bench, seq: int) -> None:
    """Take the session back, and wait until the next command can be taken."""
    bench.submit(Revert(to_seq=seq, files=False))
    await bench.until("session.head_moved")
    settled = bench.kinds()[bench.kinds().index("session.head_moved") :]
    if "agent.state_changed" not in settled:
        await bench.until("agent.state_changed", bench.kinds().count("agent.state_changed") + 1)


def _ends(bench: Bench, lines: list[bytes]) -> tuple[int, int]:
    """How many delegates began, before the cut and after it, and how many ended."""
    begun = sum(b'"agent.spawned"' in line for line in lines) + len(bench.of(AgentSpawned))
    return begun, sum(b'"agent.finished"' in line for line in lines) + len(bench.of(AgentFinished))


@pytest.mark.slow
async def test_after_a_crash_at_any_event_every_delegate_has_ended_and_the_history_is_legal(
    tmp_path: Path,
) -> None:
    lines = await _recorded(tmp_path)
    (tmp_path / "workspace" / "a.txt").unlink()
    for cut in range(1, len(lines) + 1):
        folder = tmp_path / "sessions" / f"ses_cut{cut}"
        shutil.copytree(tmp_path / "sessions" / "ses_whole", folder)
        (folder / "events.jsonl").write_bytes(b"".join(lines[:cut]))
        async with running(tmp_path, [], session=f"ses_cut{cut}", serve=False) as bench:
            state = bench.recorder.state
            assert check_pairs(bench.recorder.messages()) == [], cut
            assert state.open_calls == () and state.open_requests == () and not state.turn_running, cut
            assert state.delegates == (), cut
            begun, ended = _ends(bench, lines[:cut])
            assert begun == ended, cut
            for number, event in enumerate(bench.events):
                if isinstance(event.payload, AgentFinished):
                    assert event.agent not in [one.agent for one in bench.events[number + 1 :]], cut


async def test_what_ran_below_is_lost_and_whoever_delegated_is_told_what_was_written(tmp_path: Path) -> None:
    lines = await _recorded(tmp_path)
    written = next(at for at, line in enumerate(lines) if b'"file.changed"' in line)
    folder = tmp_path / "sessions" / "ses_whole"
    (folder / "events.jsonl").write_bytes(b"".join(lines[: written + 1]))
    async with running(tmp_path, [], session="ses_whole", serve=False) as bench:
        closed = [one.payload for one in bench.events if isinstance(one.payload, ToolFinished)]
        below = [one for one in closed if one.name == "write_file"]
        above = [one for one in closed if one.name == "spawn_subtask" and "a.txt" in str(one.content)]
        assert [one.status for one in (*below, *above)] == ["lost", "lost"]
        assert "The delegate had already changed: a.txt (+1)." in str(above[0].content)
        ended = [one for one in bench.of(AgentFinished) if "a.txt" in one.files_created]  # type: ignore[attr-defined]
        assert [one.reason for one in ended] == ["interrupted"]  # type: ignore[attr-defined]


async def test_a_subtask_that_waited_for_another_when_the_program_ended_is_told_as_never_begun(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, [], tools(), session="ses_whole", delegation=rules(max_parallel=1)) as bench:
        both = call(("spawn_subtask", '{"prompt": "One: go"}'), ("spawn_subtask", '{"prompt": "Two: go"}'))

        async def both_called() -> None:
            await bench.until("tool.started", 2)

        answers = {"One": [[both_called, *say("1")]], "Two": [[both_called, *say("2")]]}
        bench.use(Talks(Main=[both, say("Done.")], **answers))
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("turn.finished")
    log = tmp_path / "sessions" / "ses_whole" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    begun = next(at for at, line in enumerate(lines) if b'"agent.spawned"' in line)
    while sum(b'"tool.started"' in line for line in lines[:begun]) < 2:
        begun += 1
    log.write_bytes(b"".join(lines[: begun + 1]))
    async with running(tmp_path, [], session="ses_whole", serve=False) as bench:
        closed = [one.payload for one in bench.events if isinstance(one.payload, ToolFinished)]
        assert sorted((one.status, one.summary) for one in closed) == [
            ("interrupted", "not started"),
            ("lost", "lost"),
        ]
        waited = next(one for one in closed if one.status == "interrupted")
        assert "never started" in str(waited.content) and check_pairs(bench.recorder.messages()) == []


async def test_a_session_taken_back_into_a_delegation_goes_on_from_there(tmp_path: Path) -> None:
    lines = await _recorded(tmp_path)
    inside = next(at for at, line in enumerate(lines) if b'"file.changed"' in line)
    async with running(tmp_path, [], tools(), session="ses_whole", delegation=rules(max_depth=2)) as bench:
        bench.use(Talks(Main=[say("unused"), say("I look at what was done.")]))
        await back(bench, inside)
        state = bench.recorder.state
        assert (state.delegates, state.open_calls) == ((), ())
        assert check_pairs(bench.recorder.messages()) == []
        bench.submit(ContinueTurn())
        await bench.until("turn.finished", 2)
        assert bench.recorder.state.last_turn_end == "finished"


async def test_a_delegates_name_is_never_used_twice_on_any_branch(tmp_path: Path) -> None:
    async with running(tmp_path, [], tools(), delegation=rules()) as bench:
        bench.use(
            Talks(
                Main=[spawn("One: go"), say("Done."), spawn("Two: go"), say("Again.")],
                One=[say("1")],
                Two=[say("2")],
            )
        )
        bench.submit(SubmitPrompt(text="Main: go"))
        first = await bench.until("turn.finished")
        begun = next(one.seq for one in bench.events if one.payload.kind == "user.message")
        assert first.seq > begun
        await back(bench, begun - 1)
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("agent.spawned", 2)
        names = [one.agent for one in bench.events if isinstance(one.payload, AgentSpawned)]
        assert names == ["subtask-1", "subtask-2"]
        await bench.until("turn.finished", 2)
