"""Checkpoints are checked while the agent works: feedback after a turn, the first one that passes wins."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import pytest

from tui_agent.cli.main import main
from tui_agent.evals.cases.case import parse_case
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.run_folder import CellResult, RunFolder
from tui_agent.export.trajectory.parquet import read_trace
from tui_agent.export.trajectory.trajectory_file import BUNDLE, TRACE
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived
from tui_agent.store.log_reader import read_records

Answer: TypeAlias = dict[str, object]


def edit(name: str, old: str, new: str) -> Answer:
    return {"calls": [{"edit_file": {"path": name, "old_text": old, "new_text": new}}]}


FIRST_TURN: list[Answer] = [edit("a", "0", "1"), {"text": "Done."}]
SECOND_TURN: list[Answer] = [edit("b", "0", "1"), {"calls": [{"run_command": {"command": "sleep 60"}}]}]
NEVER: list[Answer] = [edit("a", "1", "2"), {"text": "Done again."}]


async def run(
    tmp_path: Path,
    oracle: list[Answer],
    evaluate: Literal["end", "commits"] = "commits",
    **fields: object,
) -> CellResult:
    case = parse_case(
        {
            "prompt": "Make them 1.",
            "files": {"a": "0\n", "b": "0\n"},
            "test_command": "grep 1 {path}",
            "test_paths": ["a", "b"],
            "oracle": oracle,
            **fields,
        },
        tmp_path / "case.toml",
    )
    arm = Arm(name=ORACLE, model=ORACLE)
    plan = Plan(suite="s", suite_name="s", here=tmp_path, arms=(arm,), cases=(case.id,), evaluate=evaluate)
    (cell,) = plan.cells()
    return await run_cell(plan, RunFolder(tmp_path / "run"), case, cell)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


async def test_the_first_checkpoint_that_passes_stops_the_run_and_ends_its_trace(tmp_path: Path) -> None:
    result = await run(tmp_path, FIRST_TURN + SECOND_TURN + NEVER)
    data = tmp_path / "run" / "data"
    events = [
        record.payload
        for record in read_records(data / "sessions" / result.session)
        if isinstance(record, Envelope)
    ]
    ends = [event.reason for event in events if isinstance(event, TurnFinished)]
    assert (result.passed, result.end, ends) == (True, "solved", ["finished", "interrupted"])
    first, feedback = (event.text for event in events if isinstance(event, UserMessageReceived))
    assert (first, str(feedback).splitlines()[0]) == (
        "Make them 1.",
        "The task is not solved yet: 1 of 2 test commands pass.",
    )
    turn_end = next(index for index, event in enumerate(events) if isinstance(event, TurnFinished))
    message = next(index for index, event in enumerate(events) if getattr(event, "text", "") == feedback)
    blocking = [event.command for event in events[turn_end:message] if isinstance(event, TestFinished)]
    assert blocking[-2:] == ["grep 1 a", "grep 1 b"]

    trace = read_trace(data / "trajectories" / result.session / TRACE)
    last, end = trace.parts[-1], trace.run.session_end
    assert end is not None
    assert (last.part, last.git_commit, end.final_git_commit) == (
        result.winner_part,
        result.winner,
        result.winner,
    )
    assert last.testing_state is not None
    assert (last.testing_state.solved_paths, last.testing_state.total_paths) == (2, 2)
    bundle = data / "trajectories" / result.session / BUNDLE
    heads = await anyio.run_process(["git", "bundle", "list-heads", str(bundle)])
    assert set(heads.stdout.decode().split()[::2]) == {result.winner}


@pytest.mark.slow
async def test_a_turn_that_changes_no_file_ends_the_run(tmp_path: Path) -> None:
    result = await run(tmp_path, [*FIRST_TURN, {"text": "I see no fault."}, *NEVER])
    assert (result.passed, result.tests, result.end, result.winner) == (False, False, "unsolved", "")


@pytest.mark.slow
async def test_a_turn_limit_is_the_cause_if_it_keeps_the_agent_from_going_on(tmp_path: Path) -> None:
    follow_ups = ["Make b 1."]
    more: dict[str, dict[str, object]] = {"end": {"follow_ups": follow_ups}, "commits": {}}
    for evaluate, fields in more.items():
        folder = tmp_path / evaluate
        mode: Literal["end", "commits"] = "commits" if evaluate == "commits" else "end"
        result = await run(folder, FIRST_TURN + SECOND_TURN, mode, budgets={"max_turns": 1}, **fields)
        assert (result.passed, result.failure, result.end) == (False, "budget", "turn_limit"), evaluate
        assert "limit of " in result.detail and "--max-turns raises it" in result.detail
    ended_itself = [*FIRST_TURN, {"text": "I see no fault."}]
    result = await run(tmp_path / "itself", ended_itself, budgets={"max_turns": 2})
    assert (result.failure, result.end) == ("tool", "unsolved")


@pytest.mark.slow
async def test_the_checkpoints_of_a_recorded_session_are_checked_offline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [edit("a", "0", "1"), edit("b", "0", "1"), edit("a", "1", "2"), {"text": "Done."}]
    result = await run(tmp_path, steps, evaluate="end")
    data = str(tmp_path / "run" / "data")
    words = ["eval", "commits", result.session, "--data-dir", data, "-C", str(tmp_path)]

    def check(*more: str) -> tuple[int, list[tuple[object, ...]], str]:
        status = main([*words, *more])
        out, err = capsys.readouterr()
        rows = [json.loads(line) for line in out.splitlines()] if "--json" in more else []
        return status, [(row["solved"], row["commands"], row["passed"]) for row in rows], out + err

    def in_thread(*more: str) -> tuple[int, list[tuple[object, ...]], str]:
        with ThreadPoolExecutor(1) as pool:  # the command has an event loop of its own
            return pool.submit(check, *more).result()

    assert in_thread("--test", "grep 1 a && grep 1 b", "--json")[:2] == (
        0,
        [(0, 1, False), (0, 1, False), (1, 1, True), (0, 1, False)],
    )
    status, _, shown = in_thread("--test", "grep 1 b")
    assert status == 0 and "are the first that pass all checks" in shown
    head, *lines = shown.splitlines()
    assert head.split() == ["part", "checkpoint", "tests", "verifier", "result"]
    assert [line[head.index("result") :] for line in lines if line.endswith("passed")] == ["passed"] * 2
    assert in_thread("--test", "false")[0] == 1
    assert "The suite has no case" in in_thread("--suite", "bench-20")[2]
    assert "There is no suite 's'" in in_thread()[2]
