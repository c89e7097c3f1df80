"""Plans and results of evaluation cells, without running them."""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.evals.runs.arms_and_cells import Arm, Cell, Plan
from tui_agent.evals.runs.run_folder import CellResult, RunFolder


def plan(*arms: str, cases: Sequence[str] = ("one",), repetitions: int = 1) -> Plan:
    return Plan(
        suite="s",
        suite_name="s",
        here=Path("/"),
        arms=tuple(Arm(name=name) for name in arms),
        cases=tuple(cases),
        repetitions=repetitions,
    )


def result(cell: Cell, **changes: object) -> CellResult:
    fields: dict[str, object] = {
        "category": "c",
        "split": "dev",
        "model": "m",
        "passed": True,
        "score": 1.0,
        "end": "solved",
        **cell.model_dump(),
    }
    return CellResult.model_validate({**fields, **changes})


def stored_run(folder: Path, **arms: str) -> RunFolder:
    """Store a run with an arm for each keyword. Its value has a letter for each case: `p` passed, `f` failed, `!` spoiled."""
    run = RunFolder(folder)
    cases = [f"case-{number}" for number in range(len(next(iter(arms.values()))))]
    made = plan(*arms, cases=cases)
    folder.mkdir(parents=True)
    run.save_plan(made)
    for cell in made.cells():
        letter = arms[cell.arm][cases.index(cell.case)]
        failure = "model" if letter == "f" else ""
        run.save_result(cell, result(cell, passed=letter == "p", instability=letter == "!", failure=failure))
    return run
