"""The pool of cells: attempts after a lost process or a provider's failure, and what is done stays done."""

import os
from pathlib import Path

import pytest

from tests.stubs.cells import plan, result
from tui_agent.errors import ConfigError
from tui_agent.evals.runs import cell_main, pool
from tui_agent.evals.runs.arms_and_cells import Cell, ablation_arms, matrix_arms
from tui_agent.evals.runs.pool import (
    FAULT_STATUS,
    REFUSED_STATUS,
    CellFault,
    CellRetry,
    run_pool,
    share_cell_lock,
    wait_for_cells,
)
from tui_agent.evals.runs.run_folder import CellResult, RunFolder


class Attempts:
    """Plays the attempts of cells: each is an exit status, or the changes of a stored result."""

    def __init__(self, *played: int | dict[str, object]) -> None:
        self._played = list(played)
        self.ended: list[CellResult | CellFault] = []
        self.retries: list[CellRetry] = []

    async def run(self, run: RunFolder, cell: Cell) -> tuple[int, str]:
        played = self._played.pop(0)
        if isinstance(played, int):
            return played, f"status {played}"
        run.save_result(cell, result(cell, **played))
        return 0, ""

    def report(self, cell: Cell, outcome: CellResult | CellFault | CellRetry) -> None:
        if isinstance(outcome, CellRetry):
            self.retries.append(outcome)
        else:
            self.ended.append(outcome)


async def end_of(
    tmp_path: Path, *played: int | dict[str, object], preemptible: bool = False
) -> CellResult | CellFault:
    made, attempts = plan("a").model_copy(update={"preemptible": preemptible}), Attempts(*played)
    await run_pool(RunFolder(tmp_path), made, list(made.cells()), 1, attempts.report, attempts.run, 0.0)
    (ended,) = attempts.ended
    return ended


SPOILED: dict[str, object] = {"passed": False, "instability": True, "interrupted": True}


async def test_what_is_lost_or_spoiled_by_the_provider_runs_again(tmp_path: Path) -> None:
    rows: list[tuple[tuple[int | dict[str, object], ...], tuple[object, ...]]] = [
        (({},), (True, 1, False)),
        ((-9, {}), (True, 2, False)),
        ((SPOILED, {}), (True, 2, False)),
        ((SPOILED, SPOILED, SPOILED), (False, 3, True)),
    ]
    for number, (played, wanted) in enumerate(rows):
        ended = await end_of(tmp_path / str(number), *played)
        assert isinstance(ended, CellResult)
        assert (ended.passed, ended.attempts, ended.instability) == wanted


async def test_a_preemptible_machine_that_was_lost_is_no_result(tmp_path: Path) -> None:
    interrupted = {"passed": False, "failure": "environment", "end": "env_error", "interrupted": True}
    lost: list[int | dict[str, object]] = [interrupted, interrupted]
    kept = await end_of(tmp_path / "kept", *lost)
    assert isinstance(kept, CellResult) and (kept.passed, kept.attempts) == (False, 1)
    for number, (played, attempts) in enumerate([((*lost, {}), 3), ((*lost * 5, {}), 10)]):
        ended = await end_of(tmp_path / str(number), *played, preemptible=True)
        assert isinstance(ended, CellResult) and ended.attempts == attempts
        assert ended.passed == (attempts == 3)


async def test_what_would_fail_again_is_not_tried_again(tmp_path: Path) -> None:
    lasting = {"passed": False, "failure": "environment", "end": "env_error"}
    ended = await end_of(tmp_path / "result", lasting, {}, preemptible=True)
    assert isinstance(ended, CellResult) and (ended.passed, ended.attempts) == (False, 1)
    for status in (0, 1, FAULT_STATUS):
        fault = await end_of(tmp_path / f"status-{status}", status, {}, preemptible=True)
        assert isinstance(fault, CellFault) and fault.reason == f"status {status}"


async def test_each_further_attempt_is_reported_with_its_reason_and_pauses_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: dict[str, object] = {"passed": False, "interrupted": True, "detail": "no answer"}
    monkeypatch.setattr(pool, "MAX_PAUSE_S", 0.0)
    made, attempts = plan("a").model_copy(update={"preemptible": True}), Attempts(-9, *[lost] * 9)
    await run_pool(RunFolder(tmp_path), made, list(made.cells()), 1, attempts.report, attempts.run)
    assert attempts.retries == [CellRetry(1, "status -9", 0.0)] + [
        CellRetry(attempt, "no answer", 0.0) for attempt in range(2, 10)
    ]


async def test_a_cell_without_a_result_is_named_with_the_reason(tmp_path: Path) -> None:
    for number, (played, reason) in enumerate([((FAULT_STATUS,), "status 2"), ((-9, -9, -11), "status -11")]):
        ended = await end_of(tmp_path / str(number), *played)
        assert isinstance(ended, CellFault) and ended.reason == reason


async def test_the_other_cells_of_a_refused_case_do_not_run(tmp_path: Path) -> None:
    made = plan("a", "b", cases=("one", "two"), repetitions=2)
    attempts = Attempts(REFUSED_STATUS, {}, {}, {}, {})
    await run_pool(RunFolder(tmp_path), made, list(made.cells()), 1, attempts.report, attempts.run, 0.0)
    assert attempts.ended[:4] == [CellFault(next(made.cells()), "status 3", is_of_case=True)] * 4
    assert [ended.case for ended in attempts.ended[4:] if isinstance(ended, CellResult)] == ["two"] * 4


def test_a_damaged_result_counts_as_not_done_and_another_plan_is_refused(tmp_path: Path) -> None:
    run, made = RunFolder(tmp_path), plan("a", "b", repetitions=2)
    run.save_plan(made)
    run.save_plan(made)
    cells = list(made.cells())
    assert [cell.name for cell in cells] == ["one/a-1", "one/b-1", "one/a-2", "one/b-2"]
    run.save_result(cells[0], result(cells[0]))
    assert run.load_result(cells[0]) == result(cells[0])
    file = run.cell_folder(cells[0]) / "result.json"
    file.write_bytes(file.read_bytes()[:40])
    assert run.load_result(cells[0]) is None
    with pytest.raises(ConfigError, match="holds another evaluation run"):
        run.save_plan(plan("a"))
    for text, reason in (
        ("{", "Invalid JSON: EOF"),
        ('{"suite": 1}', "suite: Input should be a valid string"),
    ):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(ConfigError, match=rf"run\.json cannot be read: {reason}") as caught:
            run.load_plan()
        assert "http" not in caught.value.message


def test_a_cell_whose_run_was_killed_touches_nothing_and_a_resumed_run_waits_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, made = RunFolder(tmp_path), plan("a")
    run.save_plan(made)
    (cell,) = made.cells()
    locks: list[int] = []
    monkeypatch.setattr(cell_main, "share_cell_lock", lambda run: locks.append(share_cell_lock(run)))
    assert cell_main.main([str(tmp_path), cell.model_dump_json(), "0"]) == FAULT_STATUS
    assert capsys.readouterr().err == "The evaluation run was killed.\n"
    assert not run.cell_folder(cell).exists()
    waits: list[str] = []

    def end_cell() -> None:
        waits.append("waited")
        os.close(locks.pop())

    for _ in range(2):
        wait_for_cells(run, end_cell)
    assert waits == ["waited"]


def test_the_commands_that_open_a_session_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    data = tmp_path / "my runs" / "data"
    assert RunFolder(tmp_path / "my runs").open_commands("ses_1") == (
        f"tui-agent --data-dir '{data}' --resume ses_1",
        f"tui-agent replay --data-dir '{data}' ses_1",
    )


def test_arms_have_names_that_a_folder_may_have() -> None:
    arms = matrix_arms(("scripted:/tmp/x/a.yaml", "openai/m 1"), ("low", "high"))
    assert [arm.name for arm in arms] == ["a.yaml@low", "a.yaml@high", "openai-m-1@low", "openai-m-1@high"]
    assert [(arm.name, arm.without) for arm in ablation_arms("m", None, ("tool:grep",))] == [
        ("full", ()),
        ("no_tool-grep", ("tool:grep",)),
    ]
    assert {arm.name for arm in ablation_arms("m", None, ())} == {
        "full",
        "no_repomap",
        "no_memory",
        "no_context_compaction",
        "no_policy_retry",
    }
